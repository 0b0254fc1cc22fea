"""One bank, by the words of every day: create, retain, recall, load, forget, delete."""

from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from dataclasses import dataclass
from typing import Unpack
from uuid import uuid4

from recallmesh.client.batch import SIZE, Batch
from recallmesh.client.items import Row, Told, batches_of
from recallmesh.client.load import Load
from recallmesh.client.options import RecallOptions, RetainOptions
from recallmesh.client.progress import LoadProgress
from recallmesh.core.admin import Admin
from recallmesh.core.bank import Bank, BankConfig, BankRef, ExtractionMode
from recallmesh.core.errors import BankExists, BankNotFound, Forbidden, MeshError
from recallmesh.core.recall import RecallAnswer, Recaller, RecallProgress, RecallRequest
from recallmesh.core.retain import RetainAnswer, Retainer, RetainItem, RetainRequest


@dataclass(frozen=True, slots=True)
class BankClient:
    """A bank that a programme works with; whether there is such a bank, its calls tell (``BankNotFound``).

    What is not here is with the client's ``admin``, which takes ``ref``.
    """

    ref: BankRef
    recaller: Recaller
    retainer: Retainer
    admin: Admin

    async def create(self, *, name: str = "", config: BankConfig | None = None) -> Bank:
        """Create the bank; raises ``BankExists``."""
        return await self.admin.create_bank(self.ref, name=name, config=config)

    async def ensure(self) -> Bank:
        """Return the bank, made as the service makes one if there is none.

        Raises:
            BankNotFound: there is none, and the key in hand may make none.

        """
        try:
            return await self.admin.get_bank(self.ref)
        except BankNotFound as absent:
            try:
                return await self.admin.create_bank(self.ref)
            except BankExists:
                return await self.admin.get_bank(self.ref)
            except Forbidden:
                raise absent from None

    async def delete(self) -> None:
        """Delete the bank and all it holds."""
        await self.admin.delete_bank(self.ref)

    async def retain(self, *items: Told, **options: Unpack[RetainOptions]) -> RetainAnswer:
        """Have items kept, all or nothing; a text is an item without anything else.

        Raises what ``core.retain.Retainer.retain`` raises.
        """
        wanted = tuple(RetainItem((item,)) if isinstance(item, str) else item for item in items)
        return await self.retainer.retain(RetainRequest(self.ref, wanted, **options))

    async def recall(self, query: str, **options: Unpack[RecallOptions]) -> RecallAnswer:
        """Ask, and return the memories that matter; raises what ``core.recall.Recaller.recall`` raises."""
        return await self.recaller.recall(RecallRequest(self.ref, query, **options))

    def recall_stream(self, query: str, **options: Unpack[RecallOptions]) -> AsyncGenerator[RecallProgress, None]:
        """Ask, and yield the answers as they come; exactly one, the last, is final. To close it stops the work."""
        return self.recaller.stream(RecallRequest(self.ref, query, **options))

    async def forget(self, document_id: str) -> int:
        """Delete a document and everything derived from it; returns the number of memories."""
        return await self.admin.delete_document(self.ref, document_id)

    async def load(
        self,
        row: Row,
        *,
        name: str = "",
        skip: int = 0,
        batch_size: int = SIZE,
        mode: ExtractionMode | None = None,
        tags: tuple[str, ...] = (),
        progress: Callable[[LoadProgress], None] = lambda _: None,
        refused: Callable[[Batch, MeshError], bool] = lambda _, __: False,
    ) -> LoadProgress:
        """Have a row of items kept, however long, in batches; returns what came of it.

        The row is drawn a batch ahead of what is answered, in a thread if it is no asynchronous one. A stream that
        breaks is opened again, for up to a minute of vain attempts, and no item is kept twice. A deadline in hand
        (``within``) is that of the whole load. Items of one ``document_id`` become that document in their order, in
        whatever batches they are.

        ``name`` makes the load one that may be repeated: batches are cut in the same places and sent under request ids
        made of the name, so that for a day, as long as request ids are kept, a load of the same row under the same name
        goes on where an earlier one stopped. For longer, and without sending all again, keep ``items`` of the progress
        and give it as ``skip``, the items to pass over. ``batch_size`` is in [1, 1000]. ``mode`` and ``tags`` are those
        of retain. ``progress`` is told after each batch. ``refused`` is told of a batch that the mesh refuses, of which
        nothing is kept, and returns whether the load goes on; by default it does not.

        Raises:
            InvalidArgument: an item is refused, named by its place in the row (``items[4711].content``).
            MeshError: what a call of retain raises and does not pass. All before that batch is kept.

        """
        loading = _Loading(name or uuid4().hex, progress, refused, LoadProgress(items=skip))
        load = Load(
            self.retainer,
            self.ref,
            loading.request_id,
            loading.kept,
            refused=loading.refuse,
            mode=mode,
            tags=tags,
        )
        async with aclosing(batches_of(row, size=batch_size, skip=skip)) as batches:
            await load.keep(batches)
        return loading.so_far


@dataclass(slots=True)
class _Loading:
    """What is told of a load while it goes on."""

    name: str
    progress: Callable[[LoadProgress], None]
    refused: Callable[[Batch, MeshError], bool]
    so_far: LoadProgress

    def request_id(self, batch: Batch) -> str:
        return f"{self.name}-{batch.first}"

    def kept(self, batch: Batch, answer: RetainAnswer) -> None:
        self.so_far = self.so_far.after(batch, answer)
        self.progress(self.so_far)

    def refuse(self, batch: Batch, error: MeshError) -> bool:
        if not self.refused(batch, error):
            return False
        self.so_far = self.so_far.without(batch)
        self.progress(self.so_far)
        return True
