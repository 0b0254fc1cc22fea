"""``recallmesh retain FILE …``: files that a person has, each a document of its own."""

import argparse
import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from uuid import uuid4

from recallmesh.cli import tally as tallies
from recallmesh.cli.files.registry import Document, read_file
from recallmesh.cli.lines import moment
from recallmesh.cli.meter import tell_pause
from recallmesh.cli.screen import printable
from recallmesh.cli.tally import Tally
from recallmesh.client import Client
from recallmesh.client.batch import Batch
from recallmesh.client.load import Load
from recallmesh.core.admin import Documents
from recallmesh.core.bank import BankRef, ExtractionMode
from recallmesh.core.errors import DocumentNotFound, InvalidArgument, MeshError
from recallmesh.core.retain import RetainAnswer


async def keep_files(words: argparse.Namespace, faces: Client, tally: Tally) -> None:
    """Retain every file that can be read; the others are told, counted as skipped, and left out."""
    filing = _Filing(words, faces.admin, tally)
    load = Load(
        faces.retainer,
        BankRef(words.bank),
        filing.request_id,
        filing.kept,
        refused=filing.refused,
        waiting=tell_pause,
        mode=ExtractionMode(words.mode) if words.mode else None,
        tags=tuple(words.tags),
    )
    await load.keep(filing.batches())
    await filing.clear()


@dataclass(slots=True)
class _Filing:
    """The files of one command: what is sent of them, and what came of it."""

    words: argparse.Namespace
    documents: Documents
    tally: Tally
    _run: str = field(default_factory=lambda: uuid4().hex)
    _sent: dict[int, Document] = field(default_factory=dict)
    _kept: list[Document] = field(default_factory=list)

    def request_id(self, batch: Batch) -> str:
        """Return the id of a batch."""
        return f"files-{self._run}-{batch.first}"

    async def batches(self) -> AsyncIterator[Batch]:
        """Yield each document in turn, reading one file at a time."""
        time = moment(self.words.time, "--time") if self.words.time else None
        numbers = count(1)
        for path in self._paths():
            try:
                documents = await asyncio.to_thread(read_file, path, time)
            except InvalidArgument as error:
                self._tell(error)
                continue
            for number, document in zip(numbers, documents, strict=False):
                self._sent[number] = document
                yield Batch(document.items, (str(path),) * len(document.items), first=number)

    def _paths(self) -> list[Path]:
        return list(dict.fromkeys(Path(name).expanduser() for name in self.words.sources))

    def kept(self, batch: Batch, answer: RetainAnswer) -> None:
        """Say what came of a document."""
        document = self._sent.pop(batch.first)
        self._kept.append(document)
        self.tally.add(answer, batch)
        if not self.words.json:
            unchanged = all(item.unchanged for item in answer.items)
            said = "unchanged" if unchanged else tallies.count(answer.memory_count, "memory")
            print(printable(f"{document.path}: {said}"))

    def refused(self, batch: Batch, error: MeshError) -> bool:
        """Say why a document was not kept; the others are."""
        document = self._sent.pop(batch.first)
        if isinstance(error, InvalidArgument):
            self._tell(error)
        else:
            self._count(f"{document.path}: {error.message}")
        return True

    async def clear(self) -> None:
        """Delete the parts that a longer version of a file had after its last one."""
        for document in self._kept:
            if document.surplus is None:
                continue
            with suppress(DocumentNotFound):
                for number in count(1):
                    await self.documents.delete_document(BankRef(self.words.bank), document.surplus(number))

    def _tell(self, error: InvalidArgument) -> None:
        self._count("\n".join(f"{violation.field}: {violation.description}" for violation in error.violations))

    def _count(self, said: str) -> None:
        self.tally.skipped += 1
        print(printable(f"recallmesh: {said}"), file=sys.stderr)
