"""Clustering: where a new fact belongs among what its scope holds; nothing but values."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from recallmesh.core.consolidation import HeldObservation
from recallmesh.core.memory import Memory
from recallmesh.core.scope import Scope
from recallmesh.retain.likeness import Known
from recallmesh.retain.observation import best_of

MOST = 150
"""The most facts of an observation: by then it is as well proven as it can be (SPEC R14). More say nothing new."""

Alike = Callable[[Known, Known], bool]
"""Whether two facts may be in one observation."""


@dataclass(slots=True)
class Cluster:
    """Facts that become, or are, one observation.

    ``key`` names its scope, whose ``tags`` it carries. ``told`` are the facts that its text rests on: what joins must
    be like each of them. ``held`` is the observation as it is, absent for a new one; ``merged`` those that this one
    takes the place of.
    """

    key: str
    tags: tuple[str, ...]
    members: dict[str, None] = field(default_factory=dict)
    told: frozenset[str] = frozenset()
    held: HeldObservation | None = None
    merged: list[HeldObservation] = field(default_factory=list)
    changed: bool = False
    gone: bool = False


class Clusters:
    """The observations near a batch of facts, as they are and as each fact in its turn changes them."""

    def __init__(
        self,
        held: Iterable[HeldObservation],
        scopes: Mapping[str, Scope],
        facts: Mapping[str, Known],
        belongs: Callable[[Memory, Scope], bool],
        fits: Callable[[Iterable[bool]], bool] = all,
    ) -> None:
        """Begin with observations of the scopes (by key).

        ``facts`` are all facts that may be asked for, ``belongs`` tells whether one is in a scope. ``fits`` is ``all``
        if what joins must be like all that an observation rests on, ``any`` if its writer judges that.
        """
        self._enough = fits
        self._facts = facts
        self._belongs = belongs
        self.all: list[Cluster] = []
        self._of: dict[tuple[str, str], Cluster] = {}
        self._by_id: dict[str, Cluster] = {}
        for one in sorted(held, key=lambda one: (one.memory.created, one.memory.id)):
            if one.scope not in scopes:
                continue
            told = frozenset(fact for fact, is_told in one.evidence.items() if is_told)
            cluster = Cluster(one.scope, scopes[one.scope].tags, dict.fromkeys(one.evidence), told, one)
            self._add(cluster)
            self._by_id[one.memory.id] = cluster

    def place(self, fact: Known, scope: Scope, near: Sequence[str], alike: Alike) -> None:
        """Let a fact join the observation that says what it says, or make one with the free facts that do.

        Where several say it, they become one: the oldest. A fact that has its place stays there.
        """
        own = fact.memory.id
        if (scope.key, own) in self._of:
            return
        found: dict[int, Cluster] = {}
        free: list[Memory] = []
        for memory_id in near:
            cluster = self._by_id.get(memory_id) or self._of.get((scope.key, memory_id))
            if cluster is not None:
                if cluster.key == scope.key and not cluster.gone:
                    found[id(cluster)] = cluster
            elif self._is_free(memory_id, scope) and alike(fact, self._facts[memory_id]):
                free.append(self._facts[memory_id].memory)
        fitting = [one for one in found.values() if self._fits(fact, one, alike)]
        if fitting:
            self._join(fact, fitting, free, alike)
        elif free:
            self._make(fact, scope, free, alike)

    def _add(self, cluster: Cluster) -> None:
        self.all.append(cluster)
        for member in cluster.members:
            self._of[cluster.key, member] = cluster

    def _is_free(self, memory_id: str, scope: Scope) -> bool:
        """Tell whether a memory is a fact of the scope as the ledger knows it, that no observation has."""
        fact = self._facts.get(memory_id)
        return fact is not None and self._belongs(fact.memory, scope)

    def _fits(self, fact: Known, cluster: Cluster, alike: Alike) -> bool:
        told = [self._facts[one] for one in cluster.told if one in self._facts]
        return bool(told) and self._enough(alike(fact, one) for one in told)

    def _join(self, fact: Known, fitting: Sequence[Cluster], free: Iterable[Memory], alike: Alike) -> None:
        target = min(fitting, key=self.all.index)
        for other in fitting:
            if other is not target and all(self._fits(self._facts[one], target, alike) for one in other.told):
                self._merge(other, target)
        room = MOST - len(target.members)
        for memory_id in (fact.memory.id, *(one.id for one in free if self._fits(self._facts[one.id], target, alike))):
            if room > 0:
                target.members[memory_id] = None
                target.changed = True
                self._of[target.key, memory_id] = target
                room -= 1

    def _merge(self, other: Cluster, target: Cluster) -> None:
        if len(other.members) + len(target.members) > MOST:
            return
        other.gone = True
        target.merged += [*([other.held] if other.held else []), *other.merged]
        target.changed = True
        for member in other.members:
            target.members[member] = None
            self._of[target.key, member] = target

    def _make(self, fact: Known, scope: Scope, free: Sequence[Memory], alike: Alike) -> None:
        # The best of them must say what each says: of two that add different things to a third, one stays out.
        best = self._facts[best_of((fact.memory, *free)).main]
        own = best.memory.id
        members = [one.id for one in (fact.memory, *free) if one.id == own or alike(self._facts[one.id], best)]
        made = dict.fromkeys(sorted(members[:MOST]))
        self._add(Cluster(scope.key, scope.tags, made, frozenset({own}), changed=True))
