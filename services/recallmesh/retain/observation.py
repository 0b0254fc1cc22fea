"""Observations as a port: what writes one text of the facts that support it; by itself the choice of the best fact."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Protocol

from recallmesh.core.memory import FactType, Memory
from recallmesh.retain.gist import Gist, gist_of

EARLIER = "Earlier: "
"""What comes before the fact that a newer one denies."""


@dataclass(frozen=True, slots=True)
class Draft:
    """An observation's text, and whose it is: the facts that it rests on, of which ``main`` gives time and names.

    ``kept`` are the facts that support it; a writer may find that some do not belong.
    """

    text: str
    main: str
    told: frozenset[str]
    kept: tuple[str, ...]


class ObservationWriter(Protocol):
    """Writes observations, off the event loop."""

    @property
    def by_meaning(self) -> bool:
        """Tell whether it judges itself which of the facts that are near each other belong together.

        Then it is given all that are; else only those whose words say the same.
        """
        ...

    async def write(self, facts: Sequence[Memory]) -> Draft | None:
        """Return the observation of facts, two or more, which are given by id; ``None``: they are no one thing.

        Raises:
            StoreUnavailable: a model behind it does not answer; nothing may be stored.

        """
        ...


class BestFact:
    """Writes the best of the facts, word for word: no model, no word that nobody said.

    That is the one that says most of what all say; then the most central, the newest, the lowest id. Where the newest
    denies others it is the best of those that say so, with the best of the others after it, both with their days.
    """

    @property
    def by_meaning(self) -> bool:
        """It compares words."""
        return False

    async def write(self, facts: Sequence[Memory]) -> Draft | None:
        """Return the observation of facts that say the same or deny each other."""
        return best_of(facts)


def best_of(facts: Sequence[Memory]) -> Draft:
    """Return the observation of facts."""
    gists = {fact.id: gist_of(fact) for fact in facts}
    kept = tuple(sorted(gists))
    newest = max(facts, key=lambda fact: (_said(fact), fact.id))
    sides = {denied: [fact for fact in facts if gists[fact.id].denied is denied] for denied in (True, False)}
    now = sides[gists[newest.id].denied]
    main = _best(now, gists)
    before = [fact for fact in sides[not gists[newest.id].denied] if _said(fact) < _said(newest)]
    if not before:
        return Draft(main.text, main.id, frozenset({main.id}), kept)
    old = _best(before, gists)
    text = f"{_dated(main, newest)} {EARLIER}{_dated(old, old)}"
    return Draft(text, main.id, frozenset({main.id, newest.id, old.id}), kept)


def observation_of(held: Memory, draft: Draft, facts: Mapping[str, Memory], tags: Sequence[str], tokens: int) -> Memory:
    """Return an observation with a draft's text; ``held`` gives id, version and time of making."""
    main = facts[draft.main]
    mentions = {mention.entity_id: mention for one in sorted(draft.told) for mention in facts[one].mentions}
    said = [facts[one].mentioned for one in draft.kept]
    return replace(
        held,
        text=draft.text,
        fact_type=FactType.OBSERVATION,
        occurred=main.occurred,
        mentioned=max((moment for moment in said if moment is not None), default=None),
        context=main.context,
        tags=tuple(tags),
        mentions=tuple({one.entity_id: one for one in (*main.mentions, *mentions.values())}.values()),
        sources=draft.kept,
        tokens=tokens,
    )


def _best(facts: Sequence[Memory], gists: Mapping[str, Gist]) -> Memory:
    said = Counter(stem for fact in facts for stem in set(gists[fact.id].stems))

    def worth(fact: Memory) -> tuple[int, float, datetime, str]:
        stems = set(gists[fact.id].stems)
        covered = sum(said[stem] for stem in stems)
        # Of two that say as much the one is more central that says less beside.
        return covered, covered / max(1, len(stems)), _said(fact), fact.id

    return max(facts, key=worth)


def _said(fact: Memory) -> datetime:
    """Return when a fact was so, as far as is known: what is newer replaces what is older."""
    time = fact.time
    return fact.created if time is None else time.start.astimezone(UTC)


def _dated(fact: Memory, day_of: Memory) -> str:
    time = day_of.time
    return fact.text if time is None else f"{fact.text} ({time.start:%Y-%m-%d})"
