"""Names in texts: whether a text says a name, in whole words, whatever their case and accents."""

import re
import unicodedata

_WORD = re.compile(r"\w+")
_UNSPACED = re.compile(r"[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uac00-\ud7af]")


class Wording:
    """A text's words, folded, for looking names up in."""

    def __init__(self, text: str) -> None:
        """Fold the text once, for however many names."""
        self._words = f" {folded(text)} "

    def says(self, name: str) -> bool:
        """Tell whether the text says the name; never of one without a letter or digit."""
        return self.holds(folded(name))

    def holds(self, words: str) -> bool:
        """Tell whether the text says a name that is folded already."""
        if not words:
            return False
        # Where words are not spaced, whole words cannot be told.
        return f" {words} " in self._words or (_UNSPACED.search(words) is not None and words in self._words)


def folded(text: str) -> str:
    """Return a text's words without case, accents and what stands between them."""
    if text.isascii():
        plain = text.lower()
    else:
        wide = unicodedata.normalize("NFKD", text.casefold())
        plain = unicodedata.normalize("NFC", "".join(char for char in wide if not unicodedata.combining(char)))
    return " ".join(_WORD.findall(plain))
