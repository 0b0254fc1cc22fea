"""Which languages' tables to try on a text."""

import re
from collections.abc import Sequence

from recallmesh.when.grammar import Grammar

WORD = re.compile(r"[^\W\d_]+")
SAMPLE = 2_000
"""Characters that are looked at: enough to know a language by."""


def likely(text: str, grammars: Sequence[Grammar]) -> list[Grammar]:
    """Return the grammars to try: those whose script the text has, and of the rest the first and the best by words."""
    sample = text[:SAMPLE].casefold()
    words = WORD.findall(sample)
    scores = {
        grammar.language: sum(word in grammar.function_words for word in words)
        for grammar in grammars
        if grammar.spaced
    }
    best = max(scores.values(), default=0)
    chosen = [grammar for grammar in grammars if grammar.spaced and scores[grammar.language] == best]
    if grammars and grammars[0] not in chosen:
        chosen.append(grammars[0])
    scripts = [grammar for grammar in grammars if not grammar.spaced and any(map(grammar.has_script, sample))]
    return scripts + chosen
