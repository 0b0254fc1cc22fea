"""What a reader may be told: the one rule of what tag tests keep back, for every call that returns texts."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from recallmesh.core.attachment import AttachmentOutline
from recallmesh.core.document import Chunk, ChunkOutline
from recallmesh.core.entity import LABEL
from recallmesh.core.memory import VISIBLE_STATES, Memory, Mention, Outline
from recallmesh.core.name import Wording
from recallmesh.core.tags import TagTest, is_open, passes


def may_show(memory: Memory | Outline, visible: TagTest) -> bool:
    """Tell whether a reader with this test may be shown the memory."""
    return memory.state in VISIBLE_STATES and passes(visible, memory.tags)


def rests_on(memories: Iterable[Memory | Outline], visible: TagTest) -> tuple[str, ...]:
    """Return the ids of the facts that must be asked about before the memories may be shown: observations' evidence.

    An observation says what its facts say. So where a test is in force all of them must pass it, not its tags alone.
    """
    if is_open(visible):
        return ()
    return tuple(dict.fromkeys(source for memory in memories for source in memory.sources))


def may_rest(memory: Memory | Outline, evidence: Mapping[str, Memory | Outline], visible: TagTest) -> bool:
    """Tell whether a reader with this test may see all that a memory rests on; what is there no more is nothing."""
    if is_open(visible):
        return True
    found = (evidence.get(source) for source in memory.sources)
    return all(one is None or passes(visible, one.tags) for one in found)


def may_show_chunk(chunk: Chunk, outline: ChunkOutline | None, visible: TagTest) -> bool:
    """Tell whether a reader may be shown a chunk: it says what each of its memories says, so all of them count.

    One that still says what a deleted memory said, or whose memories are not known, is kept back.
    """
    memories = outline.memories if outline else ()
    return not chunk.outdated and bool(memories) and all(may_show(one, visible) for one in memories)


def may_show_attachment(attachment: AttachmentOutline, visible: TagTest) -> bool:
    """Tell whether a reader may be shown an attachment: a memory drawn from it may be.

    Where no test is in force it is enough that something still has it.
    """
    if is_open(visible):
        return attachment.held or bool(attachment.memories)
    return any(may_show(one, visible) for one in attachment.memories)


def disclosed(memory: Memory, visible: TagTest) -> Memory:
    """Return a memory that may be shown as a reader with this test may be told it.

    What an entity is called is known of all memories together, the hidden ones too. So where a test is in force, each
    mention comes under one name that this memory's own text or context says, and without others; an entity that these
    do not name is left out. Labels are the memory's own and stay.
    """
    if not memory.mentions or is_open(visible):
        return memory
    wording = _wording(memory)
    told = (_told(mention, wording) for mention in memory.mentions)
    return replace(memory, mentions=tuple(mention for mention in told if mention is not None))


def may_quote(phrase: str, memory: Memory | None, visible: TagTest) -> bool:
    """Tell whether a reader with this test may be told a phrase about a memory.

    Where a test is in force it may call none of the memory's entities what the memory itself does not; of a memory that
    was not read nobody knows that.
    """
    if is_open(visible) or memory is None:
        return is_open(visible)
    said, phrased = _wording(memory), Wording(phrase)
    return not any(phrased.says(name) and not said.says(name) for name in _entity_names(memory))


def _wording(memory: Memory) -> Wording:
    return Wording(f"{memory.text}\n{memory.context}")


def _entity_names(memory: Memory) -> Iterator[str]:
    for mention in memory.mentions:
        if mention.kind != LABEL:
            yield from (mention.name, *mention.aliases)


def _told(mention: Mention, wording: Wording) -> Mention | None:
    if mention.kind == LABEL:
        return replace(mention, aliases=())
    # Every spelling by which a memory meant it is its name or one of its aliases.
    name = next((name for name in (mention.name, *mention.aliases) if wording.says(name)), None)
    return None if name is None else replace(mention, name=name, aliases=())
