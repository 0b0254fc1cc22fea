"""``recallmesh entity`` as a person and a script meet it, from the first list to a split."""

import json

import pytest

from recallmesh.cli.entry import main

pytestmark = pytest.mark.timeout(600)

LINES = """\
{"content": "The boat was sold.", "time": "2026-03-01T10:00:00Z", "entities": ["Alice Chen", "Bo Dahl"]}
{"content": "The harbour froze.", "time": "2026-03-02T10:00:00Z", "entities": ["Alice Cole", "mood:cold"]}
{"content": "The ice broke.", "time": "2026-03-03T10:00:00Z", "entities": [{"name": "mood:happy", "kind": "label"}, "Lissy"]}
"""  # noqa: E501 - a line is an item


@pytest.fixture
def told(tmp_path, capsys, monkeypatch):
    """Run a command on one folder; return its exit code, its lines and what it complained of."""
    monkeypatch.setenv("RECALLMESH_DATA", str(tmp_path / "data"))

    def run(*words):
        code = main(words)
        said = capsys.readouterr()
        return code, said.out.splitlines(), said.err

    lines = tmp_path / "lines.jsonl"
    lines.write_text(LINES)
    assert (
        run("bank", "create", "diary", "labels.mood=happy,cold", "labels.mood.tags=yes", "retain.mode=chunks")[0] == 0
    )
    assert run("retain", "--bank", "diary", "--file", str(lines))[0] == 0
    return run


def cells(lines):
    return [line.split("\t") for line in lines]


def test_who_is_who_is_seen_explained_and_mended(told):
    code, lines, _ = told("entity", "list", "--bank", "diary")
    heading, *rows = cells(lines)
    assert (code, heading[:3]) == (0, ["entity", "kind", "memories"])
    assert [row[:3] for row in rows] == [
        ["Alice Chen", "concept", "1"],
        ["Alice Cole", "concept", "1"],
        ["Bo Dahl", "concept", "1"],
        ["Lissy", "concept", "1"],
        ["mood:cold", "concept", "1"],
        ["mood:happy", "label", "1"],
    ]

    beside = ("--beside", "bo dahl", "--time", "2026-03-01T10:00:00Z")
    code, lines, _ = told("entity", "explain", "--bank", "diary", "Alice C.", *beside)
    assert (code, lines[0]) == (0, "Alice C. would be Alice Chen")
    assert cells(lines)[2][:6] == ["Alice Chen", "0.850", "0.116", "0.050", "1.016", "meant"]
    assert told("entity", "explain", "--bank", "diary", "Alice C.")[1][0].endswith("a new entity: several are as near")
    assert told("entity", "explain", "--bank", "diary", "Nobody")[1][0].endswith("a new entity: nothing reaches 0.8")

    for words in (("Alice Chen", "Lissy"), ("alice chen", "LISSY")):
        code, lines, _ = told("entity", "merge", "--bank", "diary", *words)
        assert code == 0
        assert lines[0].endswith("one, on 2 memories; also called Lissy")
    assert told("entity", "alias", "--bank", "diary", "lissy", "Aloisia")[1][0].endswith("called Lissy, Aloisia")
    # The command has waited for the arms: the next one finds by the new name.
    found = told("recall", "--bank", "diary", "Aloisia", "--no-rerank", "--set", "arms=keyword")[1]
    assert {"The boat was sold.", "The ice broke."} <= {line[12:] for line in found}

    code, lines, _ = told("entity", "show", "--bank", "diary", "Aloisia", "--json")
    shown = json.loads(lines[0])
    assert shown["entity"]["aliases"] == ["Lissy", "Aloisia"]
    (ice,) = (one["id"] for one in shown["memories"] if one["text"] == "The ice broke.")
    split = ("entity", "split", "--bank", "diary", "Aloisia", "Lissy", "--memories", ice)
    assert told(*split)[1] == ["Alice Chen is on 1 memory, Lissy on 1 memory: two from now on"]
    code, lines, _ = told("entity", "show", "--bank", "diary", "Alice Chen")
    assert ["told apart from", "lissy"] in cells(lines)
    assert lines[-1].endswith("The boat was sold.")
    assert told("entity", "show", "--bank", "diary", "mood:happy")[1][2] == "kind\tlabel"


MISTAKES = (
    (("show", "Nobody"), 1, "entity 'Nobody' not found"),
    (("show", "00000000-0000-0000-0000-000000000000"), 1, "not found"),
    (("alias", "Bo Dahl", "lissy"), 1, "see whose it is: recallmesh entity show --bank diary NAME"),
    (("alias", "Bo Dahl", " "), 2, "alias: is blank"),
    (("alias", "mood:happy", "glad"), 1, "is a label"),
    (("split", "Bo Dahl", "Bob", "--memories", "x"), 1, "memory x does not mention entity"),
    (("explain", "Bo", "--time", "yesterday"), 2, "is not an ISO 8601 time"),
)


def test_a_mistake_is_told_with_what_to_do_next(told):
    for (action, *rest), code, said in MISTAKES:
        given, lines, complaint = told("entity", action, "--bank", "diary", *rest)
        assert (given, lines) == (code, []), rest
        assert said in complaint
