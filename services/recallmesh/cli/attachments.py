"""``recallmesh attachment``: get an image back that was retained."""

import argparse
import asyncio
import os
import sys
from pathlib import Path

from recallmesh.cli.places import open_place
from recallmesh.core.bank import BankRef
from recallmesh.core.errors import FieldViolation, InvalidArgument


async def run(words: argparse.Namespace) -> int:
    """Get an attachment back, into a file or onto a pipe."""
    to_file = words.output not in {None, "-"}
    if not to_file and sys.stdout.isatty():
        raise InvalidArgument(FieldViolation("--output", "is needed: an image is nothing for a terminal"))
    async with open_place(words) as faces:
        attachment = await faces.admin.get_attachment(BankRef(words.bank), words.attachment)
    if not to_file:
        sys.stdout.buffer.write(attachment.data)
        return 0
    try:
        await asyncio.to_thread(_write, words.output, attachment.data)
    except OSError as error:
        raise InvalidArgument(FieldViolation("--output", f"{words.output}: {error.strerror}")) from error
    print(f"{attachment.media_type}, {len(attachment.data)} bytes, in {words.output}")
    return 0


def _write(name: str, data: bytes) -> None:
    # Never over a file that is there: an id was typed, and what it stands for is not known before.
    with os.fdopen(os.open(Path(name).expanduser(), os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        file.write(data)
