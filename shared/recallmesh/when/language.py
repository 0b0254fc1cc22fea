"""Which languages' tables to try on a text."""

import re
from collections.abc import Sequence

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
SAMPLE = 2_000
"""Characters that are looked at: enough to know a language by."""


def likely(text: str, grammars: Sequence[Grammar]) -> list[Grammar]:
    """Return the grammars to try: those whose script the text has, and of the rest the best by words and the first."""
    sample = text[:SAMPLE].casefold()
    words = WORD.findall(sample)
    scores = {
        grammar.language: sum(word in grammar.function_words for word in words)
        for grammar in grammars
        if grammar.spaced
    }
    best = max(scores.values(), default=0)
    scripts = _by_script(sample, grammars)
    if best == 0 and (scripts or len(text) > SHORT):
        return scripts + [grammar for grammar in grammars[:1] if grammar.spaced]
    chosen = [grammar for grammar in grammars if grammar.spaced and scores[grammar.language] == best]
    if grammars and grammars[0].spaced and grammars[0] not in chosen:
        chosen.append(grammars[0])
    return scripts + chosen


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
