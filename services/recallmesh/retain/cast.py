"""The cast of a write: which entities its names mean, those of the bank and new ones."""

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence

from recallmesh.core.entity import LABEL, Entity
from recallmesh.core.memory import Mention
from recallmesh.core.retain import NamedEntity
from recallmesh.core.write import NewEntity
from recallmesh.retain.resolution import Known, fold, key_of, resolve, words_of

_HEAD = 4


class Cast:
    """Gives each name of a write its entity; one name, one entity, however often it comes."""

    def __init__(self, new_id: Callable[[], str], entities: Sequence[Entity]) -> None:
        """Know the bank's ``entities`` that may be meant."""
        self._new_id = new_id
        self._exact: dict[tuple[bool, str], Known] = {}
        self._near: defaultdict[str, dict[str, Known]] = defaultdict(dict)
        self._used: dict[str, NewEntity] = {}
        for one in entities:
            self._learn(Known(one.id, one.key, one.kind, one.name, one.aliases))

    @property
    def used(self) -> tuple[NewEntity, ...]:
        """The entities that were mentioned, in order of first mention."""
        return tuple(self._used.values())

    def mention(self, named: NamedEntity) -> Mention:
        """Return the mention of a name, of a new entity if it is none that is known."""
        label = named.kind == LABEL
        key = key_of(named.name, named.kind)
        name = named.name if label else " ".join(named.name.split())
        found = self._exact.get((label, key))
        if found is None and named.resolve and not label:
            found = resolve(named.name, named.kind, self._neighbours(key))
        if found is None:
            found = Known(self._new_id(), key, named.kind, name)
            self._learn(found)
        used = self._used.setdefault(found.id, NewEntity(found.id, found.name, found.key, found.kind))
        if (label, key) not in self._exact:
            # From now on this spelling is known to mean that one, to the bank too.
            self._exact[label, key] = found
            used = self._used[found.id] = NewEntity(used.id, used.name, used.key, used.kind, (*used.aliases, name))
        return Mention(found.id, found.name, found.kind, tuple(dict.fromkeys((*found.aliases, *used.aliases))))

    def _learn(self, known: Known) -> None:
        label = known.kind == LABEL
        keys = (known.key, *(key_of(alias, known.kind) for alias in known.aliases))
        for key in keys:
            self._exact.setdefault((label, key), known)
            if not label:
                for mark in _marks(key):
                    self._near[mark][known.id] = known

    def _neighbours(self, key: str) -> list[Known]:
        found: dict[str, Known] = {}
        for mark in _marks(key):
            found |= self._near.get(mark, {})
        return list(found.values())


def _marks(key: str) -> Iterator[str]:
    """Yield what names that must be the same share at least one of: a word, the letters, the beginning."""
    words = words_of(fold(key))
    yield from (word for word in words if len(word) > 1)
    yield "=" + "".join(words)
    yield "^" + key[:_HEAD]
