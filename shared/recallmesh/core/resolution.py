"""Resolution: which entity of the bank a name means (SPEC T6), and why.

Exact by name or alias first. Else the score is how alike the names are, and what common neighbours and closeness in
time add to that; the best one is meant if it reaches the threshold and no other is nearly as good.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import chain
from math import tanh
from types import MappingProxyType

from recallmesh.core.entity import CONCEPT, LABEL, Entity
from recallmesh.core.key import key_of
from recallmesh.core.likeness import SCORES, Likeness, Rule, Spelling, expands, likeness

THRESHOLD = 0.8
"""The least score of the same entity."""
LEAD = 0.1
"""How much better than any other the best must be: Alice C. is Alice Chen only while no Alice Cole is as near."""
NEIGHBOURS_MOST = 0.25
TIME_MOST = 0.05
"""What neighbours and time can add: together too little to lift another name (``likeness``) to the threshold."""
POSSIBLE = THRESHOLD - NEIGHBOURS_MOST - TIME_MOST
"""The least likeness of names that can be one at all."""
TIME_HALF_DAYS = 30.0
"""Days after which closeness in time is worth half."""
WHOLE_NEIGHBOUR = 50
"""A neighbour on more memories counts less, by as much: that two names are met beside "user" tells nothing."""
COMPARISONS = 20
"""The most comparisons that a verdict tells."""
_DAY_S = 86_400.0
_LIKELY = (Rule.SLIP, Rule.LETTER)
_CERTAIN = (Rule.SAME, Rule.ALIAS)


@dataclass(frozen=True, slots=True)
class Known:
    """An entity that the bank has, or that this call makes, and all that resolution knows of it.

    ``apart`` are keys that a split told from it. ``met`` are the ids of entities in whose memories it is; ``last`` is
    when it was last mentioned.
    """

    id: str
    key: str
    kind: str
    name: str
    aliases: tuple[str, ...] = ()
    apart: tuple[str, ...] = ()
    met: frozenset[str] = frozenset()
    last: datetime | None = None

    def spellings(self) -> tuple[Spelling, ...]:
        """Return its name and its other names."""
        others = (Spelling(key_of(alias, self.kind), self.kind, alias.endswith(".")) for alias in self.aliases)
        return (Spelling(self.key, self.kind, self.name.endswith(".")), *others)


@dataclass(frozen=True, slots=True)
class Asked:
    """A name to resolve: with the ids of entities named beside it and what each is worth, and when it was said."""

    name: str
    kind: str = CONCEPT
    beside: Mapping[str, float] = field(default_factory=lambda: MappingProxyType({}))
    time: datetime | None = None


@dataclass(frozen=True, slots=True)
class Comparison:
    """One name compared with one entity. ``name_score`` is in [0, 1]; ``rule`` says in words what decided."""

    entity_id: str
    name: str
    name_score: float
    neighbour_score: float
    time_score: float
    matched: bool
    rule: str

    @property
    def score(self) -> float:
        """What is compared with the threshold."""
        return round(self.name_score + self.neighbour_score + self.time_score, 4)


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a name means: an entity's id, or nothing when it is a new one; with what it was compared, best first."""

    entity_id: str | None
    comparisons: tuple[Comparison, ...] = ()
    threshold: float = THRESHOLD

    @property
    def doubted(self) -> frozenset[str]:
        """The ids of those between whom neighbours could yet decide, or of one that is possible and not sure."""
        possible = frozenset(one.entity_id for one in self.comparisons if one.name_score >= POSSIBLE)
        return frozenset() if self.entity_id else possible


@dataclass(frozen=True, slots=True)
class EntityQuestion:
    """What is asked about a name: what it would resolve to, said at ``time`` beside the names of ``neighbours``."""

    name: str
    kind: str = CONCEPT
    neighbours: tuple[str, ...] = ()
    time: datetime | None = None


@dataclass(frozen=True, slots=True)
class EntityExplanation:
    """The entity that a name would resolve to, absent for a new one, and the verdict."""

    entity: Entity | None
    verdict: Verdict


def known_of(entity: Entity, met: frozenset[str] = frozenset()) -> Known:
    """Return what resolution knows of a bank's entity."""
    return Known(
        entity.id, entity.key, entity.kind, entity.name, entity.aliases, entity.apart, met, entity.last_mentioned
    )


def worth(memory_count: int) -> float:
    """Return what a neighbour counts, in (0, 1]."""
    return min(1.0, WHOLE_NEIGHBOUR / max(1, memory_count))


def judge(asked: Asked, known: Iterable[Known]) -> Verdict:
    """Tell which of the known a name means; labels are compared exactly and with labels alone."""
    rivals = [one for one in known if (one.kind == LABEL) == (asked.kind == LABEL)]
    key = key_of(asked.name, asked.kind)
    if exact := _exact(key, rivals):
        return Verdict(exact.entity_id, (exact,))
    if asked.kind == LABEL:
        return Verdict(None)
    compared = sorted(
        (_compare(asked, key, one, rivals) for one in rivals), key=lambda one: (-one.score, one.entity_id)
    )
    possible = [one for one in compared if one.name_score >= POSSIBLE]
    best = possible[0] if possible else None
    if best and best.score >= THRESHOLD and all(best.score - one.score >= LEAD for one in possible[1:]):
        others = [one for one in compared if one is not best]
        return Verdict(best.entity_id, (replace(best, matched=True), *others[: COMPARISONS - 1]))
    told = [replace(one, rule=Rule.AS_NEAR) if one.score >= THRESHOLD else one for one in compared]
    return Verdict(None, tuple(told[:COMPARISONS]))


def neighbour_score(shared: Iterable[float]) -> float:
    """Return what common neighbours, each of some worth in (0, 1], add: one whole 0.1155, two 0.1904, three 0.2263."""
    return NEIGHBOURS_MOST * tanh(0.5 * sum(shared))


def time_score(one: datetime | None, other: datetime | None) -> float:
    """Return what closeness in time adds: 0.05 at once, 0.025 after 30 days; nothing without both times."""
    if one is None or other is None:
        return 0.0
    days = abs((one - other).total_seconds()) / _DAY_S
    return TIME_MOST / (1 + days / TIME_HALF_DAYS)


def _exact(key: str, rivals: Sequence[Known]) -> Comparison | None:
    # A name of its own before another's alias, whatever order they come in.
    for rule in _CERTAIN:
        for one in rivals:
            keys = (one.key,) if rule is Rule.SAME else (key_of(alias, one.kind) for alias in one.aliases)
            if key in keys:
                return Comparison(one.id, one.name, SCORES[rule], 0.0, 0.0, matched=True, rule=rule)
    return None


def _compare(asked: Asked, key: str, one: Known, rivals: Sequence[Known]) -> Comparison:
    found = _nearest(Spelling(key, asked.kind, asked.name.endswith(".")), one, rivals)
    shared = (weight for entity_id, weight in asked.beside.items() if entity_id in one.met)
    apart = found.score == 0.0
    return Comparison(
        one.id,
        one.name,
        found.score,
        0.0 if apart else round(neighbour_score(shared), 4),
        0.0 if apart else round(time_score(asked.time, one.last), 4),
        matched=False,
        rule=found.rule,
    )


def _nearest(asked: Spelling, one: Known, rivals: Sequence[Known]) -> Likeness:
    """Return the best likeness to any of an entity's names.

    Letters are compared with its own name alone: from alias to alias a name could drift into another.
    """
    if asked.key in one.apart:
        return Likeness(0.0, Rule.APART)
    own, *others = one.spellings()
    found = [likeness(asked, own)]
    found += [alike for other in others if (alike := likeness(asked, other)).rule not in _LIKELY]
    best = max(found, key=lambda alike: alike.score)
    if best.rule in {Rule.INITIAL, Rule.PERHAPS_INITIAL} and _is_taken(asked.key, one, rivals):
        return Likeness(0.0, Rule.TAKEN)
    return best


def _is_taken(key: str, one: Known, rivals: Sequence[Known]) -> bool:
    """Tell whether the short form that a key writes out has been written out otherwise: Alice C. is Alice Chen."""
    shorts = [spelling.key for spelling in one.spellings() if expands(key, spelling.key)]
    written_out = chain.from_iterable(rival.spellings() for rival in rivals)
    return any(expands(spelling.key, short) and spelling.key != key for spelling in written_out for short in shorts)
