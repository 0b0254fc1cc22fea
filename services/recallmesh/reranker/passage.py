"""Cutting a text that is too long for the model into passages that overlap."""

from typing import TYPE_CHECKING

from recallmesh.onnx.row import Row
from recallmesh.onnx.text import well_formed

if TYPE_CHECKING:
    from tokenizers import Encoding, Tokenizer

OVERLAP = 4
"""Neighbouring passages share one part in so many: a sentence on the border is whole in one of them."""


class Pairing:
    """Pairs one query with texts; a query takes at most half of the window, its middle left out if it is longer."""

    def __init__(self, tokenizer: "Tokenizer", query: str, *, window: int, passage: int) -> None:
        """Tokenise the query once."""
        self._tokenizer = tokenizer
        self._query = _shortened(tokenizer, query, window // 2)
        room = window - len(self._query) - tokenizer.num_special_tokens_to_add(is_pair=True)
        self._size = min(room, passage)

    def pairs(self, text: str) -> tuple[Row, ...]:
        """Return a text's passages with the query: one if it fits, else several that cover all of it."""
        whole = self._tokenizer.encode(well_formed(text), add_special_tokens=False)
        if len(whole) > self._size:
            whole.truncate(self._size, stride=self._size // OVERLAP)
        return tuple(self._pair(passage) for passage in (whole, *whole.overflowing))

    def _pair(self, passage: "Encoding") -> Row:
        both = self._tokenizer.post_process(self._query, passage)
        return Row(both.ids, both.type_ids)


def _shortened(tokenizer: "Tokenizer", query: str, most: int) -> "Encoding":
    text = well_formed(query)
    tokens = tokenizer.encode(text, add_special_tokens=False)
    while len(tokens) > most:
        # What is asked stands at the beginning or at the end. Joined anew, the halves may be a token longer: again.
        head, tail = tokens.offsets[most // 2 - 1][1], tokens.offsets[-(most // 2) + 1][0]
        text = f"{text[:head]} {text[tail:]}"
        most -= 1
        tokens = tokenizer.encode(text, add_special_tokens=False)
    return tokens
