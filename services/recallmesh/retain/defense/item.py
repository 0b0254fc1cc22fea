"""One item under defense: what is found in all of its texts, and the item without it."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from recallmesh.core.defense import DefenseAction, DefenseViolation
from recallmesh.core.entity import CONCEPT
from recallmesh.core.retain import RetainItem
from recallmesh.retain.defense.finding import Finding, Kind, Scan, united

Change = Callable[[str, str], str]
"""Takes where a text stands and the text; returns what takes its place."""
_CARRIED_FROM = 6
"""Characters of a finding that is taken out wherever it stands; shorter ones are parts of other words too often."""
_CARRIED = 256
"""Different findings of an item that are looked for in all its texts."""
DOCUMENT_ID = "document_id"


@dataclass(frozen=True, slots=True)
class Rule:
    """What is looked for, and what is done about it."""

    action: DefenseAction
    scans: tuple[Scan, ...]


@dataclass(frozen=True, slots=True)
class Verdict:
    """What became of an item: nothing is left of it when it is refused. ``violations`` say why, each kind once.

    ``document_id`` is the item's, empty where that is what must not be shown.
    """

    item: RetainItem | None
    violations: tuple[DefenseViolation, ...] = ()
    document_id: str = ""


@dataclass(slots=True)
class _Notes:
    """What was found so far: of each kind where and how often, and the words themselves while the item is in hand."""

    where: dict[tuple[Kind, DefenseAction], dict[str, int]] = field(default_factory=dict)
    words: dict[str, Kind] = field(default_factory=dict)

    def note(self, place: str, text: str, found: Sequence[tuple[Finding, DefenseAction]]) -> None:
        for one, action in found:
            places = self.where.setdefault((one.kind, action), {})
            places[place] = places.get(place, 0) + 1
            self.words.setdefault(text[one.start : one.end], one.kind)


def judge(item: RetainItem, rules: Sequence[Rule]) -> Verdict:
    """Look through all texts of an item; pure computing, a millisecond for a thousand tokens."""
    notes = _Notes()
    seen: dict[str, list[Finding]] = {}

    def look(place: str, text: str) -> str:
        if text and text not in seen:
            found = [(one, rule.action) for rule in rules for scan in rule.scans for one in scan(text)]
            notes.note(place, text, found)
            seen[text] = [one for one, _ in found]
        return text

    mapped(item, look)
    look(DOCUMENT_ID, item.document_id)
    if not notes.where:
        return Verdict(item, (), item.document_id)
    # A document without its name would be another document: what is in the name cannot be taken out.
    named = any(DOCUMENT_ID in places for places in notes.where.values())
    blocked = named or any(action is DefenseAction.BLOCK for _, action in notes.where)
    violations = _violations(notes.where, blocked=blocked)
    if blocked:
        return Verdict(None, violations, "" if named else item.document_id)
    carried = [(word, kind) for word, kind in notes.words.items() if len(word) >= _CARRIED_FROM][:_CARRIED]

    def redact(_place: str, text: str) -> str:
        return without(text, (*seen.get(text, ()), *_occurrences(text, carried)))

    redacted = mapped(item, redact)
    # What a name is without the marks; an entity that is nothing else is nobody. A kind with a mark tells nothing.
    entities = tuple(
        replace(entity, name=bare, kind=kept.kind if kept.kind == entity.kind else CONCEPT)
        for entity, kept in zip(item.entities, redacted.entities, strict=True)
        if (bare := _without_marks(kept.name) if kept.name != entity.name else kept.name)
    )
    return Verdict(replace(redacted, entities=entities), violations, item.document_id)


def mapped(item: RetainItem, change: Change) -> RetainItem:
    """Return the item with every text of it changed, but for its document's id and its receipt."""

    def tags(given: Iterable[str]) -> tuple[str, ...]:
        return tuple(dict.fromkeys(change("tags", tag) for tag in given))

    return replace(
        item,
        content=tuple(change("content", block) if isinstance(block, str) else block for block in item.content),
        context=change("context", item.context),
        tags=tags(item.tags),
        metadata=_metadata(item.metadata, change),
        entities=tuple(
            replace(entity, name=change("entities", entity.name), kind=change("entities", entity.kind))
            for entity in item.entities
        ),
        observation_scopes=tuple(map(tags, item.observation_scopes)),
    )


def without(text: str, findings: Iterable[Finding]) -> str:
    """Return a text with a mark in the place of each finding."""
    kept: list[str] = []
    end = 0
    for found in united(findings):
        kept += (text[end : found.start], found.kind.mark)
        end = found.end
    return "".join((*kept, text[end:]))


def _metadata(given: Mapping[str, str], change: Change) -> dict[str, str]:
    """Change keys and values; keys that become the same are numbered, so that no value is lost."""
    made: dict[str, str] = {}
    for key, value in given.items():
        name = base = change("metadata", key)
        number = 2
        while name in made:
            name, number = f"{base} {number}", number + 1
        made[name] = change("metadata", value)
    return made


def _occurrences(text: str, words: Iterable[tuple[str, Kind]]) -> Iterable[Finding]:
    for word, kind in words:
        start = text.find(word)
        while start >= 0:
            yield Finding(start, start + len(word), kind)
            start = text.find(word, start + len(word))


def _violations(
    where: Mapping[tuple[Kind, DefenseAction], Mapping[str, int]], *, blocked: bool
) -> tuple[DefenseViolation, ...]:
    made: list[DefenseViolation] = []
    for (kind, action), places in where.items():
        times = sum(places.values())
        often = f", {times} times" if times > 1 else ""
        message = f"{kind.name} in {' and '.join(places)}{often}"
        done = DefenseAction.BLOCK if blocked else action
        made.append(DefenseViolation(kind.detector, done, kind.severity, message))
    return tuple(made)


def _without_marks(name: str) -> str:
    bare = name
    while (start := bare.find("[redacted: ")) >= 0:
        end = bare.find("]", start)
        bare = bare[:start] + bare[end + 1 :]
    bare = " ".join(bare.split()).strip(" ,;:()<>")
    return bare if any(sign.isalnum() for sign in bare) else ""
