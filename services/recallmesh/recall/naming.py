"""Naming: which memories mention somebody or something that the query names."""

import re
from collections.abc import Iterable, Sequence

from recallmesh.core.entity import LABEL, PERSON
from recallmesh.core.memory import Memory, Mention
from recallmesh.core.name import Wording, folded

GIVEN_NAME = 3
"""The letters that one word of a person's name needs to stand for the whole."""
AUXILIARIES = frozenset({"will", "may", "can", "do", "must", "might"})
"""Words that are names only when written as names, and not where a question begins with them."""
_WORD = re.compile(r"\w+")


def unnamed(query: str, memories: Sequence[Memory]) -> frozenset[str]:
    """Return the ids of the memories that mention none of the entities that the query names.

    Only what one of the memories mentions can be recognised as a name; where nothing is, none is returned.
    """
    known = {mention.entity_id: mention for memory in memories for mention in memory.mentions}
    words = _Query(query)
    named = {entity_id for entity_id, mention in known.items() if words.name(mention)}
    if not named:
        return frozenset()
    return frozenset(
        memory.id for memory in memories if not any(mention.entity_id in named for mention in memory.mentions)
    )


class _Query:
    """A query's words, for looking names up in."""

    def __init__(self, query: str) -> None:
        self._wording = Wording(query)
        self._capital = {folded(word) for word in _WORD.findall(query)[1:] if word[0].isupper()}

    def name(self, mention: Mention) -> bool:
        """Tell whether the query holds the name, an alias or a person's given or last name as whole words."""
        return mention.kind != LABEL and any(self._holds(folded(name)) for name in _names(mention))

    def _holds(self, words: str) -> bool:
        return words in self._capital if words in AUXILIARIES else self._wording.holds(words)


def _names(mention: Mention) -> Iterable[str]:
    yield mention.name
    yield from mention.aliases
    words = mention.name.split()
    if mention.kind == PERSON and len(words) > 1:
        yield from (word for word in (words[0], words[-1]) if len(word) >= GIVEN_NAME)
