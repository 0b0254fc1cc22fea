"""The commands about what a bank holds, as a script meets them, against a mesh that serves and on files."""

import json
import os
import signal
import subprocess
import sys

import pytest

from recallmesh.cli.entry import main
from recallmesh.cli.listing import Listing, every
from recallmesh.core.page import Page

pytestmark = pytest.mark.timeout(600)

COMMAND = (sys.executable, "-c", "import sys; from recallmesh.cli import main; sys.exit(main())")
LINES = (
    '{"content": "Nadia: I start in a bakery in May.", "time": "2026-03-03T18:20:00Z", "document_id": "talk"}\n'
    '{"content": "Leo: I adopted a greyhound called Pixel.", "time": "2026-03-21T10:05:00Z", "document_id": "dog",'
    ' "tags": ["pets"]}\n'
    '{"content": "Hello!", "time": "2026-03-21T10:05:00Z", "document_id": "greeting"}\n'
)


class Shell:
    def __init__(self, place, capsys):
        self.place, self.capsys = place, capsys

    def __call__(self, *words):
        self.capsys.readouterr()
        code = main([*words, *self.place])
        said = self.capsys.readouterr()
        return code, said.out, said.err

    def rows(self, *words):
        code, out, err = self(*words)
        assert (code, err) == (0, "")
        heading, *rows = (line.split("\t") for line in out.splitlines())
        return [dict(zip(heading, row, strict=True)) for row in rows]

    def json(self, *words):
        code, out, err = self(*words, "--json")
        assert (code, err) == (0, "")
        return [json.loads(line) for line in out.splitlines()]


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    env = {name: value for name, value in os.environ.items() if not name.startswith("RECALLMESH_")}
    words = (*COMMAND, "serve", "all", "--listen", "127.0.0.1:0", "--data", str(tmp_path_factory.mktemp("data")))
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=env) as server:
        assert server.stdout is not None
        yield ("--server", server.stdout.readline().rpartition(" on ")[2].strip())
        server.send_signal(signal.SIGINT)
        assert server.wait(60) == 0


@pytest.fixture(autouse=True)
def _told(place, capsys, tmp_path):
    lines = tmp_path / "lines.jsonl"
    lines.write_text(LINES)
    shell = Shell(place, capsys)
    shell("bank", "delete", "diary", "--yes")
    assert shell("retain", "--bank", "diary", "--file", str(lines))[0] == 0


@pytest.fixture
def shell(place, capsys):
    return Shell(place, capsys)


def memory_about(shell, word):
    [found] = [row["memory"] for row in shell.rows("memory", "list", "--bank", "diary") if word in row["text"]]
    return found


def test_documents_are_listed_and_shown_with_their_text(shell):
    rows = {row["document"]: row for row in shell.rows("document", "list", "--bank", "diary")}
    assert {name: row["memories"] for name, row in rows.items()} == {"dog": "1", "greeting": "0", "talk": "1"}
    assert [row["document"] for row in shell.rows(*["document", "list", "--bank", "diary", "--tags", "pets"])] == [
        "dog",
        "greeting",
        "talk",
    ]
    strict = shell.json(*["document", "list", "--bank", "diary", "--tags", "pets", "--tags-match", "any_strict"])
    assert [row["id"] for row in strict] == ["dog"]
    assert "I adopted a greyhound called Pixel." in shell("document", "show", "--bank", "diary", "dog")[1]
    assert "no memory came of it" in shell("document", "show", "--bank", "diary", "greeting")[1]
    [whole] = shell.json("document", "show", "--bank", "diary", "dog")
    assert [chunk["document_id"] for chunk in whole["chunks"]] == ["dog"]


def test_a_document_is_reprocessed_under_watch(shell):
    assert shell("document", "reprocess", "--bank", "diary", "dog") == (
        0,
        "document dog has 1 memory, none of them new\n",
        "",
    )
    assert shell("bank", "set", "diary", "retain.mode=chunks")[0] == 0
    assert shell("document", "reprocess", "--bank", "diary", "greeting")[1] == (
        "document greeting has 1 memory, 1 of them new\n"
    )
    assert shell("bank", "set", "diary", "retain.mode=concise")[0] == 0
    assert "no memory came of it" in shell("document", "reprocess", "--bank", "diary", "greeting")[1]
    kinds = {row["kind"] for row in shell.rows("operation", "list", "--bank", "diary", "--states", "succeeded")}
    assert kinds == {"reprocess"}


def test_a_reprocessing_that_fails_says_so_and_how_to_try_again(shell):
    assert shell("bank", "set", "diary", "retain.mode=custom")[0] == 0
    code, out, err = shell("document", "reprocess", "--bank", "diary", "dog")
    assert (code, out) == (1, "")
    assert "needs an LLM extractor" in err
    [failed] = shell.json("operation", "list", "--bank", "diary", "--states", "failed")
    assert f"recallmesh operation retry --bank diary {failed['id']}" in err
    assert shell("bank", "set", "diary", "retain.mode=concise")[0] == 0
    assert "in the queue again" in shell("operation", "retry", "--bank", "diary", failed["id"])[1]
    *_, last = shell.json("operation", "watch", "--bank", "diary", failed["id"])
    assert last["state"] == "OPERATION_STATE_SUCCEEDED"
    assert shell("operation", "cancel", "--bank", "diary", failed["id"])[0] == 0
    assert shell("operation", "show", "--bank", "diary", failed["id"])[1].startswith(f"operation\t{failed['id']}\n")


def test_an_operation_that_is_only_started_is_watched_later(shell):
    code, out, err = shell("document", "reprocess", "--bank", "diary", "dog", "--no-wait")
    assert (code, out.strip() in err) == (0, True)
    rows = shell.rows("operation", "watch", "--bank", "diary", out.strip())
    assert [row["state"] for row in rows][-1] == "succeeded"


def test_memories_are_listed_by_what_they_are(shell):
    def texts(*words):
        return [row["text"] for row in shell.rows("memory", "list", "--bank", "diary", *words)]

    assert len(texts()) == 2
    assert ["Pixel" in text for text in texts("--document", "dog")] == [True]
    assert ["Pixel" in text for text in texts("--tags", "pets", "--tags-match", "all_strict")] == [True]
    assert texts("--types", "observation") == []
    pixel = shell.json("memory", "show", "--bank", "diary", memory_about(shell, "Pixel"))[0]
    entity = pixel["mentions"][0]["entity_id"]
    assert ["Pixel" in text for text in texts("--entity", entity)] == [True]


def test_a_memory_is_hidden_shown_edited_and_deleted(shell):
    memory = memory_about(shell, "Pixel")
    assert shell("memory", "invalidate", "--bank", "diary", memory)[1] == f"memory {memory} is invalidated\n"
    [hidden] = shell.rows("memory", "list", "--bank", "diary", "--states", "invalidated")
    assert hidden["memory"] == memory
    assert shell("memory", "restore", "--bank", "diary", memory)[1] == f"memory {memory} is active\n"
    edited = shell.json("memory", "edit", "--bank", "diary", memory, "--text", "Leo has a whippet.", "--tags")
    assert (edited[0]["text"], edited[0]["tags"]) == ("Leo has a whippet.", [])
    assert shell.rows("tag", "list", "--bank", "diary") == []
    history = shell.rows("memory", "history", "--bank", "diary", memory)
    assert (history[0]["text"], history[0]["why"]) == ("Leo has a whippet.", "edit: text, tags")
    assert (history[-1]["version"], history[-1]["tags"], history[-1]["why"]) == ("1", "pets", "retain")
    assert shell.json("memory", "history", "--bank", "diary", memory)[0]["text"] == "Leo has a whippet."
    assert "(withheld" in shell("document", "show", "--bank", "diary", "dog")[1]
    assert shell("memory", "delete", "--bank", "diary", memory, "--yes")[:2] == (0, f"deleted memory {memory}\n")
    code, _, err = shell("memory", "show", "--bank", "diary", memory)
    assert (code, "recallmesh memory list --bank diary" in err) == (1, True)


def test_nothing_is_deleted_where_nobody_can_be_asked(shell):
    code, _, err = shell("document", "delete", "--bank", "diary", "dog", "talk")
    assert (code, "to delete 2 documents for good, say --yes" in err) == (2, True)
    assert len(shell.rows("document", "list", "--bank", "diary")) == 3
    assert shell("document", "delete", "--bank", "diary", "dog", "talk", "--yes")[1] == (
        "deleted document dog and its 1 memory\ndeleted document talk and its 1 memory\n"
    )
    assert [row["document"] for row in shell.rows("document", "list", "--bank", "diary")] == ["greeting"]


def test_tags_are_counted(shell):
    assert shell.rows("tag", "list", "--bank", "diary") == [{"tag": "pets", "memories": "1"}]


def test_an_edit_of_nothing_is_a_mistake_of_use(shell):
    code, _, err = shell("memory", "edit", "--bank", "diary", "x")
    assert (code, "--text, --tags or --context" in err) == (2, True)


def test_without_a_server_the_command_does_the_work_itself(tmp_path, capsys):
    shell = Shell(("--data", str(tmp_path / "data")), capsys)
    assert shell("retain", "--bank", "own", "--text", "Leo: I adopted a greyhound.")[0] == 0
    [document] = shell.rows("document", "list", "--bank", "own")
    code, out, err = shell("document", "reprocess", "--bank", "own", document["document"])
    assert (code, err) == (0, "")
    assert out.endswith("has 1 memory, none of them new\n")


async def test_every_page_of_a_list_is_shown_as_it_comes(capsys):
    pages = {"": Page((1, 2), "b"), "b": Page((), "c"), "c": Page((3,))}

    async def read(page):
        return pages[page.after]

    listing: Listing[int] = Listing(("number",), lambda row: (str(row),), str, frozenset(), "nothing")
    await listing.show(every(read), json=False)
    assert capsys.readouterr().out == "number\n1\n2\n3\n"
    await listing.show(every(read), json=True)
    assert capsys.readouterr().out == "1\n2\n3\n"
