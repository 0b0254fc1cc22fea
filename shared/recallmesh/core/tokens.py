"""Counting tokens: what budgets, chunks and packs are measured in."""

from typing import Protocol


class TokenCounter(Protocol):
    """Counts and cuts by tokens. Pure computing: call it off the event loop for long texts."""

    def count(self, text: str) -> int:
        """Return the number of tokens of a text; what looks like a special token is ordinary text."""
        ...

    def truncate(self, text: str, limit: int) -> str:
        """Return the longest beginning of at most ``limit`` tokens, cut between characters."""
        ...
