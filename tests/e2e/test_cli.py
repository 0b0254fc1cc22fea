"""The real command as scripts meet it: on data of its own, and against a mesh that serves."""

import json
import math
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field

import pytest

pytestmark = pytest.mark.timeout(600)

FACTORS = ("says", "place", "context", "names", "words", "length", "around", "recent", "time", "proof", "favour")
COMMAND = (sys.executable, "-c", "import sys; from recallmesh.cli import main; sys.exit(main())")
LINES = (
    '{"content": "Nadia: I start in a bakery in May.", "time": "2026-03-03T18:20:00+01:00", "document_id": "talk"}\n'
    '{"content": "Leo: I adopted a greyhound called Pixel.", "time": "2026-03-21T10:05:00+01:00", "tags": ["pets"]}\n'
)


@dataclass(frozen=True)
class Shell:
    place: tuple[str, ...]
    env: dict[str, str] = field(default_factory=dict)

    def __call__(self, *words, stdin=""):
        return subprocess.run(
            (*COMMAND, *words, *self.place), input=stdin, capture_output=True, text=True, check=False, env=self.env
        )


@pytest.fixture(scope="module")
def env():
    return {name: value for name, value in os.environ.items() if not name.startswith("RECALLMESH_")}


@pytest.fixture(scope="module", params=["embedded", "served"])
def shell(request, tmp_path_factory, env) -> Iterator[Shell]:
    folder = tmp_path_factory.mktemp("data")
    if request.param == "embedded":
        yield Shell(("--data", str(folder)), env)
        return
    words = (*COMMAND, "serve", "all", "--listen", "127.0.0.1:0", "--data", str(folder))
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=env) as server:
        assert server.stdout is not None
        address = server.stdout.readline().rpartition(" on ")[2].strip()
        yield Shell(("--server", address), env)
        server.send_signal(signal.SIGINT)
        assert server.wait(60) == 0


@pytest.fixture(scope="module", autouse=True)
def _retained(shell):
    done = shell("retain", "--bank", "diary", "--json", "-", stdin=LINES)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    assert len(json.loads(done.stdout)["items"]) == 2


def test_recall_gives_one_json_document(shell):
    done = shell("recall", "--bank", "diary", "Which dog does Leo have?", "--json")
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    assert "Pixel" in answer["memories"][0]["memory"]["text"]
    assert {arm["arm"] for arm in answer["arms"]} == {"semantic", "keyword", "graph", "temporal"}


def test_a_trace_in_a_pipe_has_whole_columns(shell):
    done = shell("recall", "--bank", "diary", "Which dog does Leo have?", "--trace")
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    [heading] = [line for line in lines if line.startswith("#\t")]
    rows = [line.split("\t") for line in lines if line.startswith(("1\t", "2\t"))]
    assert {len(row) for row in rows} == {len(heading.split("\t"))}
    assert "Pixel" in rows[0][-1]


def test_the_final_score_is_made_of_the_columns_of_a_trace(shell):
    done = shell("recall", "--bank", "diary", "Which dog does Leo have?", "--trace")
    lines = [line.split("\t") for line in done.stdout.splitlines()]
    [heading] = [line for line in lines if line[0] == "#"]
    rows = [dict(zip(heading, line, strict=True)) for line in lines if line[0].isdecimal()]
    assert rows
    for row in rows:
        number = {name: float(row[name]) for name in heading[heading.index("reads") : heading.index("tok")]}
        odds = math.prod(number[name] for name in FACTORS)
        assert number["final"] == pytest.approx(odds / (1 + odds), abs=1e-4)
        if not 0.01 < number["reads"] < 0.99:
            continue  # six digits are too few to undo it
        said = (1 + math.e * math.sqrt(number["reads"] / (1 - number["reads"]))) / (1 + math.e)
        assert number["says"] == pytest.approx(said, rel=1e-3)
    assert any(row["final"] != row["reads"] for row in rows)


def test_banks_are_listed_with_tabs(shell):
    done = shell("bank", "list")
    assert done.returncode == 0, done.stderr
    heading, row = done.stdout.splitlines()
    assert heading.split("\t") == ["bank", "name", "created", "extraction"]
    assert row.startswith("diary\t")


def test_an_empty_bank_answers_nothing(shell):
    assert shell("bank", "create", "empty").returncode == 0
    done = shell("recall", "--bank", "empty", "anything")
    assert (done.returncode, done.stderr) == (0, "")
    assert "the bank is empty" in done.stdout
    assert shell("bank", "delete", "empty", "--yes").returncode == 0


def test_an_unknown_bank_fails_with_the_way_out(shell):
    done = shell("recall", "--bank", "nope", "anything")
    assert (done.returncode, done.stdout) == (1, "")
    assert "'nope' not found" in done.stderr
    assert "recallmesh bank create nope" in done.stderr


def test_a_blank_item_is_named_by_its_line(shell):
    done = shell("retain", "--bank", "diary", "-", stdin='{"content": "a word"}\n\n{"content": " "}\n')
    assert done.returncode == 2
    assert "line 3.content" in done.stderr


def test_a_blank_text_is_named_by_its_word(shell):
    done = shell("retain", "--bank", "diary", "--text", " ")
    assert done.returncode == 2
    assert "recallmesh: --text: is blank" in done.stderr


def test_what_holds_no_fact_says_so(shell):
    done = shell("retain", "--bank", "diary", "--text", "Hi!")
    assert done.returncode == 0, done.stderr
    assert "0 memories" in done.stdout
    assert "--mode verbose" in done.stdout


def test_deleting_needs_yes_where_nobody_can_be_asked(shell):
    done = shell("bank", "delete", "diary")
    assert done.returncode == 2
    assert "--yes" in done.stderr
    assert shell("bank", "show", "diary").returncode == 0


def test_a_reader_that_has_gone_is_no_failure(shell):
    words = (*COMMAND, "recall", "--bank", "diary", "Which dog does Leo have?", *shell.place)
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=shell.env) as asked:
        assert asked.stdout is not None
        assert asked.stderr is not None
        asked.stdout.close()
        assert asked.stderr.read() == b""
        assert asked.wait(60) == 0


def test_an_interrupt_ends_without_a_traceback(shell):
    # It waits for more lines; whether it is still starting by then changes nothing of what is expected.
    words = (*COMMAND, "retain", "--bank", "stream", "-", *shell.place)
    with subprocess.Popen(
        words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=shell.env
    ) as asked:
        assert asked.stdin is not None
        assert asked.stderr is not None
        asked.stdin.write('{"content": "a word"}\n')
        asked.stdin.flush()
        time.sleep(6)
        asked.send_signal(signal.SIGINT)
        told = asked.stderr.read()
        assert asked.wait(60) == 130
    assert "Traceback" not in told
    assert told.endswith("recallmesh: interrupted\n")


def test_a_folder_that_a_server_has_open_names_the_way_to_it(shell, tmp_path, env):
    words = (*COMMAND, "serve", "all", "--listen", "127.0.0.1:0", "--data", str(tmp_path))
    if shell.place[0] == "--data":
        pytest.skip("told once is enough")
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=env) as server:
        assert server.stdout is not None
        assert " on " in server.stdout.readline()
        done = Shell(("--data", str(tmp_path)), env)("bank", "list")
        server.send_signal(signal.SIGTERM)
        assert server.wait(60) == 0
    assert done.returncode == 1
    assert "--server" in done.stderr


def test_a_streamed_recall_tells_a_line_for_each_stage(shell):
    done = shell("recall", "--bank", "diary", "Which dog does Leo have?", "--stream", "--json")
    assert done.returncode == 0, done.stderr
    told = [json.loads(line) for line in done.stdout.splitlines()]
    assert [one["stage"] for one in told] == ["RECALL_STAGE_FUSED", "RECALL_STAGE_FINAL"]
    assert all("Pixel" in one["answer"]["memories"][0]["memory"]["text"] for one in told)


def test_a_streamed_recall_without_reranking_has_one_section(shell):
    done = shell("recall", "--bank", "diary", "Which dog does Leo have?", "--stream", "--no-rerank")
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[0] == "final"
    assert "Pixel" in done.stdout.splitlines()[1]


def test_a_bank_is_set_up_and_shows_what_is_in_force(shell):
    assert shell("bank", "create", "tuned").returncode == 0
    done = shell("bank", "set", "tuned", "rerank_limit=7", "arms=keyword", "retain.mode=verbatim")
    assert done.returncode == 0, done.stderr
    assert done.stdout == "bank tuned has of its own: arms=keyword rerank_limit=7 retain.mode=verbatim\n"
    lines = [line.split("\t") for line in shell("bank", "show", "tuned", "--effective").stdout.splitlines()]
    told = {key: (value, by) for key, value, by, _ in lines}
    assert told["rerank_limit"] == ("7", "bank")
    assert told["rrf_k"] == ("60", "service")
    shown = json.loads(shell("bank", "show", "tuned", "--effective", "--json").stdout)
    assert shown["recall"]["tuning"]["rerank_limit"] == 7
    assert shown["recall"]["origins"]["rerank_limit"] == "TUNING_ORIGIN_BANK"
    assert shown["bank"]["config"]["retain"]["mode"] == "EXTRACTION_MODE_VERBATIM"
    done = shell("bank", "set", "tuned", "arms=", "rerank_limit=", "retain.mode=")
    assert done.stdout == "bank tuned has nothing of its own: all is as the service has it\n"
    assert shell("bank", "delete", "tuned", "--yes").returncode == 0


def test_a_recall_is_ranked_once_by_another_value(shell):
    words = ("recall", "--bank", "diary", "Which dog does Leo have?", "--trace", "--json")
    asked = json.loads(shell(*words, "--set", "arms=keyword", "--set", "rerank_limit=1").stdout)
    assert (asked["trace"]["tuning"]["arms"], asked["trace"]["tuning"]["rerank_limit"]) == ({"arms": ["keyword"]}, 1)
    assert json.loads(shell(*words).stdout)["trace"]["tuning"]["rerank_limit"] == 50


def test_indexes_are_verified_and_repaired_and_a_wrong_bank_is_told(shell):
    for command in ("verify", "repair"):
        done = shell(command, "--bank", "diary")
        assert (done.returncode, done.stderr) == (0, "")
        heading, *rows = (line.split("\t") for line in done.stdout.splitlines())
        assert heading[:4] == ["bank", "arm", "ledger", "index"]
        assert [row[1] for row in rows] == ["semantic", "keyword", "graph"]
        assert {row[-1] for row in rows} == {"equal"}
        assert {row[2] == row[3] != "0" for row in rows} == {True}
        wrong = shell(command, "--bank", "nix")
        assert (wrong.returncode, wrong.stdout) == (1, "")
        assert "bank 'nix' not found" in wrong.stderr
    told = json.loads(shell("verify", "--json").stdout)
    assert "diary" in {bank["bank_id"] for bank in told["banks"]}
    assert "hold what the ledger shows" in shell("bank", "show", "diary").stdout
