"""``recallmesh document``: see, reprocess and delete what a bank was told."""

import argparse
import sys

from recallmesh.cli.consent import refused, several
from recallmesh.cli.listing import Listing, every
from recallmesh.cli.places import open_place
from recallmesh.cli.screen import console, print_table
from recallmesh.cli.tags import tag_test
from recallmesh.cli.tally import count
from recallmesh.cli.watching import about, outcome, watched
from recallmesh.core.admin import Admin
from recallmesh.core.bank import BankRef
from recallmesh.core.document import Chunk, Document
from recallmesh.rpc.text import document_json, operation_json, whole_document_json

WITHHELD = "(withheld: a memory of it was deleted or edited)"
CHUNKS = ("chunk", "said", "context", "text")
NO_MEMORY = "no memory came of it: nothing of it can be recalled"


async def run(words: argparse.Namespace) -> int:
    """Do the one thing that was asked for."""
    if words.action == "delete":
        what = several(words.ids, "document", "documents")
        if code := refused(words, what, also=" and all that was made of it"):
            return code
    actions = {"list": _list, "show": _show, "reprocess": _reprocess, "delete": _delete}
    async with open_place(words) as faces:
        return await actions[words.action](words, faces.admin)


async def _list(words: argparse.Namespace, admin: Admin) -> int:
    ref, visible = BankRef(words.bank), tag_test(words)
    listing: Listing[Document] = Listing(
        ("document", "version", "memories", "chunks", "tokens", "updated", "tags"),
        _cells,
        document_json,
        frozenset({0, 6}),
        f"no such documents in bank {words.bank}",
    )
    await listing.show(every(lambda page: admin.list_documents(ref, page, visible=visible)), json=words.json)
    return 0


def _cells(document: Document) -> tuple[str, ...]:
    counts = (document.version, document.memory_count, document.chunk_count, document.tokens)
    return (document.id, *map(str, counts), f"{document.updated:%Y-%m-%d %H:%M}", " ".join(document.tags))


async def _show(words: argparse.Namespace, admin: Admin) -> int:
    ref = BankRef(words.bank)
    document = await admin.get_document(ref, words.id)
    chunks = [chunk async for chunk in every(lambda page: admin.list_chunks(ref, document.id, page))]
    if words.json:
        print(whole_document_json(document, chunks))
        return 0
    rows = [
        ("document", document.id),
        ("version", f"{document.version}, of {document.updated:%Y-%m-%d %H:%M}"),
        ("created", f"{document.created:%Y-%m-%d %H:%M}"),
        ("memories", str(document.memory_count) if document.memory_count else f"0: {NO_MEMORY}"),
        ("tokens", f"{document.tokens} in {count(document.chunk_count, 'chunk')}"),
        ("tags", " ".join(document.tags)),
        *((f"metadata {key}", value) for key, value in document.metadata.items()),
    ]
    print_table(console(), ("", ""), rows, folding=frozenset({1}))
    if chunks:
        print()
        print_table(console(), CHUNKS, [_chunk(chunk) for chunk in chunks], folding=frozenset({2, 3}))
    return 0


def _chunk(chunk: Chunk) -> tuple[str, ...]:
    said = "" if chunk.time is None else f"{chunk.time:%Y-%m-%d %H:%M}"
    return str(chunk.number), said, chunk.context, WITHHELD if chunk.outdated else chunk.text


async def _reprocess(words: argparse.Namespace, admin: Admin) -> int:
    ref = BankRef(words.bank)
    begun = await admin.reprocess_document(ref, words.id)
    if words.no_wait:
        print(operation_json(begun) if words.json else begun.id)
        if not words.json:
            print(f"  how far it is: {about(words, begun.id)}", file=sys.stderr)
        return 0
    done = await watched(words, admin, begun, f"reprocessing {words.id}")
    code = outcome(words, done)
    if words.json:
        print(operation_json(done))
    elif not code:
        document = await admin.get_document(ref, words.id)
        made = len(done.memory_ids)
        told = f"{made} of them new" if made else "none of them new"
        count = document.memory_count
        came = f"has {count} {'memory' if count == 1 else 'memories'}, {told}" if count else f"is read: {NO_MEMORY}"
        print(f"document {words.id} {came}")
    return code


async def _delete(words: argparse.Namespace, admin: Admin) -> int:
    for one in words.ids:
        count = await admin.delete_document(BankRef(words.bank), one)
        if not words.json:
            print(f"deleted document {one} and its {count} {'memory' if count == 1 else 'memories'}")
    return 0
