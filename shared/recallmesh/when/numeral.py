"""Numbers written in Han characters, as Chinese and Japanese write them."""

DIGITS = {character: number for number, character in enumerate("零一二三四五六七八九")} | {
    "〇": 0,
    "○": 0,
    "两": 2,
    "兩": 2,
}
SCALES = {"十": 10, "百": 100, "千": 1000}
HAN = "零〇○一二两兩三四五六七八九十百千"
"""The characters that a number may have."""


def read_han(text: str) -> int:
    """Return the number: by its scales (二十三) or, without any, digit by digit (二〇二四).

    Raises:
        ValueError: a character is no number's.

    """
    if not set(text) <= set(HAN):
        msg = f"not a number: {text!r}"
        raise ValueError(msg)
    if not set(text) & set(SCALES):
        return int("".join(str(DIGITS[character]) for character in text))
    total = digit = 0
    for character in text:
        if character in SCALES:
            total += (digit or 1) * SCALES[character]
            digit = 0
        else:
            digit = DIGITS[character]
    return total + digit
