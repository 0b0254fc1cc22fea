"""Which languages' tables to try on a text."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from recallmesh.when.chinese import CHINESE
from recallmesh.when.dutch import DUTCH
from recallmesh.when.english import ENGLISH
from recallmesh.when.french import FRENCH
from recallmesh.when.german import GERMAN
from recallmesh.when.grammar import Grammar
from recallmesh.when.italian import ITALIAN
from recallmesh.when.japanese import JAPANESE
from recallmesh.when.korean import KOREAN
from recallmesh.when.portuguese import PORTUGUESE
from recallmesh.when.spanish import SPANISH

ALL = (ENGLISH, GERMAN, FRENCH, SPANISH, ITALIAN, PORTUGUESE, DUTCH, KOREAN, JAPANESE, CHINESE)
"""Every language that is read, English first."""
WORD = re.compile(r"[^\W\d_]+")
KANA = re.compile(r"[ぁ-ゖァ-ヺ]")
HAN = re.compile(r"[一-鿿]")
KANA_SHARE = 0.1
"""Of the Han and kana of a text, how much kana makes it Japanese: Chinese has it only in names."""
CHINESE_WORDS = re.compile(r"[的了吗嗎这這们們是我你他她说說没沒吧呢么麼]")
"""Characters of Chinese grammar: Han text that has one is not Japanese."""
SHORT = 200
"""Characters up to which a text may lack a language's small words, as "ayer" does, and still be of it."""
MOST = 2
"""Languages that a longer text may be of: which one shows in its words, but where a text was made to have none."""
SAMPLE = 2_000
"""Characters that are looked at: enough to know a language by."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A language to try: whether the text is more of it than of English, and than of any other."""

    grammar: Grammar
    over_english: bool = True
    over_all: bool = True


def likely(text: str, grammars: Sequence[Grammar]) -> list[Candidate]:
    """Return the languages to try: those whose script the text has, and of the rest the best and the first.

    The best have the most small words and letters of their own in the text. A short text that has none may be of any
    of them: "ayer". What it names is then taken from the one that explains most of it.
    """
    sample = text[:SAMPLE].casefold()
    words = WORD.findall(sample)
    scores = {grammar.language: _score(grammar, words, sample) for grammar in grammars if grammar.spaced}
    best = max(scores.values(), default=0)
    scripts = [Candidate(grammar) for grammar in _by_script(sample, grammars)]
    first = grammars[0] if grammars and grammars[0].spaced else None
    chosen = [grammar for grammar in grammars if grammar.spaced and scores[grammar.language] == best]
    if best == 0 and (scripts or len(text) > SHORT):
        chosen = []
    if len(text) > SHORT:
        chosen = chosen[:MOST]
    alone = best > 0 and len(chosen) == 1
    if first is not None and first not in chosen:
        chosen.append(first)
    least = scores[first.language] if first is not None else 0
    return scripts + [Candidate(one, over_english=scores[one.language] > least, over_all=alone) for one in chosen]


def _score(grammar: Grammar, words: list[str], sample: str) -> int:
    score = sum(word in grammar.function_words for word in words)
    if sample.isascii() or grammar.letters.isdisjoint(sample):
        return score
    return score + sum(not grammar.letters.isdisjoint(word) for word in words if not word.isascii())


def _by_script(sample: str, grammars: Sequence[Grammar]) -> list[Grammar]:
    """Return those of the text's script; of Japanese and Chinese, which share Han, one where kana tells."""
    if sample.isascii():
        return []
    kana, han = len(KANA.findall(sample)), len(HAN.findall(sample))
    japanese = kana > 0 and kana >= KANA_SHARE * (kana + han)
    found = [grammar for grammar in grammars if not grammar.spaced and grammar.script_pattern.search(sample)]
    if japanese:
        return [grammar for grammar in found if grammar.language != "zh"]
    if CHINESE_WORDS.search(sample):
        return [grammar for grammar in found if grammar.language != "ja"]
    return sorted(found, key=lambda grammar: grammar.language == "ja")  # Han alone is Chinese first
