"""Characters: what is one letter under two spellings, and which scripts write without spaces."""

import re
import unicodedata

SPACELESS = (
    "\u0e00-\u0e3e\u0e40-\u0e4e\u0e80-\u0eff\u1000-\u1049\u1050-\u109f\u1780-\u17d3\u17d7\u17dc-\u17ff"
    "\u3005-\u3007\u3040-\u30fa\u30fc-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff"
)
"""Thai, Lao, Burmese, Khmer, kana and Han: no spaces between words, so words are found by pairs of characters."""
HANGUL = "\uac00-\ud7a3"
"""Spaces, but particles grow on the nouns: 끝말잇기를 must be found by 끝말잇기."""
ASTRAL_HAN = "\U00020000-\U0003134f"
PAIRED = f"{SPACELESS}{HANGUL}{ASTRAL_HAN}"
MARKS = "\u0300-\u036f\u0900-\u0963\u0966-\u0dff\u0f00-\u0f0a\u0f18-\u0fbc\u200c\u200d"
"""Vowel signs and joiners that Python's ``\\w`` does not count as letters; the dandas, full stops, are left out."""
FLAGS = "\U0001f1e6-\U0001f1ff"
"""Letters that make a flag in pairs."""
PICTURES = "\u2300-\u23ff\u2600-\u27bf\u2b00-\u2bff\U0001f000-\U0001f1e5\U0001f200-\U0001faff"
"""Emoji and other pictures: each a word of its own."""

_DIGIT_ZEROS = (
    "\u0660\u06f0\u07c0\u0966\u09e6\u0a66\u0ae6\u0b66\u0be6\u0c66\u0ce6\u0d66\u0e50\u0ed0\u0f20\u1040\u17e0\u1810"
)
"""Zeros of other scripts; their nine follow them."""
_KATAKANA = range(0x30A1, 0x30F7)
_TO_HIRAGANA = -0x60
_SKIN_TONES = range(0x1F3FB, 0x1F400)
_SIGNS = str.maketrans(
    {
        "\u2010": "-",
        "\u2011": "-",
        "\u2012": "-",
        "\u2013": "-",
        "\u2212": "-",
        "\u2018": "'",
        "\u2019": "'",
        "\u02bc": "'",
        "\u06cc": "\u064a",
        "\u0649": "\u064a",
        "\u06a9": "\u0643",
    }
    | {ord(zero) + value: str(value) for zero in _DIGIT_ZEROS for value in range(10)}
    | {code: code + _TO_HIRAGANA for code in _KATAKANA}
    | dict.fromkeys([0x00AD, 0x0640, 0x200B, 0x2060, 0xFEFF, 0xFE0E, 0xFE0F, *_SKIN_TONES])
    | dict.fromkeys(range(0x0591, 0x05C8))
    | dict.fromkeys(range(0x064B, 0x0660))
)
"""Dashes, apostrophes, digits, both kana and the Persian letters made one; invisible signs, skin tones and vowel points
of Hebrew and Arabic left out."""

_ACCENTED_BELOW = "\u0400"
"""Marks are taken off Latin and Greek letters only: elsewhere they are vowels."""
_TWICE_MARKED = range(0x1E00, 0x2000)
"""Latin letters with two marks, as in Vietnamese, and polytonic Greek."""
_MARK = re.compile("[\u0300-\u036f]+")
_SOLID = str.maketrans(
    {"ø": "o", "đ": "d", "ð": "d", "ł": "l", "ħ": "h", "ı": "i", "ə": "e", "æ": "ae", "œ": "oe", "þ": "th", "ё": "е"}
)
"""Letters that no decomposition opens."""
_SPELLED_OUT = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue", "å": "aa", "ø": "oe"})


def plain(text: str) -> str:
    """Return the text with compatibility forms made one; case and accents are kept."""
    return text if text.isascii() else unicodedata.normalize("NFKC", text).translate(_SIGNS)


def unaccented(word: str) -> str:
    """Return a lower-case word without its accents."""
    if word.isascii():
        return word
    opened = "".join(
        unicodedata.normalize("NFD", letter)
        if "\u00c0" <= letter < _ACCENTED_BELOW or ord(letter) in _TWICE_MARKED
        else letter
        for letter in word.translate(_SOLID)
    )
    return unicodedata.normalize("NFC", _MARK.sub("", opened))


def spelled_out(word: str) -> str:
    """Return a lower-case word with its umlauts written as two letters, as where a keyboard has none: zuerich."""
    return unaccented(word.translate(_SPELLED_OUT))


def fold(text: str) -> str:
    """Return the text as it is compared: compatibility forms, case and accents made one."""
    return unaccented(lowered(plain(text)))


def lowered(word: str) -> str:
    """Return a plain word without its case."""
    return word.lower() if word.isascii() else unicodedata.normalize("NFC", word.casefold())
