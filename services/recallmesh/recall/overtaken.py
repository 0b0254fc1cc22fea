"""Memories that were deleted between the arms' answers and the ledger's: what took their place was not searched for.

A document's new version is found before its old one goes (docs/architecture.md), yet a recall that asked the arms
before that and reads the ledger after it would have neither. So it asks the arms again, once.
"""

from collections.abc import Mapping
from itertools import islice

from recallmesh.core.recall import Outcome

KNOWN = 10_000
"""How many ids are remembered that the ledger did not have, about 0.1 KB each; beyond that the oldest are forgotten."""


class Overtaken(Exception):
    """The arms have to be asked again; never leaves the orchestrator."""


class Vanished:
    """The ids that arms proposed and that the ledger did not have.

    An index that lost a removal proposes the same ones with every call: what was seen missing before is no news.
    """

    def __init__(self, known: int = KNOWN) -> None:
        """Remember so many."""
        self._known = known
        self._seen: dict[str, None] = {}

    def is_news(self, refused: Mapping[str, Outcome]) -> bool:
        """Tell whether ids are missing that were not before, and remember them."""
        fresh = [one for one, why in refused.items() if why is Outcome.MISSING and one not in self._seen]
        self._seen.update(dict.fromkeys(fresh))
        for oldest in tuple(islice(self._seen, max(0, len(self._seen) - self._known))):
            del self._seen[oldest]
        return bool(fresh)
