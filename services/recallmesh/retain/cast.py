"""The cast of a write: which entities its names mean, those of the bank and new ones."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from types import MappingProxyType

from recallmesh.core.entity import LABEL, Entity
from recallmesh.core.key import fold, key_of, words_of
from recallmesh.core.memory import Mention
from recallmesh.core.resolution import Asked, Known, Verdict, judge, known_of, worth
from recallmesh.core.retain import NamedEntity
from recallmesh.core.write import NewEntity

_HEAD = 4


class Cast:
    """Gives each name of a write its entity; one name, one entity, however often it comes."""

    def __init__(self, new_id: Callable[[], str], entities: Sequence[Entity]) -> None:
        """Know the bank's ``entities`` that may be meant."""
        self._new_id = new_id
        self._known: dict[str, Known] = {}
        self._exact: dict[tuple[bool, str], str] = {}
        self._near: defaultdict[str, dict[str, None]] = defaultdict(dict)
        self._met: defaultdict[str, set[str]] = defaultdict(set)
        self._worth = {one.id: worth(one.memory_count) for one in entities}
        self._used: dict[str, NewEntity] = {}
        self._judged: dict[tuple[str, str], tuple[int, Verdict]] = {}
        known = [known_of(one) for one in entities]
        for one in known:
            self._exact[one.kind == LABEL, one.key] = one.id
        for one in known:
            self._learn(one)

    @property
    def used(self) -> tuple[NewEntity, ...]:
        """The entities that were mentioned, in order of first mention."""
        return tuple(self._used.values())

    def meet(self, met: Mapping[str, frozenset[str]]) -> None:
        """Know with whom those are met that were ``doubted``."""
        for entity_id, others in met.items():
            self._met[entity_id] |= others

    def mentions(self, named: Iterable[NamedEntity], time: datetime | None = None) -> tuple[Mention, ...]:
        """Return the mentions of names that come together, each entity once; who is certain vouches for who is not."""
        names = tuple(named)
        certain = (self._exact.get((one.kind == LABEL, key_of(one.name, one.kind))) for one in names)
        beside = {one: self._worth.get(one, 1.0) for one in certain if one is not None}
        found = {mention.entity_id: mention for mention in (self.mention(one, beside, time) for one in names)}
        for entity_id in found:
            self._met[entity_id] |= found.keys() - {entity_id}
        return tuple(found.values())

    def mention(
        self,
        named: NamedEntity,
        beside: Mapping[str, float] = MappingProxyType({}),
        time: datetime | None = None,
    ) -> Mention:
        """Return the mention of a name, of a new entity if it is none that is known."""
        label = named.kind == LABEL
        key = key_of(named.name, named.kind)
        name = named.name if label else " ".join(named.name.split())
        meant = self._exact.get((label, key))
        if meant is None and named.resolve and not label:
            meant = self._resolve(Asked(name, named.kind, beside, time), key)
        found = Known(self._new_id(), key, named.kind, name, last=time) if meant is None else self._known[meant]
        used = self._used.setdefault(found.id, NewEntity(found.id, found.name, found.key, found.kind))
        if meant is not None and (label, key) not in self._exact:
            # From now on this spelling is known to mean that one, to the bank too.
            found = replace(found, aliases=(*found.aliases, name))
            self._used[found.id] = replace(used, aliases=(*used.aliases, name))
        if (label, key) not in self._exact:
            self._learn(found)
        return Mention(found.id, found.name, found.kind, found.aliases)

    def doubted(self, names: Iterable[NamedEntity]) -> frozenset[str]:
        """Return the ids of the bank's entities whose neighbours could decide what one of the names means."""
        doubted: set[str] = set()
        for name, kind in dict.fromkeys((one.name, one.kind) for one in names if one.resolve and one.kind != LABEL):
            key = fold(name)
            if (False, key) not in self._exact:
                doubted |= self._judge(Asked(name, kind), self._neighbours(key)).doubted
        return frozenset(doubted)

    def _resolve(self, asked: Asked, key: str) -> str | None:
        rivals = self._neighbours(key)
        verdict = self._judge(asked, rivals)
        if verdict.doubted:
            verdict = judge(asked, [replace(one, met=frozenset(self._met[one.id])) for one in rivals])
        return verdict.entity_id

    def _judge(self, asked: Asked, rivals: Sequence[Known]) -> Verdict:
        """Judge by names alone, once for as long as the rivals are the same: in a write they only become more."""
        which = (asked.name, asked.kind)
        count, verdict = self._judged.get(which, (-1, Verdict(None)))
        if count != len(rivals):
            verdict = judge(Asked(*which), rivals)
            self._judged[which] = (len(rivals), verdict)
        return verdict

    def _learn(self, known: Known) -> None:
        self._known[known.id] = known
        label = known.kind == LABEL
        for key in (known.key, *(key_of(alias, known.kind) for alias in known.aliases)):
            self._exact.setdefault((label, key), known.id)
            if not label:
                for mark in _marks(key):
                    self._near[mark][known.id] = None

    def _neighbours(self, key: str) -> list[Known]:
        found: dict[str, None] = {}
        for mark in _marks(key):
            found |= self._near.get(mark, {})
        return [self._known[one] for one in found]


def _marks(key: str) -> Iterator[str]:
    """Yield what names that must be the same share at least one of: a word, the letters, the beginning."""
    words = words_of(key)
    yield from (word for word in words if len(word) > 1)
    yield "=" + "".join(words)
    yield "^" + key[:_HEAD]
