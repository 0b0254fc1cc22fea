"""Naming: which memories mention somebody or something that the query names."""

import re
import unicodedata
from collections.abc import Iterable, Sequence

from recallmesh.core.entity import LABEL, PERSON
from recallmesh.core.memory import Memory, Mention

GIVEN_NAME = 3
"""The letters that one word of a person's name needs to stand for the whole."""
AUXILIARIES = frozenset({"will", "may", "can", "do", "must", "might"})
"""Words that are names only when written as names, and not where a question begins with them."""
_WORD = re.compile(r"\w+")
_UNSPACED = re.compile(r"[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uac00-\ud7af]")


def unnamed(query: str, memories: Sequence[Memory]) -> frozenset[str]:
    """Return the ids of the memories that mention none of the entities that the query names.

    Only what one of the memories mentions can be recognised as a name; where nothing is, none is returned.
    """
    known = {mention.entity_id: mention for memory in memories for mention in memory.mentions}
    words = _Words(query)
    named = {entity_id for entity_id, mention in known.items() if words.name(mention)}
    if not named:
        return frozenset()
    return frozenset(
        memory.id for memory in memories if not any(mention.entity_id in named for mention in memory.mentions)
    )


class _Words:
    """A query's words, folded, for looking names up in."""

    def __init__(self, query: str) -> None:
        written = _WORD.findall(query)
        self._text = _spaced(query)
        self._capital = {_folded(word) for word in written[1:] if word[0].isupper()}

    def name(self, mention: Mention) -> bool:
        """Tell whether the query holds the name, an alias or a person's given or last name as whole words."""
        return mention.kind != LABEL and any(self._holds(name) for name in _names(mention))

    def _holds(self, name: str) -> bool:
        spaced = _spaced(name)
        bare = spaced.strip()
        if bare in AUXILIARIES:
            return bare in self._capital
        # Where words are not spaced, whole words cannot be told.
        return bool(bare) and (spaced in self._text or (bare in self._text and _UNSPACED.search(bare) is not None))


def _names(mention: Mention) -> Iterable[str]:
    yield mention.name
    yield from mention.aliases
    words = mention.name.split()
    if mention.kind == PERSON and len(words) > 1:
        yield from (word for word in (words[0], words[-1]) if len(word) >= GIVEN_NAME)


def _spaced(text: str) -> str:
    return f" {' '.join(_WORD.findall(_folded(text)))} "


def _folded(text: str) -> str:
    if text.isascii():
        return text.lower()
    wide = unicodedata.normalize("NFKD", text.casefold())
    return unicodedata.normalize("NFC", "".join(char for char in wide if not unicodedata.combining(char)))
