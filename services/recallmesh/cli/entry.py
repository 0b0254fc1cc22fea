"""From the words on the command line to the command, and from its errors to an exit code."""

import asyncio
import importlib
import io
import os
import sys
from collections.abc import Sequence

from recallmesh.cli.advice import lines_of
from recallmesh.cli.parser import build_parser
from recallmesh.core.errors import InvalidArgument, MeshError

FAILED = 1
USAGE = 2
INTERRUPTED = 130
"""128 + SIGINT, as shells have it."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; returns the exit code: 0 done, 1 failed, 2 usage, 130 interrupted."""
    _never_fail_to_write()
    given = sys.argv[1:] if arguments is None else list(arguments)
    parser = build_parser()
    if not given:
        parser.print_help(sys.stderr)
        return USAGE
    words = parser.parse_args(given)
    try:
        # Each command's module brings its clients; loading only the one that runs keeps `--help` instant.
        command = importlib.import_module(f"recallmesh.cli.{words.module}")
        code = int(asyncio.run(command.run(words)))
        sys.stdout.flush()
    except MeshError as error:
        print("\n".join(lines_of(error, words)), file=sys.stderr)
        return USAGE if isinstance(error, InvalidArgument) else FAILED
    except KeyboardInterrupt:
        print("recallmesh: interrupted", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:
        # The reader (head, less) has seen enough: no error, and nothing more to flush.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    else:
        return code


def _never_fail_to_write() -> None:
    """Write what the terminal's encoding lacks as an escape instead of failing half way."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
