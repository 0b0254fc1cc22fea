"""Reading: facts of the chunks that are new, by the bank's extraction mode (SPEC T3)."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace

from recallmesh.core.bank import BankConfig, ExtractionMode, LabelKey, RetainTuning
from recallmesh.core.entity import LABEL, Entity
from recallmesh.core.errors import FieldViolation, InvalidArgument, NotReady
from recallmesh.core.key import fold
from recallmesh.core.label import find_labels, label_fault, labels_of
from recallmesh.core.retain import RetainRequest
from recallmesh.retain.draft import ChunkDraft
from recallmesh.retain.entity import names_to_know
from recallmesh.retain.extraction import Extractor, Fact, FoundName
from recallmesh.retain.local import speakers_of, type_of
from recallmesh.retain.speaker import split_turns


def check_mode(extractor: Extractor, mode: ExtractionMode, tuning: RetainTuning) -> None:
    """Refuse a mode that the extractor cannot work in, or not with this bank.

    Raises:
        NotReady: says what is missing.

    """
    if mode is not ExtractionMode.CHUNKS and mode not in extractor.modes:
        raise NotReady(f"extraction mode {mode} needs an LLM extractor, and none is set up")
    if mode is ExtractionMode.CUSTOM and not tuning.instructions.strip():
        raise NotReady("extraction mode custom needs the bank's own instructions, and it has none")


def check_labels(request: RetainRequest, vocabulary: tuple[LabelKey, ...]) -> None:
    """Refuse labels that the bank's vocabulary has not.

    Raises:
        InvalidArgument: names every one of them.

    """
    violations = [
        FieldViolation(f"items[{index}].entities[{number}].name", fault)
        for index, item in enumerate(request.items)
        for number, entity in enumerate(item.entities)
        if entity.kind == LABEL and (fault := label_fault(entity.name, vocabulary))
    ]
    if violations:
        raise InvalidArgument(*violations)


def keys_to_know(chunks: Sequence[ChunkDraft]) -> tuple[str, ...]:
    """Return the keys of words that are names only if the bank knows them as such."""
    return tuple(sorted({fold(word) for chunk in chunks for word in names_to_know(chunk.text)}))


def known_names(keys: Sequence[str], entities: Sequence[Entity]) -> tuple[FoundName, ...]:
    """Return those of the bank's entities that the keys name exactly, as they were asked for."""
    asked = frozenset(keys)
    return tuple(
        FoundName(name, entity.kind)
        for entity in entities
        if entity.kind != LABEL
        for name in (entity.name, *entity.aliases)
        if fold(name) in asked
    )


async def read_facts(
    extractor: Extractor,
    chunks: Sequence[ChunkDraft],
    mode: ExtractionMode,
    config: BankConfig,
    known: tuple[FoundName, ...] = (),
) -> tuple[tuple[Fact, ...], ...]:
    """Return each chunk's facts, in order; ``known`` are the bank's names that the chunks may mean."""
    tuning, labels = config.retain, config.labels
    if mode is ExtractionMode.CHUNKS:
        return await asyncio.to_thread(lambda: tuple((_verbatim(chunk, tuning),) for chunk in chunks))
    passages = tuple(replace(chunk.passage, known=known, labels=labels) for chunk in chunks)
    read = await extractor.extract(passages, mode, tuning)
    return await asyncio.to_thread(lambda: tuple(tuple(_labelled(fact, labels) for fact in facts) for facts in read))


def _labelled(fact: Fact, vocabulary: tuple[LabelKey, ...]) -> Fact:
    """Return the fact with the labels that its text says, and without any that the vocabulary lacks."""
    allowed = labels_of(vocabulary)
    names = [name for name in fact.names if name.kind != LABEL or name.name in allowed]
    said = (FoundName(label, LABEL) for label in find_labels(fact.text, vocabulary))
    return replace(fact, names=tuple(dict.fromkeys((*names, *said))))


def _verbatim(chunk: ChunkDraft, tuning: RetainTuning) -> Fact:
    # Nothing is read out of the text: who speaks is the form of the message, not its content.
    turns = split_turns(chunk.text, chunk.item.context)
    images = tuple(range(len(chunk.images)))
    return Fact(chunk.text, type_of(turns, chunk.text, tuning), names=speakers_of(turns), images=images)
