"""From words to an exit code, and what is said about an error."""

import argparse

import pytest

from recallmesh.cli.address import address_of
from recallmesh.cli.advice import lines_of
from recallmesh.cli.entry import main
from recallmesh.cli.parser import build_parser
from recallmesh.core.errors import BankNotFound, FieldViolation, InvalidArgument, StoreUnavailable, all_errors


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


@pytest.mark.parametrize("command", ["serve", "retain", "recall", "bank", "check-config", "demo"])
def test_every_command_explains_itself(command, capsys):
    with pytest.raises(SystemExit) as told:
        main([command, "--help"])
    assert told.value.code == 0
    assert "usage:" in capsys.readouterr().out


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
    assert "not UTF-8" in capsys.readouterr().err


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


def test_an_unknown_bank_is_told_with_the_way_to_make_it():
    told = list(lines_of(BankNotFound("diary"), words("recall", "--bank", "diary", "q")))
    assert "recallmesh bank create diary" in told[1]


def test_a_folder_of_another_process_is_told_with_the_server_to_ask():
    told = "\n".join(lines_of(StoreUnavailable("another process has it open"), words("bank", "list")))
    assert "--server" in told


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
    told = list(lines_of(kind("it went wrong"), words("bank", "show", "b")))
    assert len(told) == 2
    assert told[1].startswith("  ")
    assert "{" not in told[1]


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
