"""Which texts show nothing to a reader."""

import unicodedata

CATEGORIES = frozenset({"Cc", "Cf", "Zs", "Zl", "Zp"})
"""Controls, formats (zero-width characters are among them) and separators."""
LETTERS = frozenset("\u034f\u115f\u1160\u3164\uffa0\u2800\ufe0e\ufe0f")
"""Fillers and selectors that Unicode counts as letters, marks or symbols and that show nothing by themselves."""


def is_blank(text: str) -> bool:
    """Tell whether a text shows nothing: only spaces, controls, fillers and zero-width characters."""
    return all(unicodedata.category(char) in CATEGORIES or char in LETTERS for char in text)
