"""The latest answers of something costly: what is known is not computed again, nor what is being computed."""

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Hashable, Mapping, Sequence
from typing import Generic, Protocol, TypeVar

from recallmesh.core.deadline import remaining
from recallmesh.core.errors import ArmTimeout

K = TypeVar("K", bound=Hashable)
Q = TypeVar("Q")
V = TypeVar("V")


class MemoryWatch(Protocol):
    """Is told what was asked of a memory."""

    def asked(self, known: int, computed: int, /) -> None:
        """Take note of how many answers were known, or came from a call that was at it already, and how many not."""
        ...


class Unwatched:
    """Takes note of nothing."""

    def asked(self, _known: int, _computed: int, /) -> None:
        """Do nothing."""


UNWATCHED = Unwatched()


class Remembered(Generic[K, V]):
    """Up to ``size`` answers by their keys; the one used longest ago is forgotten first.

    Of calls that ask the same at once one computes, and the others wait for it. Should that one fail, be cancelled or
    run out of time, they compute by themselves: nobody suffers for another's end. All is touched on the event loop
    only, hence no locks.
    """

    def __init__(self, size: int, *, watch: MemoryWatch = UNWATCHED) -> None:
        """Begin with nothing."""
        self._size = size
        self._watch = watch
        self._held: OrderedDict[K, V] = OrderedDict()
        self._coming: dict[K, asyncio.Future[V]] = {}

    async def answers(
        self, questions: Mapping[K, Q], compute: Callable[[tuple[Q, ...]], Awaitable[Sequence[V]]]
    ) -> dict[K, V]:
        """Return the answer to each; ``compute`` gives those of some, in order.

        Raises:
            ArmTimeout: the deadline of the call in hand passed while another call was computing.

        """
        # What is known is kept aside: another call may push it out while the new ones are computed.
        found = {key: self._held[key] for key in questions if key in self._held}
        self._keep(found)
        coming = {key: self._coming[key] for key in questions if key not in found and key in self._coming}
        new = {key: question for key, question in questions.items() if key not in found and key not in coming}
        self._watch.asked(len(found) + len(coming), len(new))
        if new:
            found.update(await self._computed(new, compute))
        lost = {}
        for key, answer in coming.items():
            await _over(answer)
            if answer.cancelled():
                lost[key] = questions[key]
            else:
                found[key] = answer.result()
        if lost:
            found.update(await self.answers(lost, compute))
        return found

    async def _computed(
        self, new: Mapping[K, Q], compute: Callable[[tuple[Q, ...]], Awaitable[Sequence[V]]]
    ) -> dict[K, V]:
        loop = asyncio.get_running_loop()
        promised = {key: loop.create_future() for key in new}
        self._coming.update(promised)
        try:
            answers = dict(zip(new, await compute(tuple(new.values())), strict=True))
            self._keep(answers)
            for key, answer in answers.items():
                promised[key].set_result(answer)
        finally:
            for key, promise in promised.items():
                del self._coming[key]
                promise.cancel()  # of those that have their answer nothing is changed by it
        return answers

    def _keep(self, found: Mapping[K, V]) -> None:
        for key, answer in found.items():
            self._held[key] = answer
            self._held.move_to_end(key)
        while len(self._held) > self._size:
            self._held.popitem(last=False)


async def _over(answer: "asyncio.Future[V]") -> None:
    """Wait until another call has an answer or has given it up."""
    if not answer.done() and not (await asyncio.wait({answer}, timeout=remaining()))[0]:
        raise ArmTimeout("another call was asked the same, and was not done in time")
