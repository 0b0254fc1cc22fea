"""The words of ``recallmesh entity``: its actions, with help that teaches."""

import argparse
from collections.abc import Iterator

ABOUT = "see who and what a bank knows, and mend who is who"
EXAMPLES = """\
examples:
  recallmesh entity list --bank diary
  recallmesh entity explain --bank diary "Alice C." --beside "Bo Dahl"
      what would this name mean in the next retain, and why
  recallmesh entity merge --bank diary "Alice Chen" Ally
      the first stays; names and ids of the others lead to it from now on
  recallmesh entity split --bank diary "Alice Chen" "Alice Chen (Oslo)" \\
    --memories 5f1c… 09ab…
      these memories are about another one of that name
  recallmesh entity alias --bank diary "Alice Chen" Lissy

An ENTITY is named by its name, one of its other names, or its id. Names are
the same whatever their case, accents, titles and spaces.
Memories follow at once in the bank; the command then waits, at most 20 s,
until the search has it too.
"""
EXPLAIN = """\
A name means the entity of that name, or the one that has it as an alias. Else
each candidate has a score: how alike the names are (0 to 1), plus what common
neighbours (at most 0.25) and closeness in time (at most 0.05) add. The best one
is meant if it reaches the threshold, 0.8, and is 0.1 ahead of any other.
"""
SPLIT = """\
The memories named, and the aliases, become those of a new entity. From then
on neither's names are taken for the other's, however alike they are.
The ids of memories: recallmesh entity show --bank B ENTITY --memories 100
"""


def add_actions(parser: argparse.ArgumentParser) -> Iterator[argparse.ArgumentParser]:
    """Add every action and yield it."""
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    yield _action(actions, "list", "list the entities, those on most memories first")
    show = _action(actions, "show", "show an entity and memories that mention it")
    _entity(show)
    show.add_argument("--memories", type=int, default=10, metavar="N", help="how many memories to show (default: 10)")
    yield show
    merge = _action(actions, "merge", "make several entities one; twice is as once")
    merge.add_argument("into", metavar="ENTITY", help="the one that stays")
    merge.add_argument("gone", nargs="+", metavar="OTHER", help="those that become it; their names become its aliases")
    yield merge
    split = _action(actions, "split", "make a new entity of some of one's memories", SPLIT)
    _entity(split)
    split.add_argument("name", metavar="NAME", help="the new entity's name")
    split.add_argument("--memories", nargs="+", required=True, metavar="ID", help="the memories that are about it")
    split.add_argument("--aliases", nargs="+", default=(), metavar="ALIAS", help="the aliases that are its")
    yield split
    alias = _action(actions, "alias", "give an entity another name; twice is as once")
    _entity(alias)
    alias.add_argument("alias", metavar="ALIAS", help="the other name; no other entity may have it")
    yield alias
    explain = _action(actions, "explain", "tell what a name would mean in a retain, and why", EXPLAIN)
    explain.add_argument("name", metavar="NAME")
    explain.add_argument("--kind", default="", help="person, organisation, place, product, concept (default) or label")
    explain.add_argument("--beside", nargs="+", default=(), metavar="NAME", help="names that come with it")
    explain.add_argument("--time", metavar="ISO", help="when it is said (default: now)")
    yield explain


def _action(
    actions: "argparse._SubParsersAction[argparse.ArgumentParser]",
    name: str,
    about: str,
    epilog: str = "",
) -> argparse.ArgumentParser:
    action = actions.add_parser(
        name,
        help=about,
        description=f"{about[0].upper()}{about[1:]}.",
        epilog=epilog,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    action.set_defaults(usage=action.prog.removeprefix("recallmesh "))
    action.add_argument("--bank", required=True, metavar="B", help="the bank")
    return action


def _entity(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("entity", metavar="ENTITY", help="its name, another name of it, or its id")
