"""``python -m recallmesh.vectors.worker``: the process that has the shelf open and does what its parent asks."""

import argparse
import logging
import os
import select
import signal
import sys
from pathlib import Path

from recallmesh.core.errors import InternalFault, MeshError
from recallmesh.vectors.frame import HEADER, Call, Reply, frame_of, message_in
from recallmesh.vectors.shelf import Shelf, open_shelf

REST_S = 1.0
"""Seconds without a call after which the shelf may do what is due."""
CALLS_BEFORE_REST = 100
"""Under a load without a pause it may after so many calls."""
OPENED = 0
"""The number of the reply that says whether the shelf could be opened."""

logger = logging.getLogger(__name__)


def main() -> None:
    """Open the shelf, answer calls until the parent closes its end, close the shelf."""
    parser = argparse.ArgumentParser()
    parser.add_argument("path", type=Path)
    parser.add_argument("fingerprint")
    parser.add_argument("dimensions", type=int)
    parser.add_argument("index_from", type=int)
    parser.add_argument("lock_wait_s", type=float)
    given = parser.parse_args()
    # Its parent ends it by closing the pipe, after the last write: a signal to the whole group must not come before.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    answers = os.dup(1)
    os.dup2(2, 1)
    try:
        with open_shelf(
            given.path,
            fingerprint=given.fingerprint,
            dimensions=given.dimensions,
            index_from=given.index_from,
            lock_wait_s=given.lock_wait_s,
        ) as shelf:
            _write(answers, Reply(OPENED))
            _serve(shelf, answers)
    except MeshError as error:
        _write(answers, Reply(OPENED, error=type(error).__name__, message=error.message))
    except BrokenPipeError:
        # The parent is gone; the shelf is closed by now.
        sys.exit(1)


def _serve(shelf: Shelf, answers: int) -> None:
    since_rest = 0
    while True:
        ready, _, _ = select.select([0], [], [], REST_S)
        if not ready or since_rest >= CALLS_BEFORE_REST:
            _rest(shelf)
            since_rest = 0
        if not ready:
            continue
        call = _read()
        if call is None:
            return
        _write(answers, _answer(shelf, call))
        since_rest += 1


def _rest(shelf: Shelf) -> None:
    try:
        shelf.rest()
    except MeshError:
        logger.warning("flushing or building failed; it is tried again", exc_info=True)


def _answer(shelf: Shelf, call: Call) -> Reply:
    try:
        return Reply(call.number, value=getattr(shelf, call.method)(*call.arguments))
    except MeshError as error:
        logger.warning("%s failed", call.method, exc_info=True)
        return Reply(call.number, error=type(error).__name__, message=error.message)
    except (TypeError, ValueError, OverflowError):
        logger.exception("%s failed", call.method)
        return Reply(call.number, error=InternalFault.__name__, message="the vector index met a value it cannot store")


def _read() -> Call | None:
    header = _read_exactly(HEADER.size)
    if header is None:
        return None
    body = _read_exactly(HEADER.unpack(header)[0])
    if body is None:
        return None
    call: Call = message_in(body)
    return call


def _read_exactly(size: int) -> bytes | None:
    parts = bytearray()
    while len(parts) < size:
        part = os.read(0, size - len(parts))
        if not part:
            return None
        parts += part
    return bytes(parts)


def _write(answers: int, reply: Reply) -> None:
    frame = memoryview(frame_of(reply))
    while frame:
        frame = frame[os.write(answers, frame) :]


if __name__ == "__main__":
    main()
