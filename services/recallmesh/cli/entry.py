"""From the words on the command line to the command, and from its errors to an exit code."""

import asyncio
import errno
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
FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
"""No room is left where something is written."""
INTERRUPTED = 130
"""128 + SIGINT, as shells have it."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; returns the exit code: 0 done, 1 failed, 2 usage, 130 interrupted."""
    _have_outputs()
    _never_fail_to_write()
    # gRPC writes of each handshake that fails to standard error, past our log; whoever wants to read that says so.
    os.environ.setdefault("GRPC_VERBOSITY", "NONE")
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
        _flush_no_more()
        return 0
    except OSError as error:
        if error.errno not in FULL:
            raise
        _flush_no_more()
        print(f"recallmesh: the output or a file cannot be written: {error.strerror}", file=sys.stderr)
        return FAILED
    else:
        return code


def _flush_no_more() -> None:
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _have_outputs() -> None:
    """Give what the shell closed (``>&-``) somewhere to go: Python has ``None`` in its place."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115, PTH123 - for the process's life


def _never_fail_to_write() -> None:
    """Write what the terminal's encoding lacks as an escape instead of failing half way."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
