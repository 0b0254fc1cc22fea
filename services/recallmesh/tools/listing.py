"""The tool that looks through a bank without a question."""

from collections.abc import Awaitable, Callable, Iterator, Sequence
from typing import ClassVar, Literal, TypeVar

from pydantic import BaseModel, Field

from recallmesh.core.bank import BankRef
from recallmesh.core.document import Document
from recallmesh.core.entity import TagCount
from recallmesh.core.errors import FieldViolation, InvalidArgument
from recallmesh.core.ledger import MemoryFilter
from recallmesh.core.memory import VISIBLE_STATES
from recallmesh.core.page import Page, PageRequest
from recallmesh.core.tags import EVERYTHING, TagLeaf, TagMode, TagTest
from recallmesh.tools.recalling import LIMIT, LIMIT_MOST, MAX_TOKENS, Tags
from recallmesh.tools.shown import ShownMemory, counted, lines, shown_memory
from recallmesh.tools.tool import Asked, Hints, Ports, Progress, Reply, Told, Tool
from recallmesh.tools.when import minute

Row = TypeVar("Row")
MORE = "There is more: call list again with after as next is here."
TOKENS_OF_ROW = 30
"""What a document or a tag is taken to be, in tokens."""


class AskedList(Asked):
    """What to look through."""

    what: Literal["memories", "documents", "tags"] = Field(
        default="memories", description="What to list. Tags come with how many memories have each."
    )
    tags: Tags = Field(default_factory=list, description="Only memories or documents that have one of these tags.")
    document_id: str = Field(default="", description="Only memories of this document.")
    limit: int = Field(default=LIMIT, ge=1, le=LIMIT_MOST, description="The most rows to return.")
    max_tokens: int = Field(default=MAX_TOKENS, ge=1, le=32_768, description="The most tokens to return.")
    after: str = Field(default="", description="Goes on with the list: next of the answer before it, as it is.")


class ShownDocument(BaseModel):
    """A document as data."""

    id: str = Field(description="What forget, and list for its memories, take.")
    memory_count: int = Field(description="How many memories it has.")
    updated: str = Field(description="When it was last told something.")
    tags: list[str] = Field(default_factory=list)


class ShownTag(BaseModel):
    """A tag as data."""

    tag: str
    memory_count: int = Field(description="How many memories have it.")


class ToldList(Told):
    """One page of a list."""

    notes: list[str] = Field(description="What to know, such as that there is more. Empty: nothing.")
    memories: list[ShownMemory] = Field(default_factory=list, description="If they were asked for.")
    documents: list[ShownDocument] = Field(default_factory=list, description="If they were asked for.")
    tags: list[ShownTag] = Field(default_factory=list, description="If they were asked for.")
    next: str = Field(default="", description="What after takes to go on; absent: that was all.")


class ListTool(Tool[AskedList]):
    """Shows rows in a fixed order, page by page."""

    name: ClassVar = "list"
    title: ClassVar = "List what is remembered"
    about: ClassVar = (
        "Look through long-term memory without a question: which documents and tags there are, and all memories of a "
        "document or a tag. Use it to get an overview, to find ids for forget, or when everything about something "
        "has to be seen. To find what answers a question, use recall: a list is in the order of ids, not of relevance "
        "or time."
    )
    hints: ClassVar = Hints(read_only=True, idempotent=True)
    asked: ClassVar = AskedList
    told: ClassVar = ToldList

    async def run(self, ports: Ports, bank: BankRef, asked: AskedList, progress: Progress | None) -> Reply:  # noqa: ARG002 - too short
        """Return a page of it."""
        _check(asked)
        visible: TagTest = TagLeaf(frozenset(asked.tags), TagMode.ANY_STRICT) if asked.tags else EVERYTHING
        match asked.what:
            case "memories":
                wanted = MemoryFilter(states=VISIBLE_STATES, tags=visible, document_id=asked.document_id)
                memories = await _page(
                    asked, lambda page: ports.admin.list_memories(bank, wanted, page), lambda one: one.tokens
                )
                shown = [shown_memory(memory) for memory in memories.rows]
                return _reply(asked, ToldList(notes=[], memories=shown, next=memories.next_after), lines(shown))
            case "documents":
                documents = await _page(
                    asked, lambda page: ports.admin.list_documents(bank, page, visible=visible), _row_tokens
                )
                rows = [_document(document) for document in documents.rows]
                told = ToldList(notes=[], documents=rows, next=documents.next_after)
                return _reply(asked, told, map(_document_line, rows))
            case "tags":
                counts = await _page(asked, lambda page: ports.admin.list_tags(bank, page), _row_tokens)
                tags = [_tag(row) for row in counts.rows]
                told = ToldList(notes=[], tags=tags, next=counts.next_after)
                return _reply(asked, told, (f"- {tag.tag} ({_memories(tag.memory_count)})" for tag in tags))


def _check(asked: AskedList) -> None:
    if asked.what == "tags" and asked.tags:
        raise InvalidArgument(FieldViolation("tags", "goes with memories and documents alone"))
    if asked.what != "memories" and asked.document_id:
        raise InvalidArgument(FieldViolation("document_id", "goes with memories alone"))


async def _page(
    asked: AskedList, read: Callable[[PageRequest], Awaitable[Page[Row]]], tokens_of: Callable[[Row], int]
) -> Page[Row]:
    """Return as many rows as there is room for, and at least one if there is any."""
    page, after = await _some(read, asked.limit, asked.after)
    fitting = _fitting([tokens_of(row) for row in page.rows], asked.max_tokens)
    if fitting == len(page.rows):
        return page
    # What to go on from is known to whoever keeps the list alone, so that a shorter page is asked for, not cut.
    return (await _some(read, fitting, after))[0]


async def _some(read: Callable[[PageRequest], Awaitable[Page[Row]]], size: int, after: str) -> tuple[Page[Row], str]:
    """Return the first page that has a row, or the last one, and what it came after: tags may leave pages empty."""
    page = await read(PageRequest(size, after))
    while page.next_after and not page.rows:
        after = page.next_after
        page = await read(PageRequest(size, after))
    return page, after


def _fitting(sizes: Sequence[int], room: int) -> int:
    """Return how many of the first fit; at least one, if there is any."""
    for count, size in enumerate(sizes):
        room -= size
        if room < 0:
            return max(1, count)
    return len(sizes)


def _row_tokens(row: object) -> int:  # noqa: ARG001 - each is as long as the others
    return TOKENS_OF_ROW


def _reply(asked: AskedList, told: ToldList, rows: Iterator[str]) -> Reply:
    texts = list(rows)
    words = {"memories": ("memory", "memories"), "documents": ("document", "documents"), "tags": ("tag", "tags")}
    head = f"{counted(len(texts), *words[asked.what])}." if texts else f"No {asked.what}{_those(asked)}."
    more = [f"There is more: call list again with after {told.next}"] if told.next else []
    separator = "\n\n" if asked.what == "memories" else "\n"
    notes = [MORE] if told.next else []
    return Reply(separator.join([head, *texts, *more]), told.model_copy(update={"notes": notes}))


def _those(asked: AskedList) -> str:
    if asked.after:
        return " any more"
    return " like that" if asked.tags or asked.document_id else ""


def _document(document: Document) -> ShownDocument:
    return ShownDocument(
        id=document.id, memory_count=document.memory_count, updated=minute(document.updated), tags=list(document.tags)
    )


def _document_line(document: ShownDocument) -> str:
    tags = f", tags {', '.join(document.tags)}" if document.tags else ""
    return f"- {document.id} ({_memories(document.memory_count)}, updated {document.updated}{tags})"


def _tag(row: TagCount) -> ShownTag:
    return ShownTag(tag=row.tag, memory_count=row.memory_count)


def _memories(count: int) -> str:
    return counted(count, "memory", "memories")
