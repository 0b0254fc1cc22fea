"""Files of a person's own, retained by the command: each a document, replaced when it changed."""

import json
import sqlite3

import pytest

from recallmesh.cli import main

pytestmark = pytest.mark.timeout(600)


@pytest.fixture
def retain(tmp_path, capsys):
    def retain(*words):
        code = main(["retain", "--data", str(tmp_path / "data"), "--bank", "b", "--mode", "chunks", *map(str, words)])
        told = capsys.readouterr()
        return code, told.out, told.err

    return retain


def documents(tmp_path) -> dict[str, int]:
    """Return each document's last part of a name, and how many memories it has."""
    with sqlite3.connect(tmp_path / "data" / "ledger.db") as ledger:
        rows = ledger.execute("select document_id, count(*) from memories group by document_id").fetchall()
    ledger.close()
    return {name.rpartition("/")[2]: count for name, count in rows}


def test_files_are_retained_each_as_a_document_and_what_cannot_be_read_is_told(retain, tmp_path):
    notes, page, bad = tmp_path / "notes.md", tmp_path / "page.html", tmp_path / "bad.pdf"
    notes.write_text("Ida bought a boat.", encoding="utf-8")
    page.write_text("<p>Leo has a dog.</p>", encoding="utf-8")
    bad.write_bytes(b"%PDF-1.4 nothing")
    code, said, told = retain(notes, bad, page, tmp_path / "missing.txt")
    assert code == 1
    assert f"{notes}: 1 memory\n" in said
    assert f"{page}: 1 memory\n" in said
    assert "2 files left out" in said
    assert f"{bad}: is no PDF" in told
    assert "missing.txt: No such file" in told
    assert documents(tmp_path) == {"notes.md": 1, "page.html": 1}
    notes.write_text("Ida sold her boat.", encoding="utf-8")
    code, said, told = retain(notes, page)
    assert (code, told) == (0, "")
    assert f"{notes}: 1 memory\n" in said
    assert f"{page}: unchanged\n" in said
    assert documents(tmp_path) == {"notes.md": 1, "page.html": 1}


def test_a_file_that_became_shorter_loses_its_last_parts(retain, tmp_path):
    chat = tmp_path / "chat.json"
    messages = [{"role": "user", "content": f"Message {n}."} for n in range(501)]
    chat.write_text(json.dumps(messages), encoding="utf-8")
    assert retain(chat)[0] == 0
    assert documents(tmp_path) == {"chat.json": 500, "chat.json (2)": 1}
    chat.write_text(json.dumps(messages[:3]), encoding="utf-8")
    code, said, _ = retain(chat, "--json")
    assert code == 0
    assert len(json.loads(said)["items"]) == 3
    assert documents(tmp_path) == {"chat.json": 3}


@pytest.mark.parametrize(
    ("words", "field"),
    [
        (("a.md", "-"), "-: comes alone"),
        (("a.md", "--resume"), "--resume: is for lines alone"),
        (("a.md", "--context", "Leo is speaking"), "--context: is for --text alone"),
        (("a.md", "--time", "yesterday"), "--time: 'yesterday'"),
    ],
)
def test_words_that_do_not_go_with_files_are_refused(words, field, retain):
    code, _, told = retain(*words)
    assert code == 2
    assert f"recallmesh: {field}" in told
