"""``recallmesh recall --stream``: the provisional answer at once, until the final one takes its place."""

from collections.abc import Callable, Iterator
from contextlib import aclosing, contextmanager

from rich.console import Console, Group
from rich.live import Live
from rich.text import Text

from recallmesh.cli.answer import print_answer
from recallmesh.core.errors import InternalFault
from recallmesh.core.recall import RecallAnswer, Recaller, RecallProgress, RecallRequest, RecallStage
from recallmesh.rpc.text import recall_progress_json

Show = Callable[[RecallProgress], None]


async def heard(recaller: Recaller, request: RecallRequest, screen: Console, *, as_json: bool) -> RecallAnswer:
    """Show the provisional answers as they come, and return the final one, which is the caller's to print.

    On a terminal they are gone when it comes. In a pipe each has a heading of its own, and so has the final one; as
    JSON each is a line.

    Raises:
        InternalFault: there was no final one.

    """
    async with aclosing(recaller.stream(request)) as answers:
        with _showing(screen, as_json=as_json) as show:
            async for progress in answers:
                if progress.stage is RecallStage.FINAL:
                    break
                show(progress)
            else:
                raise InternalFault("the stream ended without a final answer")
    if not as_json and not screen.is_terminal:
        screen.print("final")
    return progress.answer


@contextmanager
def _showing(screen: Console, *, as_json: bool) -> Iterator[Show]:
    if as_json:
        # At once: who reads a pipe of ours wants the first line now, not when the buffer is full.
        yield lambda progress: print(recall_progress_json(progress), flush=True)
    elif not screen.is_terminal:
        yield lambda progress: _print_section(screen, progress)
    else:
        # What is higher than the screen is cut, or it could not be wiped off again.
        with Live(console=screen, auto_refresh=False, transient=True, vertical_overflow="ellipsis") as live:
            try:
                yield lambda progress: live.update(_rendered(screen, progress), refresh=True)
            finally:
                live.update("", refresh=True)  # rich draws what it has once more at the end, and then uncut


def _print_section(screen: Console, progress: RecallProgress) -> None:
    screen.print("provisional")
    print_answer(screen, progress.answer)
    screen.print()
    screen.file.flush()


def _rendered(screen: Console, progress: RecallProgress) -> Group:
    with screen.capture() as capture:
        print_answer(screen, progress.answer)
    return Group(Text("provisional: not yet reranked", style="yellow"), Text.from_ansi(capture.get()))
