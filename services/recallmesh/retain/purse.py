"""A purse: how many tokens one call may cost, all its questions and tries together."""

from recallmesh.core.errors import NotReady


class Purse:
    """Counts what is spent, and refuses to go on when it is empty."""

    def __init__(self, tokens: int) -> None:
        """Hold so many tokens."""
        self._tokens = tokens
        self._spent = 0

    def check(self) -> None:
        """Return if something is left.

        Raises:
            NotReady: the call has cost what it may.

        """
        if self._spent >= self._tokens:
            spent = f"the call has cost the language model {self._spent} tokens"
            raise NotReady(f"{spent}, and may cost {self._tokens} at most: send less at once")

    def spend(self, tokens: int) -> None:
        """Take out what a question has cost."""
        self._spent += tokens
