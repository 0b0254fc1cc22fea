"""``recallmesh memory``: see, edit, hide and delete single memories."""

import argparse
from collections.abc import Iterator

from recallmesh.cli.answer import when
from recallmesh.cli.consent import refused, several
from recallmesh.cli.listing import Listing, every
from recallmesh.cli.places import open_place
from recallmesh.cli.screen import console, print_table
from recallmesh.cli.tags import tag_test
from recallmesh.core.admin import Admin
from recallmesh.core.bank import BankRef
from recallmesh.core.consolidation import MemoryVersion
from recallmesh.core.errors import FieldViolation, InvalidArgument
from recallmesh.core.ledger import MemoryEdit, MemoryFilter
from recallmesh.core.memory import FactType, Memory, MemoryState
from recallmesh.rpc.text import memory_json, version_json


async def run(words: argparse.Namespace) -> int:
    """Do the one thing that was asked for."""
    if words.action == "delete" and (code := refused(words, several(words.ids, "memory", "memories"))):
        return code
    if words.action == "edit" and words.text is None and words.tags is None and words.context is None:
        raise InvalidArgument(FieldViolation("edit", "changes nothing: say --text, --tags or --context"))
    actions = {"list": _list, "show": _show, "history": _history, "edit": _edit}
    async with open_place(words) as faces:
        await actions.get(words.action, _each)(words, faces.admin)
    return 0


async def _list(words: argparse.Namespace, admin: Admin) -> None:
    ref = BankRef(words.bank)
    wanted = MemoryFilter(
        fact_types=tuple(map(FactType, words.types)),
        states=tuple(map(MemoryState, words.states)),
        tags=tag_test(words),
        document_id=words.document,
        entity_id=words.entity,
    )
    listing: Listing[Memory] = Listing(
        ("memory", "type", "state", "when", "document", "text"),
        _cells,
        memory_json,
        frozenset({1}),
        f"no such memories in bank {words.bank}",
        ("memory", "text"),
        _short,
    )
    await listing.show(every(lambda page: admin.list_memories(ref, wanted, page)), json=words.json)


def _cells(memory: Memory) -> tuple[str, ...]:
    return memory.id, memory.fact_type.value, memory.state.value, when(memory), memory.document_id, memory.text


def _short(memory: Memory) -> tuple[str, ...]:
    state = "" if memory.state is MemoryState.ACTIVE else memory.state.value
    notes = (state, memory.fact_type.value, when(memory), memory.document_id)
    return memory.id, f"{memory.text}\n{' · '.join(note for note in notes if note)}"


async def _show(words: argparse.Namespace, admin: Admin) -> None:
    _print(words, await admin.get_memory(BankRef(words.bank), words.id))


async def _history(words: argparse.Namespace, admin: Admin) -> None:
    ref = BankRef(words.bank)
    listing: Listing[MemoryVersion] = Listing(
        ("version", "since", "why", "tags", "text"), _version, version_json, frozenset({3, 4}), "it has no history"
    )
    await listing.show(every(lambda page: admin.memory_history(ref, words.id, page)), json=words.json)


def _version(one: MemoryVersion) -> tuple[str, ...]:
    return str(one.version), f"{one.created:%Y-%m-%d %H:%M}", one.reason, " ".join(one.tags), one.text


async def _edit(words: argparse.Namespace, admin: Admin) -> None:
    edit = MemoryEdit(words.text, None if words.tags is None else tuple(words.tags), words.context)
    _print(words, await admin.edit_memory(BankRef(words.bank), words.id, edit))


async def _each(words: argparse.Namespace, admin: Admin) -> None:
    ref = BankRef(words.bank)
    for one in words.ids:
        if words.action == "delete":
            await admin.delete_memory(ref, one)
            if not words.json:
                print(f"deleted memory {one}")
            continue
        hide = words.action == "invalidate"
        changed = await (admin.invalidate_memory(ref, one) if hide else admin.restore_memory(ref, one))
        print(memory_json(changed) if words.json else f"memory {one} is {changed.state}")


def _print(words: argparse.Namespace, memory: Memory) -> None:
    if words.json:
        print(memory_json(memory))
    else:
        print_table(console(), ("", ""), list(_all_of(memory)), folding=frozenset({1}))


def _all_of(memory: Memory) -> Iterator[tuple[str, str]]:
    yield "memory", memory.id
    yield "text", memory.text
    yield "type", memory.fact_type.value
    yield "state", memory.state.value
    yield "version", str(memory.version)
    yield "created", f"{memory.created:%Y-%m-%d %H:%M}"
    yield "when", when(memory)
    if memory.occurred is not None and memory.mentioned is not None:
        yield "said", f"{memory.mentioned:%Y-%m-%d %H:%M}"
    yield "context", memory.context
    yield "tags", " ".join(memory.tags)
    yield "document", f"{memory.document_id}, place {memory.position}" if memory.document_id else ""
    yield "about", ", ".join(f"{mention.name} ({mention.kind})" for mention in memory.mentions)
    yield from ((f"metadata {key}", value) for key, value in memory.metadata.items())
    yield from (("because of", f"{cause.cause_id} ({cause.weight:.2f})") for cause in memory.causes)
    yield from (("made of", source) for source in memory.sources)
    yield from (("attachment", attachment) for attachment in memory.attachments)
    yield "tokens", str(memory.tokens)
