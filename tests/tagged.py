"""A bank in which every text holds a mark of its own, so that one sees in any answer what of whom it shows."""

import re
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from itertools import combinations
from typing import Any
from uuid import uuid4

from deployment import until
from hypothesis import strategies as st

from recallmesh.client import Client
from recallmesh.core.arm import ArmName
from recallmesh.core.attachment import StoredAttachment, id_of
from recallmesh.core.bank import BankRef
from recallmesh.core.document import Chunk, Document
from recallmesh.core.memory import FactType, Memory, Mention
from recallmesh.core.retain import UpdateMode
from recallmesh.core.tags import TagAnd, TagLeaf, TagMode, TagNot, TagOr, TagTest, is_open, passes
from recallmesh.core.write import ChunkWrite, DocumentWrite, NewEntity, Write
from recallmesh.ledger import open_ledger

NOW = datetime(2026, 8, 19, 10, tzinfo=UTC)
TAGS = ("ash", "birch", "cedar")
SUBSETS = [frozenset(some) for size in range(len(TAGS) + 1) for some in combinations(TAGS, size)]
MARK = re.compile(r"mark[0-9]{4}")
INDEXED = (ArmName.SEMANTIC, ArmName.KEYWORD, ArmName.GRAPH)
LANTERN = NewEntity("new:lantern", "Lantern", "lantern", "thing")


def name_of(test: TagTest) -> str:
    """Return a name of a tag test that is the same in every run, which the order of its sets is not."""
    return re.sub(r"frozenset\(\{(.*?)\}\)", lambda found: "+".join(sorted(found[1].split(", "))), str(test))


def marks(shown: object) -> set[str]:
    """Return the marks anywhere in an answer: a message, nouns, an error."""
    return set(MARK.findall(shown if isinstance(shown, str) else repr(shown)))


def texts(memories: Iterable[Any]) -> set[str]:
    """Return the marks in what memories say themselves, without what those whom they mention are called elsewhere."""
    return {mark for memory in memories for mark in marks(f"{memory.text} {memory.context} {memory.metadata}")}


def shown(answer: Any) -> set[str]:
    """Return the marks of the memories that an answer brings."""
    return texts(one.memory for one in answer.memories)


@dataclass(frozen=True)
class Marked:
    """What was written: each memory by its mark, and the marks that a chunk's text holds by the mark of its own.

    Of each attachment, by its mark, the id and the mark of the one memory that is drawn from it.
    """

    memories: dict[str, Memory] = field(default_factory=dict)
    chunks: dict[str, set[str]] = field(default_factory=dict)
    chunk_ids: dict[str, str] = field(default_factory=dict)
    documents: dict[str, Document] = field(default_factory=dict)
    attachments: dict[str, tuple[str, str]] = field(default_factory=dict)

    def shown(self, test: TagTest, *types: FactType) -> set[str]:
        """Return the marks of the memories that may be seen: those that pass, with all that they were built from."""
        passing = self.passing(test)
        return {
            mark
            for mark in passing
            if self.sources([mark]) <= passing and (not types or self.memories[mark].fact_type in types)
        }

    def passing(self, test: TagTest) -> set[str]:
        """Return the marks of the memories whose own tags pass, which is all that an index knows."""
        return {mark for mark, memory in self.memories.items() if passes(test, memory.tags)}

    def shown_chunks(self, test: TagTest, of: set[str] | None = None) -> set[str]:
        """Return all marks in the chunks (of these memories) that may be seen: those of which every memory may be."""
        may = self.passing(test)
        pages = [{own, *held} for own, held in self.chunks.items() if held <= may and (of is None or held & of)]
        return set().union(*pages)

    def sources(self, marks_of_observations: Iterable[str]) -> set[str]:
        """Return the marks of the facts that observations were built from."""
        marks_by_id = {memory.id: mark for mark, memory in self.memories.items()}
        return {marks_by_id[one] for mark in marks_of_observations for one in self.memories[mark].sources}

    def told(self, of: Iterable[str], test: TagTest) -> set[str]:
        """Return what telling these memories tells: without a test also what the bank calls those whom they mention."""
        own = set(of)
        return own | {name for mark in own for name in marks(self.memories[mark].mentions) if is_open(test)}

    def allowed(self, test: TagTest, *types: FactType) -> set[str]:
        """Return all that an answer may hold: memories of these types, their chunks, the facts behind observations."""
        may, seen = self.shown(test, *types), self.passing(test)
        pages = {own: held for own, held in self.chunks.items() if held <= seen and held & may}
        sources = self.sources(mark for mark in may if self.memories[mark].sources) & seen
        return self.told(may | sources, test) | pages.keys() | {mark for held in pages.values() for mark in held}


class _Writer:
    """Numbers the marks, and collects what one transaction writes."""

    def __init__(self) -> None:
        self.marked = Marked()
        self.entities = [LANTERN]
        self.keeper: NewEntity | None = None
        self.chunks: dict[str, list[ChunkWrite]] = defaultdict(list)
        self.attachments: list[StoredAttachment] = []
        self.count = 0

    def mark(self) -> str:
        self.count += 1
        return f"mark{self.count:04}"

    def memory(self, tags: Iterable[str], fact_type: FactType = FactType.WORLD, sources: Iterable[str] = ()) -> Memory:
        mark = self.mark()
        # Whom one memory calls a keeper, another calls a warden: and that one's reader must not learn it here.
        before = self.keeper
        elsewhere = (before.name.replace("Keeper", "Warden"),) if before else ()
        self.keeper = NewEntity(f"new:{mark}", f"Keeper {mark}", f"keeper {mark}", "person", elsewhere)
        self.entities.append(self.keeper)
        about = (LANTERN, self.keeper, *((before,) if before else ()))
        made = Memory(
            str(uuid4()),
            f"The lantern {mark} hangs in the yard of keeper {mark}.",
            fact_type,
            NOW,
            mentioned=NOW - timedelta(minutes=self.count),
            context=f"said of {mark}",
            tags=tuple(sorted(tags)),
            metadata={"note": mark},
            mentions=tuple(Mention(one.id, one.name, one.kind, one.aliases) for one in about),
            sources=tuple(sources),
            proof_count=max(1, len(tuple(sources))),
            tokens=12,
        )
        self.marked.memories[mark] = made
        return made

    def chunk(self, document_id: str, *memories: Memory) -> None:
        own, pictured = self.mark(), self.mark()
        picture = StoredAttachment(id_of(pictured.encode()), "image/png", pictured.encode())
        first = replace(memories[0], attachments=(picture.id,))
        memories = (first, *memories[1:])
        [holder] = marks(first.text)
        self.marked.memories[holder] = first
        self.marked.attachments[pictured] = picture.id, holder
        self.attachments.append(picture)
        text = f"Page {own}: " + " ".join(memory.text for memory in memories)
        chunk = Chunk(str(uuid4()), "", 0, text, 12 * len(memories) + 4, digest=own)
        self.chunks[document_id].append(ChunkWrite(chunk, memories, attachments=(picture.id,)))
        self.marked.chunks[own] = {mark for memory in memories for mark in MARK.findall(memory.text)}
        self.marked.chunk_ids[own] = chunk.id

    def write(self, bank_uid: str) -> Write:
        documents = []
        for document_id, chunks in self.chunks.items():
            tags = dict.fromkeys(tag for chunk in chunks for memory in chunk.memories for tag in memory.tags)
            document = Document(document_id, NOW, NOW, tags=tuple(tags), metadata={"title": self.mark()})
            self.marked.documents[document.metadata["title"]] = document
            documents.append(DocumentWrite(document, UpdateMode.REPLACE, tuple(chunks)))
        attachments = tuple(self.attachments)
        return Write(bank_uid, tuple(documents), tuple(self.entities), INDEXED, NOW, attachments=attachments)


def _marked() -> _Writer:
    """Make memories of every set of tags: alone in a chunk, two of unlike tags in one, observations of both."""
    pen = _Writer()
    alone = {tags: pen.memory(tags) for tags in SUBSETS}
    for tags, memory in alone.items():
        pen.chunk(f"alone {'-'.join(sorted(tags))}", memory)
    for first, second in combinations(SUBSETS, 2):
        if len(first | second) < len(TAGS):
            pen.chunk(f"pair {pen.count}", pen.memory(first), pen.memory(second, FactType.EXPERIENCE))
    for tags in SUBSETS:
        others = [pen.memory(tags) for _ in range(2)]
        pen.chunk(f"others {pen.count}", *others)
        like, unlike = [one.id for one in others], [alone[tags].id, alone[frozenset(TAGS) - tags].id]
        for sources in (like, unlike):
            pen.chunk(f"seen {pen.count}", pen.memory(tags, FactType.OBSERVATION, sources))
    return pen


async def write_marked(faces: Client, ledger_url: str, ref: BankRef) -> Marked:
    """Write the memories by the ledger of a mesh, wait until its arms have them, and return what was written.

    By the ledger, since no face of the mesh makes observations at will.
    """
    pen = _marked()
    async with open_ledger(ledger_url, own_lease=timedelta()) as ledger:
        bank = await ledger.get_bank(ref)
        commit = await ledger.commit(pen.write(bank.uid))
    stored = {MARK.findall(memory.text)[0]: memory for memory in commit.added}

    async def delivered() -> bool:
        return (await faces.admin.bank_stats(ref)).pending == 0

    await until(delivered, 60)
    return replace(pen.marked, memories=stored)


def tag_tests(unknown: str = "yew") -> st.SearchStrategy[TagTest]:
    """Return tests of every mode, over the bank's tags and one that nobody has, in groups within groups."""
    tags = st.frozensets(st.sampled_from((*TAGS, unknown)), max_size=3)
    leaves = st.builds(TagLeaf, tags, st.sampled_from(TagMode))

    def groups(parts: st.SearchStrategy[TagTest]) -> st.SearchStrategy[TagTest]:
        several = st.lists(parts, max_size=3).map(tuple)
        return st.builds(TagAnd, several) | st.builds(TagOr, several) | st.builds(TagNot, parts)

    return st.recursive(leaves, groups, max_leaves=5)


EVERY_MODE: tuple[TagTest, ...] = tuple(
    TagLeaf(tags, mode) for mode in TagMode for tags in (frozenset(), frozenset({"ash"}), frozenset({"ash", "birch"}))
)
