"""What a graph reads."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Row:
    """One text, or one pair of texts: its tokens, and of which of the two each is."""

    ids: list[int]
    type_ids: list[int]
