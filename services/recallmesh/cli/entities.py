"""``recallmesh entity``: list, show, merge, split and name entities, and tell what a name would mean."""

import argparse
import asyncio
import sys
from collections.abc import Iterable
from uuid import UUID

from recallmesh.cli.lines import moment
from recallmesh.cli.places import open_place
from recallmesh.cli.screen import console, one_line, print_table, printable
from recallmesh.core.admin import Admin, Entities
from recallmesh.core.bank import BankRef
from recallmesh.core.entity import CONCEPT, LABEL, Entity
from recallmesh.core.entity_ledger import EntitySplit
from recallmesh.core.errors import EntityNotFound
from recallmesh.core.label import SIGN
from recallmesh.core.ledger import MemoryFilter
from recallmesh.core.memory import Memory
from recallmesh.core.page import PageRequest
from recallmesh.core.resolution import Comparison, EntityExplanation, EntityQuestion
from recallmesh.rpc.text import entities_json, entity_json, explanation_json, split_json

PAGE = 1000
SETTLED_S = 20.0
"""How long a change waits until every arm has it: in this process, who would deliver it ends with the command."""
STEP_S = 0.1
CHANGES = frozenset({"merge", "split", "alias"})


async def run(words: argparse.Namespace) -> int:
    """Do the one thing that was asked for."""
    actions = {
        "list": _list,
        "show": _show,
        "merge": _merge,
        "split": _split,
        "alias": _alias,
        "explain": _explain,
    }
    if words.action == "explain":
        words.moment = moment(words.time, "time") if words.time else None
    async with open_place(words) as faces:
        await actions[words.action](words, faces.admin, BankRef(words.bank))
        if words.action in CHANGES:
            await _settle(faces.admin, BankRef(words.bank))
    return 0


async def _list(words: argparse.Namespace, admin: Admin, ref: BankRef) -> None:
    found: list[Entity] = []
    after = ""
    while True:
        page = await admin.list_entities(ref, PageRequest(PAGE, after))
        found.extend(page.rows)
        after = page.next_after
        if not after:
            break
    found.sort(key=lambda entity: (-entity.memory_count, entity.name.casefold(), entity.id))
    if words.json:
        print(entities_json(found))
        return
    if not found and sys.stdout.isatty():
        print(f"no entities yet; they come with what is retained: recallmesh retain --bank {words.bank} …")
        return
    rows = [(one.name, one.kind, str(one.memory_count), _day(one), ", ".join(one.aliases), one.id) for one in found]
    headings = ("entity", "kind", "memories", "last mentioned", "also called", "id")
    print_table(console(), headings, rows, folding=frozenset({0, 4}))


async def _show(words: argparse.Namespace, admin: Admin, ref: BankRef) -> None:
    entity = await _meant(words.entity, admin, ref)
    memories: tuple[Memory, ...] = ()
    if words.memories > 0:
        wanted = MemoryFilter(entity_id=entity.id)
        memories = (await admin.list_memories(ref, wanted, PageRequest(min(words.memories, PAGE)))).rows
    if words.json:
        print(entity_json(entity, memories))
        return
    rows = [
        ("entity", entity.name),
        ("id", entity.id),
        ("kind", entity.kind),
        ("also called", ", ".join(entity.aliases) or "-"),
        ("told apart from", ", ".join(entity.apart) or "-"),
        ("first stored", f"{entity.created:%Y-%m-%d %H:%M}"),
        ("last mentioned", _day(entity) or "-"),
        ("memories", str(entity.memory_count)),
    ]
    screen = console()
    print_table(screen, ("", ""), rows, folding=frozenset({1}))
    if memories:
        screen.print()
        print_table(
            screen, ("memory", "text"), [(one.id, one_line(one.text)) for one in memories], folding=frozenset({1})
        )
        left = entity.memory_count - len(memories)
        if left > 0 and screen.is_terminal:
            screen.print(f"and {left} more: --memories {min(entity.memory_count, PAGE)}", style="dim")


async def _merge(words: argparse.Namespace, admin: Admin, ref: BankRef) -> None:
    into = await _meant(words.into, admin, ref)
    gone = [await _meant(one, admin, ref) for one in words.gone]
    others = tuple(dict.fromkeys(one.id for one in gone if one.id != into.id))
    entity = await admin.merge_entities(ref, into.id, others) if others else into
    if words.json:
        print(entity_json(entity))
    else:
        already = "" if others else " already"
        print(printable(f"{entity.name} is{already} one, on {_memories(entity)}; also called {_names(entity.aliases)}"))


async def _split(words: argparse.Namespace, admin: Admin, ref: BankRef) -> None:
    entity = await _meant(words.entity, admin, ref)
    split = EntitySplit(words.name, tuple(words.memories), tuple(words.aliases))
    one, new = await admin.split_entity(ref, entity.id, split)
    if words.json:
        print(split_json(one, new))
    else:
        print(printable(f"{one.name} is on {_memories(one)}, {new.name} on {_memories(new)}: two from now on"))


async def _alias(words: argparse.Namespace, admin: Admin, ref: BankRef) -> None:
    entity = await _meant(words.entity, admin, ref)
    entity = await admin.add_entity_alias(ref, entity.id, words.alias)
    print(entity_json(entity) if words.json else printable(f"{entity.name} is also called {_names(entity.aliases)}"))


async def _explain(words: argparse.Namespace, admin: Admin, ref: BankRef) -> None:
    question = EntityQuestion(words.name, words.kind or CONCEPT, tuple(words.beside), words.moment)
    explained = await admin.explain_entity(ref, question)
    if words.json:
        print(explanation_json(explained))
        return
    screen = console()
    screen.print(printable(_told(words.name, explained)), style="bold")
    rows = [_row(one) for one in explained.verdict.comparisons]
    if rows:
        headings = ("compared with", "names", "neighbours", "time", "score", "", "rule", "id")
        print_table(screen, headings, rows, folding=frozenset({0, 6}))


def _told(name: str, explained: EntityExplanation) -> str:
    if explained.entity is None:
        near = any(one.score >= explained.verdict.threshold for one in explained.verdict.comparisons)
        why = "several are as near" if near else f"nothing reaches {explained.verdict.threshold:g}"
        return f"{name} would be a new entity: {why}"
    return f"{name} would be {explained.entity.name}"


def _row(one: Comparison) -> tuple[str, ...]:
    scores = (one.name_score, one.neighbour_score, one.time_score, one.score)
    return (one.name, *(f"{score:.3f}" for score in scores), "meant" if one.matched else "", one.rule, one.entity_id)


async def _meant(named: str, entities: Entities, ref: BankRef) -> Entity:
    """Return the entity of an id or, exactly, of a name.

    Raises:
        EntityNotFound: there is none.

    """
    try:
        return await entities.get_entity(ref, str(UUID(named)))
    except ValueError:
        pass
    for kind in (LABEL, CONCEPT) if SIGN in named else (CONCEPT,):
        explained = await entities.explain_entity(ref, EntityQuestion(named, kind))
        if explained.entity is not None and explained.verdict.comparisons[0].name_score == 1.0:
            return explained.entity
    raise EntityNotFound(named)


async def _settle(admin: Admin, ref: BankRef) -> None:
    """Wait until every arm has what was changed; says what is left after a while."""
    pending = 0
    try:
        async with asyncio.timeout(SETTLED_S):
            while pending := (await admin.bank_stats(ref)).pending:  # noqa: ASYNC110 - no port tells of it
                await asyncio.sleep(STEP_S)
    except TimeoutError:
        print(f"recallmesh: the search will have it later: {pending} index writes are left", file=sys.stderr)


def _memories(entity: Entity) -> str:
    return f"{entity.memory_count} {'memory' if entity.memory_count == 1 else 'memories'}"


def _names(names: Iterable[str]) -> str:
    return ", ".join(names) or "nothing else"


def _day(entity: Entity) -> str:
    return f"{entity.last_mentioned:%Y-%m-%d %H:%M}" if entity.last_mentioned else ""
