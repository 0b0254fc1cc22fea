"""From the words on the command line to the command, and from its errors to an exit code."""

import asyncio
import importlib
import os
import sys
from collections.abc import Sequence

from recallmesh.cli.parser import build_parser
from recallmesh.core.errors import InvalidArgument, MeshError

FAILED = 1
USAGE = 2
INTERRUPTED = 130


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; returns the exit code: 0 done, 1 failed, 2 usage."""
    words = build_parser().parse_args(arguments)
    # Each command's module brings its clients; loading only the one that runs keeps `--help` and completion instant.
    command = importlib.import_module(f"recallmesh.cli.{words.module}")
    try:
        return int(asyncio.run(command.run(words)))
    except InvalidArgument as error:
        print(f"recallmesh: {error.message}", file=sys.stderr)
        return USAGE
    except MeshError as error:
        print(f"recallmesh: {error.message}{_advice(error)}", file=sys.stderr)
        return FAILED
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        # The reader (head, less) has seen enough: no error, and nothing more to flush.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0


ADVICE = {
    "BANK_NOT_FOUND": "make it with: recallmesh bank create NAME, or see: recallmesh bank list",
    "STORE_UNAVAILABLE": "is the mesh running, and is --server (RECALLMESH_SERVER) its address?",
    "RECALL_UNAVAILABLE": "no arm answered; ask with --trace on the server's log for the reason of each",
    "EMBEDDING_MISMATCH": "set the embedder back, or choose another --data folder and retain again",
}


def _advice(error: MeshError) -> str:
    advice = ADVICE.get(error.reason)
    request_id = error.metadata.get("request_id")
    return "".join(
        (
            f"\n  {advice}" if advice else "",
            f"\n  request id {request_id}, as in the server's log" if request_id else "",
        )
    )
