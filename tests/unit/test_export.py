"""Exports as lines: what is written is read, and what is wrong is told with its line and field."""

import base64
import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from types import MappingProxyType

import pytest

from recallmesh.bank.export import FORMAT, Reading, Writing, spool
from recallmesh.core.arm import ArmName
from recallmesh.core.attachment import StoredAttachment, id_of
from recallmesh.core.bank import Bank, BankConfig, BankRef, RetainTuning
from recallmesh.core.consolidation import MemoryVersion
from recallmesh.core.document import Chunk, Document
from recallmesh.core.entity import Entity
from recallmesh.core.errors import InvalidArgument, NotReady
from recallmesh.core.export import Past
from recallmesh.core.memory import CausalLink, FactType, Memory, MemoryState, Mention
from recallmesh.core.source import ChunkSource
from recallmesh.core.time import Occurrence, Precision, Window
from recallmesh.core.tuning import BoostLevel, RecallTuning

NOW = datetime(2026, 8, 19, 10, tzinfo=UTC)
THERE = datetime(2026, 8, 19, 0, 30, tzinfo=timezone(timedelta(hours=10)))
CONFIG = BankConfig(
    recall=RecallTuning(
        reranking=False, arms=frozenset({ArmName.GRAPH}), boosts=MappingProxyType({ArmName.GRAPH: BoostLevel.LOW})
    ),
    retain=RetainTuning(chunk_tokens=64),
)
BANK = Bank(BankRef("diary"), "uid", NOW, "Diary", CONFIG)
DOCUMENT = Document("d", NOW, NOW, 3, ("x",), MappingProxyType({"a": "b"}), 1, 1, 5)
CHUNK = ChunkSource(Chunk("c", "d", 0, "Ida keeps bees.", 5, "hash", "a diary", THERE), '{"tags": ["x"]}')
ENTITY = Entity("e", "Ida", "ida", "person", NOW, ("Ida Falk",))
MEMORY = Memory(
    "m",
    'Ida keeps bees.\n"Fine", she said. \u2028 👩‍🚀',
    FactType.WORLD,
    NOW,
    Occurrence(Window(THERE, NOW), Precision.DAY),
    THERE,
    tags=("x", "y"),
    metadata=MappingProxyType({"a": "b"}),
    document_id="d",
    chunk_id="c",
    mentions=(Mention("e", "Ida", "person"),),
    causes=(CausalLink("m0", 0.5),),
    sources=("m1",),
    proof_count=2,
    tokens=5,
    state=MemoryState.INVALIDATED,
    version=4,
)
PNG = b"\x89PNG\r\n\x1a\n\x00\xff\xfe>?"
PAST = Past("m", (("x",), ()), (MemoryVersion(1, "Ida had bees.", NOW, "retain", ("x",)),))
THINGS = (DOCUMENT, CHUNK, ENTITY, MEMORY, PAST)


def written(*things):
    with spool() as file:
        writing = Writing(file, BANK, NOW)
        for thing in things:
            writing.take(thing)
        writing.end()
        return file.read()


def read(data: bytes):
    with spool() as file:
        file.write(data)
        file.seek(0)
        reading = Reading(file)
        return reading.header(), list(reading.things())


def changed(number: int, change) -> bytes:
    """Return an export with another line in the place of one; number 1 is the header."""
    lines = written(*THINGS).splitlines(keepends=True)
    lines[number - 1] = change(lines[number - 1])
    return b"".join(lines)


def with_field(path: str, value: object):
    def change(line: bytes) -> bytes:
        said = json.loads(line)
        *parents, last = path.split(".")
        part = said
        for parent in parents:
            part = part[parent]
        part[last] = value
        return json.dumps(said).encode() + b"\n"

    return change


def test_what_is_written_is_read():
    header, things = read(written(*THINGS))
    assert (header.format, header.exported, header.bank_id, header.name) == (FORMAT, NOW, "diary", "Diary")
    assert header.config == CONFIG
    assert things == list(THINGS)
    assert things[3].mentioned.utcoffset() == timedelta(hours=10)
    assert read(written())[1] == []


PICTURE = StoredAttachment(id_of(PNG), "image/png", PNG)
PICTURED = (
    DOCUMENT,
    PICTURE,
    replace(CHUNK, attachments=(PICTURE.id,)),
    ENTITY,
    replace(MEMORY, attachments=(PICTURE.id,)),
)


def test_an_attachment_is_written_in_base64_and_read_as_it_was():
    lines = written(*PICTURED).splitlines()
    assert json.loads(lines[2])["attachment"]["data"] == base64.urlsafe_b64encode(PNG).decode()
    assert read(written(*PICTURED))[1] == list(PICTURED)


@pytest.mark.parametrize(
    ("things", "field"),
    [
        ((DOCUMENT, replace(PICTURE, data=PNG + b"x"), CHUNK), "line 3: attachment.data"),
        ((DOCUMENT, replace(PICTURE, media_type="text/html"), CHUNK), "line 3: attachment.data"),
        ((DOCUMENT, replace(CHUNK, attachments=("a",))), "line 3: chunk.attachments"),
        ((DOCUMENT, CHUNK, ENTITY, replace(MEMORY, attachments=("a",))), "line 5: memory.attachments"),
    ],
)
def test_an_attachment_that_is_another_or_none_is_refused(things, field):
    with pytest.raises(InvalidArgument) as caught:
        read(written(*things))
    assert caught.value.violations[0].field == f"data, {field}"


def test_a_line_is_json_and_leaves_out_what_is_as_by_default():
    lines = written(*THINGS).splitlines()
    assert [next(iter(json.loads(line))) for line in lines] == [
        "header",
        "document",
        "chunk",
        "entity",
        "memory",
        "past",
        "end",
    ]
    assert b"position" not in lines[4]


@pytest.mark.parametrize(
    ("number", "change", "field", "words"),
    [
        (1, lambda _: b'{"end": 0}\n', "line 1: header", "is missing"),
        (1, lambda _: b"Dear diary,\n", "line 1: line", "invalid json"),
        (1, with_field("header.config.retain.chunk_tokens", 1), "config", ""),
        (2, with_field("document.version", "three"), "line 2: document.version", "integer"),
        (2, with_field("document.colour", "red"), "line 2: document.colour", "unexpected"),
        (2, with_field("document.id", ""), "line 2: document.id", "empty"),
        (3, with_field("chunk.chunk.document_id", "other"), "line 3: chunk.document_id", "'other'"),
        (4, lambda _: b"\xff\n", "line 4: line", ""),
        (4, lambda _: b"{}\n", "line 4: line", "neither"),
        (4, with_field("entity.name", "a\x00"), "line 4: line", "NUL"),
        (5, with_field("memory.fact_type", "rumour"), "line 5: memory.fact_type", "world"),
        (5, with_field("memory.occurred.window.start", "2027-01-01T00:00:00Z"), "line 5", "after"),
        (5, with_field("memory.document_id", "other"), "line 5: memory.document_id", "'other'"),
        (5, with_field("memory.chunk_id", "other"), "line 5: memory.chunk_id", "'other'"),
        (5, with_field("memory.mentions", [{"entity_id": "?", "name": "?"}]), "line 5: memory.mentions", "'?'"),
        (5, lambda _: written(MEMORY).splitlines(keepends=True)[1] * 2, "line 6: memory.id", "before"),
        (5, lambda line: line + written(DOCUMENT).splitlines(keepends=True)[1], "line 6: document", "after"),
        (6, with_field("past.memory_id", "other"), "line 6: past.memory_id", "'other'"),
        (5, lambda line: line[:-20], "line 5", ""),
        (7, lambda _: b"", "end", "cut"),
        (7, lambda _: b'{"end": 3}\n', "line 7: end", "5 came"),
        (7, lambda line: line + b"more\n", "line 7: end", ""),
    ],
)
def test_what_is_wrong_is_told_with_its_line_and_field(number, change, field, words):
    with pytest.raises(InvalidArgument) as caught:
        read(changed(number, change))
    [violation] = caught.value.violations
    assert field in violation.field
    assert words in violation.description


@pytest.mark.parametrize(
    ("number", "path", "value", "field"),
    [
        (2, "document.tokens", 10**30, "document.tokens"),
        (2, "document.version", 0, "document.version"),
        (2, "document.tags", [" "], "document.tags[0]"),
        (2, "document.updated", "9999-12-31T23:59:59-23:00", "document.updated"),
        (2, "document.metadata", {"k": "x" * 30_000}, "document.metadata"),
        (3, "chunk.chunk.number", -1, "chunk.number"),
        (3, "chunk.chunk.text", "x" * 4_000_000, "chunk.text"),
        (4, "entity.name", " ", "entity.name"),
        (4, "entity.aliases", ["x"] * 10_001, "entity.aliases"),
        (4, "entity.kind", "x" * 300, "entity.kind"),
        (5, "memory.text", "\u200b ", "memory.text"),
        (5, "memory.version", 2**63, "memory.version"),
        (5, "memory.created", "0001-01-01T00:00:00+23:00", "memory.created"),
        (5, "memory.tags", ["x"] * 2_000, "memory.tags"),
        (5, "memory.causes", [{"cause_id": "m0", "weight": -1}], "memory.causes[0].weight"),
        (6, "past.scopes", [[]] * 40, "past.scopes"),
        (
            6,
            "past.versions",
            [json.loads(written(PAST).splitlines()[1])["past"]["versions"][0]] * 2,
            "past.versions[1].version",
        ),
    ],
)
def test_a_value_that_no_other_door_lets_in_is_refused(number, path, value, field):
    with pytest.raises(InvalidArgument) as caught:
        read(changed(number, with_field(path, value)))
    assert caught.value.violations[0].field == f"data, line {number}: {field}"


def test_an_export_of_a_newer_version_is_refused():
    with pytest.raises(NotReady, match="format 2"):
        read(changed(1, with_field("header.format", FORMAT + 1)))
