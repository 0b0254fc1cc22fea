"""From words to an exit code, and what is said about an error."""

import argparse
import subprocess
import sys
from pathlib import Path

import pytest

from recallmesh.cli.address import address_of, check_address
from recallmesh.cli.advice import lines_of
from recallmesh.cli.entry import main
from recallmesh.cli.parser import build_parser
from recallmesh.cli.serving import hint
from recallmesh.core.errors import (
    BankNotFound,
    ChunkNotFound,
    DefenseBlocked,
    FieldViolation,
    InvalidArgument,
    NotFound,
    NotReady,
    StoreUnavailable,
    all_errors,
)
from recallmesh.mesh import ALL_PARTS, Part
from recallmesh.serve import check_listen


def words(*given):
    return build_parser().parse_args(given)


def test_no_words_show_the_help_and_are_a_mistake_of_use(capsys):
    assert main([]) == 2
    assert "a first minute" in capsys.readouterr().err


@pytest.mark.parametrize(
    "given",
    [("recal",), ("recall", "--bank", "b"), ("retain", "--bank", "b"), ("recall", "q", "--bank", "b", "--lim", "3")],
)
def test_wrong_words_exit_with_2_and_say_where_to_read_on(given, capsys):
    with pytest.raises(SystemExit) as told:
        main(given)
    assert told.value.code == 2
    assert "--help" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        ("recal", "recall"),
        ("bank creat x", "create"),
        ("serve keywrd", "keyword"),
        ("recall q --bank b --budget midd", "mid"),
        ("recall q --bank b --buget low", "--budget"),
        ("recall q --bank b --max-token=9", "--max-tokens"),
    ],
)
def test_a_slip_is_answered_with_what_was_meant(given, meant, capsys):
    with pytest.raises(SystemExit) as told:
        main(given.split())
    assert told.value.code == 2
    assert f"\n  did you mean {meant}?\n" in capsys.readouterr().err


@pytest.mark.parametrize("given", ["xyzzy", "recall q --bank b more words", "recall q --bank b --xyzzy"])
def test_what_is_like_nothing_is_not_guessed_at(given, capsys):
    with pytest.raises(SystemExit):
        main(given.split())
    assert "did you mean" not in capsys.readouterr().err


@pytest.mark.parametrize(
    "command",
    ["serve", "retain", "recall", "bank", "entity", "document", "memory", "tag", "operation", "check-config", "demo"],
)
def test_every_command_explains_itself(command, capsys):
    with pytest.raises(SystemExit) as told:
        main([command, "--help"])
    assert told.value.code == 0
    assert "usage:" in capsys.readouterr().out


@pytest.mark.parametrize(
    "given",
    [
        (),
        ("serve",),
        ("retain",),
        ("recall",),
        ("bank",),
        ("bank", "create"),
        ("bank", "delete"),
        ("entity",),
        ("entity", "split"),
        ("entity", "explain"),
        ("check-config",),
        *[("document",), ("document", "list"), ("document", "reprocess"), ("document", "delete")],
        *[("memory",), ("memory", "list"), ("memory", "edit"), ("memory", "delete")],
        *[("tag",), ("operation",), ("operation", "list"), ("operation", "watch")],
    ],
)
def test_help_fits_a_terminal_of_80_columns(given, monkeypatch, capsys):
    monkeypatch.setenv("COLUMNS", "80")
    with pytest.raises(SystemExit):
        main([*given, "--help"])
    lines = capsys.readouterr().out.splitlines()
    assert lines
    assert [line for line in lines if len(line) > 80] == []


@pytest.mark.parametrize("source", [("-",), ("--file", "-"), ("--file", "f.jsonl")])
@pytest.mark.parametrize("word", ["--time", "--context"])
def test_what_is_for_one_text_is_refused_with_a_file(word, source, tmp_path, capsys):
    assert main(["retain", "--bank", "b", "--data", str(tmp_path / "d"), word, "2026-03-03", *source]) == 2
    assert f"{word}: is for --text alone" in capsys.readouterr().err
    assert not (tmp_path / "d").exists()


@pytest.mark.parametrize("address", ["localhost", "http://127.0.0.1:7070", "127.0.0.1:", ":7070", "a:b", "h:1/x"])
def test_a_server_that_is_no_host_and_port_is_a_mistake_of_use(address, capsys, monkeypatch):
    assert main(["bank", "list", "--server", address]) == 2
    assert f"--server: {address!r} is no host:port" in capsys.readouterr().err
    monkeypatch.setenv("RECALLMESH_SERVER", address)
    assert main(["bank", "list"]) == 2
    told = capsys.readouterr().err
    assert f"RECALLMESH_SERVER: {address!r} is no host:port" in told
    assert "set RECALLMESH_SERVER right" in told


def test_a_key_that_cannot_be_one_is_a_mistake_of_use_and_is_not_shown(capsys, monkeypatch):
    monkeypatch.setenv("RECALLMESH_KEY", "hidden key")
    assert main(["bank", "list", "--server", "127.0.0.1:1"]) == 2
    told = capsys.readouterr().err
    assert "RECALLMESH_KEY: is no bearer key" in told
    assert "hidden" not in told


@pytest.mark.parametrize("address", ["localhost:7070", "127.0.0.1:7070", "[::1]:7070", "dns:///mesh:1", "unix:/m"])
def test_a_server_may_be_named_as_grpc_names_one(address):
    check_address(address, words("bank", "list", "--server", address))


def test_an_address_that_cannot_be_listened_on_is_told_with_the_way_to_another():
    told = list(lines_of(InvalidArgument(FieldViolation("listen", "is taken")), words("serve", "all")))
    assert "--listen" in told[1]


def test_a_hint_to_try_is_given_where_it_would_work():
    assert "recallmesh bank list --server a:1" in hint("a:1", ALL_PARTS)
    for part in (Part.BANK, Part.RECALL, Part.RETAIN):
        assert hint("a:1", ALL_PARTS - {part}) == "  stop: Ctrl-C"


def test_a_wrong_time_is_a_mistake_of_use(capsys):
    assert main(["recall", "--bank", "b", "q", "--query-time", "tomorrow"]) == 2
    told = capsys.readouterr().err
    assert "--query-time" in told
    assert "recallmesh recall --help" in told


@pytest.mark.parametrize(
    ("file", "said"), [("missing.jsonl", "No such file"), (".", "directory"), ("empty.jsonl", "no items")]
)
def test_a_file_without_items_is_a_mistake_of_use(file, said, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty.jsonl").write_text("\n", encoding="utf-8")
    assert main(["retain", "--bank", "b", "--file", file]) == 2
    assert said in capsys.readouterr().err


def test_a_file_that_is_not_utf_8_is_a_mistake_of_use(tmp_path, capsys):
    (tmp_path / "f").write_bytes(b'{"content": "\xff"}')
    assert main(["retain", "--bank", "b", "--file", str(tmp_path / "f")]) == 2
    assert "line 1: is not UTF-8" in capsys.readouterr().err


def test_an_unknown_setting_is_named_with_a_proposal(monkeypatch, capsys):
    monkeypatch.setenv("RECALLMESH_DATTA", "x")
    assert main(["check-config"]) == 2
    told = capsys.readouterr().err
    assert "RECALLMESH_DATTA" in told
    assert "did you mean RECALLMESH_DATA" in told


def test_every_wrong_setting_is_named(monkeypatch, capsys):
    monkeypatch.setenv("RECALLMESH_SERVE__DRAIN_S", "x")
    monkeypatch.setenv("RECALLMESH_GRAPH__ORIGINS", "0")
    assert main(["check-config"]) == 2
    told = capsys.readouterr().err
    assert "RECALLMESH_SERVE__DRAIN_S" in told
    assert "RECALLMESH_GRAPH__ORIGINS" in told


def test_a_server_that_is_not_there_is_named_and_fails_with_1(capsys):
    assert main(["recall", "--bank", "b", "q", "--server", "127.0.0.1:1"]) == 1
    told = capsys.readouterr().err
    assert "127.0.0.1:1" in told
    assert "recallmesh serve all" in told


def test_deleting_where_nobody_can_be_asked_needs_yes(monkeypatch, capsys, tmp_path):
    (tmp_path / "in").write_text("y\n", encoding="utf-8")
    with (tmp_path / "in").open(encoding="utf-8") as answer:
        monkeypatch.setattr("sys.stdin", answer)
        assert main(["bank", "delete", "b", "--data", str(tmp_path / "d")]) == 2
    assert "--yes" in capsys.readouterr().err
    assert not (tmp_path / "d").exists()


def test_a_bank_is_looked_for_before_anybody_is_asked_to_delete_it(monkeypatch, capsys, tmp_path):
    monkeypatch.setattr("sys.stdin.isatty", lambda: True)
    monkeypatch.setattr("builtins.input", lambda _: pytest.fail("asked"))
    assert main(["bank", "delete", "nope", "--data", str(tmp_path)]) == 1
    assert "'nope' not found" in capsys.readouterr().err


def test_a_hint_can_be_copied_into_a_shell():
    told = "\n".join(lines_of(BankNotFound("my bank"), words("bank", "show", "my bank", "--data", "my data")))
    assert "recallmesh bank list --data 'my data'\n" in told
    assert "recallmesh bank create 'my bank' --data 'my data'" in told


def test_an_unknown_bank_is_told_with_the_way_to_make_it():
    told = list(lines_of(BankNotFound("diary"), words("recall", "--bank", "diary", "q")))
    assert "recallmesh bank create diary" in "\n".join(told)


def test_a_folder_of_another_process_is_told_with_the_server_to_ask():
    told = "\n".join(lines_of(StoreUnavailable("another process has it open"), words("bank", "list")))
    assert "--server" in told


def test_a_ledger_that_is_away_is_told_with_its_setting_and_the_doctor():
    told = "\n".join(lines_of(StoreUnavailable("the ledger's database does not answer"), words("bank", "list")))
    assert "RECALLMESH_LEDGER__URL" in told
    assert "recallmesh doctor" in told


def test_every_refused_field_has_its_line():
    error = InvalidArgument(FieldViolation("a", "is blank"), FieldViolation("b", "is too long"))
    told = list(lines_of(error, words("bank", "list")))
    assert told == [
        "recallmesh: a: is blank",
        "recallmesh: b: is too long",
        "  how it is used: recallmesh bank list --help",
    ]


@pytest.mark.parametrize("kind", [kind for kind in all_errors() if not issubclass(kind, InvalidArgument)])
def test_every_error_ends_with_what_to_do_next(kind):
    said = FieldViolation("items[0]", "went wrong") if kind is DefenseBlocked else "it went wrong"
    told = list(lines_of(kind(said), words("bank", "show", "b")))
    assert len(told) == 2
    assert told[1].startswith("  ")
    assert "{" not in told[1]


def test_what_the_caller_has_to_put_right_is_never_put_down_to_a_mesh_that_starts():
    for kind in all_errors():
        if kind.code in {"NOT_FOUND", "ALREADY_EXISTS", "FAILED_PRECONDITION"} and kind not in {
            NotFound,
            NotReady,
            ChunkNotFound,
        }:
            said = FieldViolation("items[0]", "went wrong") if kind is DefenseBlocked else "it went wrong"
            assert "starting" not in next(reversed(list(lines_of(kind(said), words("bank", "show", "b"))))), kind


def test_the_server_s_log_is_named_only_where_it_has_something():
    error = NotReady("it is not empty", metadata={"request_id": "r-1"})
    assert "r-1" not in "\n".join(lines_of(error, words("bank", "show", "diary")))


def test_wrong_lines_of_a_file_are_told_with_both_ways_on():
    error = InvalidArgument(FieldViolation("line 1", "is no JSON"))
    told = "\n".join(lines_of(error, words("retain", "--bank", "b", "--file", "note.md")))
    assert "--skip-bad" in told
    assert "without --file" in told


def test_an_address_that_a_webhook_may_not_have_is_told_with_the_settings_that_allow_it():
    error = InvalidArgument(FieldViolation("url", "names a private address"))
    told = "\n".join(lines_of(error, words("webhook", "add", "--bank", "b", "http://127.0.0.1/")))
    assert "RECALLMESH_EVENTS__WEBHOOK_PRIVATE" in told


def test_a_request_id_is_told():
    error = StoreUnavailable("gone", metadata={"request_id": "r-1"})
    assert "request id r-1" in list(lines_of(error, words("bank", "list")))[-1]


@pytest.mark.parametrize(
    ("given", "variable", "address"),
    [
        (("bank", "list", "--server", "a:1"), "b:2", "a:1"),
        (("bank", "list"), "b:2", "b:2"),
        (("bank", "list", "--data", "d"), "b:2", ""),
        (("bank", "list"), "", ""),
        (("demo",), "b:2", ""),
        (("check-config",), "b:2", ""),
    ],
)
def test_the_server_named_last_wins(given, variable, address, monkeypatch):
    monkeypatch.setenv("RECALLMESH_SERVER", variable)
    assert address_of(words(*given)) == address


def test_the_parser_leaves_the_module_of_each_command():
    assert isinstance(words("demo"), argparse.Namespace)
    assert {words(*given).module for given in (("demo",), ("check-config",), ("serve", "all"))} == {
        "demo",
        "checking",
        "serving",
    }


@pytest.mark.parametrize("redirected", [">/dev/full", ">&-"])
def test_an_output_that_takes_nothing_is_told_without_a_trace(redirected):
    command = str(Path(sys.executable).with_name("recallmesh"))
    found = subprocess.run(  # noqa: S602 - a shell is what closes and redirects outputs
        f"{command} check-config --all {redirected}", shell=True, stderr=subprocess.PIPE, text=True, check=False
    )
    assert "Traceback" not in found.stderr
    assert found.returncode == (1 if "full" in redirected else 0)
    assert ("No space left" in found.stderr) is ("full" in redirected)


@pytest.mark.parametrize("port", ["65536", "99999", "\u0668\u0660", "+80", "", "9" * 5_000])
def test_what_is_no_port_is_refused_wherever_one_is_named(port):
    with pytest.raises(InvalidArgument, match="is no host:port"):
        check_address(f"127.0.0.1:{port}", words("bank", "list", "--server", "x"))
    with pytest.raises(InvalidArgument, match="is no host:port"):
        check_listen(f"127.0.0.1:{port}")
