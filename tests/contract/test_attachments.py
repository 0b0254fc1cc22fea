"""Attachments, in process and over the wire: kept once, given back, and gone with what had them (SPEC T10)."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from contract.ledger_bed import Backend, backend
from loopback import open_loopback, until_ready
from seeing import SIGNATURES, Seeing, picture
from sqlalchemy import text
from unit.retain_fakes import NOW, REF, Bench, WordCounter, open_bench

from recallmesh.bank.admin import LedgerAdmin
from recallmesh.core.admin import Admin
from recallmesh.core.arm import ArmName
from recallmesh.core.attachment import StoredAttachment, id_of
from recallmesh.core.bank import BankRef, ExtractionMode
from recallmesh.core.errors import AttachmentNotFound, InvalidArgument, NoVisionModel, RequestIdReused
from recallmesh.core.ledger import MemoryEdit
from recallmesh.core.limits import ATTACHMENT_BYTES, ATTACHMENTS_PER_ITEM, CALL_ATTACHMENT_BYTES
from recallmesh.core.operation import OperationKind, OperationState
from recallmesh.core.retain import Attachment, Retainer, RetainItem, RetainRequest, UpdateMode
from recallmesh.core.tags import TagLeaf, TagMode
from recallmesh.retain.jobs import JobWorker
from recallmesh.rpc.admin import RemoteAdmin, host_admin
from recallmesh.rpc.retainer import RemoteRetainer, host_retainer

__all__ = ["backend"]

ARMS = (ArmName.SEMANTIC, ArmName.KEYWORD, ArmName.GRAPH)
BRIDGE, BOAT = picture("a bridge"), picture("a boat", "image/jpeg")


@dataclass
class Album:
    """A bank whose extractor sees, and its doors."""

    bench: Bench
    retainer: Retainer
    admin: Admin
    eyes: Seeing
    backend: Backend

    async def keep(self, *content, request_id="", wait=True, mode=ExtractionMode.CONCISE, **parts):
        items = (RetainItem(content, **({"time": NOW} | parts)),)
        return await self.retainer.retain(RetainRequest(REF, items, request_id, wait, mode))

    async def drawn(self) -> dict[str, tuple[str, ...]]:
        """Return the memories' texts, and the attachments that each is drawn from."""
        return {memory.text: memory.attachments for memory in await self.bench.memories()}

    def stored(self) -> tuple[int, int]:
        """Return how many attachments the ledger holds, and how many chunks hold one: counted past all doors."""
        with self.backend.connect() as connection:
            return tuple(
                connection.execute(text(f"SELECT count(*) FROM {table}")).scalar_one()  # noqa: S608
                for table in ("attachments", "chunk_attachments")
            )

    async def work(self):
        """Carry out what waits in the queue."""
        retainer = self.bench.retainer
        handlers = {OperationKind.RETAIN: retainer.work, OperationKind.REPROCESS: retainer.reprocess}
        jobs = JobWorker(self.bench.ledger, handlers, worker="w", now=self.bench.clock)
        while await jobs.step():
            pass


@asynccontextmanager
async def open_album(folder: Path, backend: Backend, *, remote: bool) -> AsyncIterator[Album]:
    eyes = Seeing()
    async with open_bench(folder, url=backend.url, extractor=eyes) as bench:
        admin = LedgerAdmin(bench.ledger, arms=ARMS, tokens=WordCounter(), now=bench.clock)
        if not remote:
            yield Album(bench, bench.retainer, admin, eyes, backend)
            return
        async with open_loopback(host_retainer(bench.retainer), host_admin(admin, bench.ledger.check)) as channel:
            there = RemoteAdmin(channel)
            await until_ready(there)
            yield Album(bench, RemoteRetainer(channel), there, eyes, backend)


@pytest.fixture(params=[False, True], ids=["local", "remote"])
async def album(request, tmp_path, backend):
    async with open_album(tmp_path, backend, remote=request.param) as opened:
        yield opened


async def test_an_image_comes_back_as_it_was_and_stands_in_the_text_in_its_place(album):
    answer = await album.keep("We crossed it:", BRIDGE, "And then we sailed.", BOAT, document_id="d")
    assert answer.memory_count == 4
    assert await album.drawn() == {
        "We crossed it:": (),
        "And then we sailed.": (),
        "A picture of a bridge.": (id_of(BRIDGE.data),),
        "A picture of a boat.": (id_of(BOAT.data),),
    }
    for one in (BRIDGE, BOAT):
        found = await album.admin.get_attachment(REF, id_of(one.data))
        assert found == StoredAttachment(id_of(one.data), one.media_type, one.data)
    [memory] = [memory for memory in await album.bench.memories() if memory.attachments == (id_of(BOAT.data),)]
    chunk = await album.admin.get_chunk(REF, memory.chunk_id)
    assert chunk.text == "We crossed it:\n[image: image/png]\nAnd then we sailed.\n[image: image/jpeg]"


async def test_the_extractor_sees_each_image_behind_its_place(album):
    await album.keep("Look: [image: image/png]", BRIDGE, "", BOAT)
    [passage] = album.eyes.read
    assert [passage.text[: shown.at].rpartition("\n")[2] for shown in passage.images] == [
        "[image: image/png]",
        "[image: image/jpeg]",
    ]
    assert [shown.image for shown in passage.images] == [BRIDGE, BOAT]


async def test_an_image_alone_is_content(album):
    await album.keep(BRIDGE)
    assert await album.drawn() == {"A picture of a bridge.": (id_of(BRIDGE.data),)}


async def test_an_image_is_kept_once_for_a_bank_however_often_it_comes(album):
    await album.keep("One.", BRIDGE, document_id="a")
    await album.keep("Two.", BRIDGE, BRIDGE, document_id="b")
    assert album.stored() == (1, 2)


@pytest.mark.parametrize("mode", [ExtractionMode.CHUNKS])
async def test_a_chunk_that_is_kept_word_for_word_is_drawn_from_all_its_images(album, mode):
    await album.keep("Look:", BRIDGE, BOAT, mode=mode)
    [(said, drawn)] = (await album.drawn()).items()
    assert said == "Look:\n[image: image/png]\n[image: image/jpeg]"
    assert drawn == (id_of(BRIDGE.data), id_of(BOAT.data))


async def test_each_chunk_has_the_images_that_stand_in_it(album):
    long = "Ida painted the boat blue. " * 200
    await album.keep(long, BRIDGE, long, BOAT)
    placed = [[shown.image for shown in passage.images] for passage in album.eyes.read]
    assert len(placed) > 2
    assert [one for images in placed for one in images] == [BRIDGE, BOAT]
    for passage in album.eyes.read:
        for shown in passage.images:
            assert passage.text[: shown.at].endswith(f"[image: {shown.image.media_type}]")


async def test_a_large_image_comes_in_pieces_and_whole(album):
    large = picture("x" * (ATTACHMENT_BYTES - len(SIGNATURES["image/png"])))
    await album.keep("Large.", large)
    assert (await album.admin.get_attachment(REF, id_of(large.data))).data == large.data


TOO_LARGE = picture("x" * ATTACHMENT_BYTES)


@pytest.mark.parametrize(
    ("content", "where", "words"),
    [
        ((TOO_LARGE,), "items[0].content[0].attachment.data", f"the limit is {ATTACHMENT_BYTES}"),
        (("a", *[picture(str(n)) for n in range(17)]), "items[0].content", f"the limit is {ATTACHMENTS_PER_ITEM}"),
        ((picture("x" * 2_000_000), picture("y" * 1_200_000)), "items", f"the limit is {CALL_ATTACHMENT_BYTES}"),
        (("a", Attachment("image/png", BOAT.data)), "items[0].content[1].attachment.data", "its bytes are image/jpeg"),
        ((Attachment("image/png", b"<html>"),), "items[0].content[0].attachment.data", "none of the kind"),
        ((Attachment("image/png", b""),), "items[0].content[0].attachment.data", "none of the kind"),
        ((Attachment("text/html", BRIDGE.data),), "items[0].content[0].attachment.media_type", "'text/html'"),
        ((Attachment("", BRIDGE.data),), "items[0].content[0].attachment.media_type", "image/png, image/jpeg"),
    ],
)
async def test_what_is_no_image_or_too_much_is_refused_by_name_and_nothing_is_kept(album, content, where, words):
    with pytest.raises(InvalidArgument) as caught:
        await album.keep(*content)
    assert [violation.field for violation in caught.value.violations] == [where]
    assert words in caught.value.message
    assert album.stored() == (0, 0)
    assert await album.drawn() == {}


@pytest.mark.parametrize("media_type", SIGNATURES)
async def test_every_kind_of_image_is_known_by_its_bytes_however_its_name_is_written(album, media_type):
    one = picture("a harbour", media_type)
    written = media_type.upper().replace("JPEG", "JPG") + "; q=1"
    await album.keep(Attachment(written, one.data))
    assert (await album.admin.get_attachment(REF, id_of(one.data))).media_type == media_type


async def test_without_eyes_an_image_is_refused_whatever_the_mode(tmp_path):
    async with open_bench(tmp_path) as bench:
        for mode in (ExtractionMode.CONCISE, ExtractionMode.CHUNKS):
            with pytest.raises(NoVisionModel):
                await bench.retainer.retain(RetainRequest(REF, (RetainItem(("See:", BRIDGE)),), mode=mode))
        assert await bench.texts() == []


async def test_a_request_id_knows_its_images(album):
    first = await album.keep("Look:", BRIDGE, request_id="r")
    again = await album.keep("Look:", BRIDGE, request_id="r")
    assert (again.replayed, again.items) == (True, first.items)
    with pytest.raises(RequestIdReused):
        await album.keep("Look:", BOAT, request_id="r")
    assert album.stored() == (1, 1)


async def test_a_call_that_is_not_waited_for_keeps_its_images(album):
    answer = await album.keep("Look:", BRIDGE, "and", BOAT, wait=False)
    assert album.stored() == (0, 0)
    await album.work()
    operation = await album.admin.get_operation(REF, answer.operation_id)
    assert operation.state is OperationState.SUCCEEDED
    assert album.stored() == (2, 2)
    assert (await album.admin.get_attachment(REF, id_of(BOAT.data))).data == BOAT.data


async def test_the_same_document_again_changes_nothing_and_reads_nothing(album):
    await album.keep("Look:", BRIDGE, document_id="d")
    again = await album.keep("Look:", BRIDGE, document_id="d")
    assert again.items[0].unchanged
    assert len(album.eyes.read) == 1
    assert album.stored() == (1, 1)


async def test_another_image_in_the_same_words_is_another_content(album):
    await album.keep("Look:", BRIDGE, document_id="d")
    other = picture("a tower")
    await album.keep("Look:", other, document_id="d")
    assert await album.drawn() == {"Look:": (), "A picture of a tower.": (id_of(other.data),)}
    assert album.stored() == (1, 1)
    with pytest.raises(AttachmentNotFound):
        await album.admin.get_attachment(REF, id_of(BRIDGE.data))


async def test_a_memory_that_stays_in_the_same_words_is_drawn_from_the_new_image(album):
    await album.keep("Look:", BRIDGE, mode=ExtractionMode.CHUNKS, document_id="d")
    [before] = await album.bench.memories()
    other = picture("a tower")
    await album.keep("Look:", other, mode=ExtractionMode.CHUNKS, document_id="d")
    [after] = await album.bench.memories()
    assert (after.id, after.text, after.attachments) == (before.id, before.text, (id_of(other.data),))
    assert album.stored() == (1, 1)
    with pytest.raises(AttachmentNotFound):
        await album.admin.get_attachment(REF, id_of(BRIDGE.data))


async def test_an_image_goes_with_the_last_that_has_it(album):
    await album.keep("One.", BRIDGE, document_id="a")
    await album.keep("Two.", BRIDGE, document_id="b")
    await album.keep("Three.", BOAT, document_id="b", update_mode=UpdateMode.APPEND)
    assert album.stored() == (2, 3)
    await album.admin.delete_document(REF, "a")
    assert album.stored() == (2, 2)
    await album.keep("Without.", document_id="b")
    assert album.stored() == (0, 0)


async def test_deleting_what_was_drawn_from_an_image_deletes_the_image(album):
    await album.keep("Look:", BRIDGE, "and", BOAT, document_id="d")
    memories = {memory.text: memory for memory in await album.bench.memories()}
    await album.admin.delete_memory(REF, memories["A picture of a bridge."].id)
    with pytest.raises(AttachmentNotFound):
        await album.admin.get_attachment(REF, id_of(BRIDGE.data))
    assert (await album.admin.get_attachment(REF, id_of(BOAT.data))).data == BOAT.data
    assert album.stored() == (1, 1)
    for name in ("A picture of a boat.", "Look:", "and"):
        await album.admin.delete_memory(REF, memories[name].id)
    assert album.stored() == (0, 0)


async def test_an_edited_memory_keeps_its_image(album):
    await album.keep(BRIDGE)
    [memory] = await album.bench.memories()
    await album.admin.edit_memory(REF, memory.id, MemoryEdit(text="The bridge of Molde."))
    assert (await album.admin.get_attachment(REF, id_of(BRIDGE.data))).data == BRIDGE.data


async def test_images_go_with_their_bank_and_are_no_other_banks(album):
    await album.keep("Look:", BRIDGE)
    await album.admin.create_bank(BankRef("other"))
    with pytest.raises(AttachmentNotFound):
        await album.admin.get_attachment(BankRef("other"), id_of(BRIDGE.data))
    await album.admin.delete_bank(REF)
    assert album.stored() == (0, 0)


async def test_a_reader_sees_what_a_memory_that_they_may_see_was_drawn_from(album):
    red, blue = (TagLeaf(frozenset({tag}), TagMode.ANY_STRICT) for tag in ("red", "blue"))
    await album.keep("Look:", BRIDGE, tags=("red",))
    assert (await album.admin.get_attachment(REF, id_of(BRIDGE.data), visible=red)).data == BRIDGE.data
    with pytest.raises(AttachmentNotFound):
        await album.admin.get_attachment(REF, id_of(BRIDGE.data), visible=blue)
    [drawn] = [memory for memory in await album.bench.memories() if memory.attachments]
    await album.admin.invalidate_memory(REF, drawn.id)
    with pytest.raises(AttachmentNotFound):
        await album.admin.get_attachment(REF, id_of(BRIDGE.data), visible=red)
    assert (await album.admin.get_attachment(REF, id_of(BRIDGE.data))).data == BRIDGE.data
    await album.keep("Look again:", BRIDGE, tags=("blue",))
    assert (await album.admin.get_attachment(REF, id_of(BRIDGE.data), visible=blue)).data == BRIDGE.data


async def test_a_document_is_read_once_more_with_its_images(album):
    await album.keep("Look:", BRIDGE, "and", BOAT, document_id="d")
    album.eyes.read.clear()
    await album.admin.reprocess_document(REF, "d")
    await album.work()
    assert album.eyes.read == []
    bank = await album.admin.get_bank(REF)
    config = bank.config
    await album.admin.update_bank(REF, config=type(config)(retain=type(config.retain)(mission="Look closely.")))
    await album.admin.reprocess_document(REF, "d")
    await album.work()
    [passage] = album.eyes.read
    assert [shown.image for shown in passage.images] == [BRIDGE, BOAT]
    assert (await album.drawn())["A picture of a boat."] == (id_of(BOAT.data),)
    assert album.stored() == (2, 2)


async def test_images_move_with_their_bank(album):
    await album.keep("Look:", BRIDGE, BOAT, document_id="d")
    await album.keep("Again:", BRIDGE, document_id="e")
    pieces = [piece async for piece in album.admin.export_bank(REF)]
    copy = BankRef("copy")
    await album.admin.create_bank(copy)

    async def sent():
        for piece in pieces:
            yield piece

    await album.admin.import_bank(copy, sent())
    assert album.stored() == (4, 6)
    assert (await album.admin.get_attachment(copy, id_of(BOAT.data))).data == BOAT.data
    await album.admin.delete_document(copy, "d")
    assert album.stored() == (3, 4)
    with pytest.raises(AttachmentNotFound):
        await album.admin.get_attachment(copy, id_of(BOAT.data))
    assert (await album.admin.get_attachment(copy, id_of(BRIDGE.data))).data == BRIDGE.data
