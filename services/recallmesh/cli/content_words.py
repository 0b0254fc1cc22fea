"""The words of ``recallmesh document``, ``memory``, ``tag`` and ``operation``, with help that teaches."""

import argparse

from recallmesh.cli.words import Commands, Parser, add_bank, add_json, add_place, add_tags, command
from recallmesh.core.memory import ALL_FACT_TYPES, MemoryState
from recallmesh.core.operation import OperationState

IN_A_PIPE = "\nIn a pipe a list is lines with tabs, and with --json an object a line.\n"
DOCUMENTS = f"""\
examples:
  recallmesh document list --bank diary
  recallmesh document show --bank diary call-7
      what it is, and the chunks of text that it was cut into
  recallmesh document reprocess --bank diary call-7
      make its memories once more, as the bank is set up now: after another
      mode, mission or language model. Until the new ones are found the old
      ones are; what stays the same stays. Chunks of which a memory was deleted
      or edited are left as they are.
  recallmesh document delete --bank diary call-7
      its text and all that was made of it, for good
{IN_A_PIPE}"""
MEMORIES = f"""\
examples:
  recallmesh memory list --bank diary --types world --states active
  recallmesh memory list --bank diary --document call-7 --json | jq -r .text
  recallmesh memory show --bank diary 5f1c0d1e-…
  recallmesh memory edit --bank diary 5f1c0d1e-… --text "Leo: I have two dogs."
  recallmesh memory invalidate --bank diary 5f1c0d1e-…
      it holds no longer: recall leaves it out, until it is restored
  recallmesh memory delete --bank diary 5f1c0d1e-…
      for good; its document's text about it is withheld from then on

A memory's id is the first column of `memory list`, and in `recall --json`.
{IN_A_PIPE}"""
TAGS = f"""\
examples:
  recallmesh tag list --bank diary
{IN_A_PIPE}"""
OPERATIONS = f"""\
An operation is work that goes on after the call returned: a retain that did
not wait, a document that is reprocessed.

examples:
  recallmesh operation list --bank diary --states failed
  recallmesh operation watch --bank diary 41d2…
  recallmesh operation retry --bank diary 41d2…

The work is done by the mesh that serves the bank. Without --server that is
this command itself, so it goes on only while one runs: watch it.

exit codes of watch: 0 it succeeded, 1 it failed or was cancelled
{IN_A_PIPE}"""


def add_contents(commands: Commands) -> None:
    """Add the commands about what a bank holds."""
    _add_document(commands)
    _add_memory(commands)
    _add_tag(commands)
    _add_operation(commands)


def _add_document(commands: Commands) -> None:
    parser = command(commands, "document", "documents", "see, reprocess and delete what a bank was told", DOCUMENTS)
    actions = _actions(parser)
    add_tags(_action(actions, "list", "list the documents, by id"), "documents")
    _one(_action(actions, "show", "show a document and its chunks"), "DOCUMENT")
    reprocess = _action(actions, "reprocess", "make its memories once more, from its stored text")
    _one(reprocess, "DOCUMENT")
    reprocess.add_argument("--no-wait", action="store_true", help="start it, and print the operation")
    _deleting(_action(actions, "delete", "delete documents and all that was made of them"), "DOCUMENT")


def _add_memory(commands: Commands) -> None:
    parser = command(commands, "memory", "memories", "see, edit, hide and delete single memories", MEMORIES)
    actions = _actions(parser)
    listing = _action(actions, "list", "list the memories, by id")
    listing.add_argument(
        "--types",
        nargs="+",
        choices=tuple(t.value for t in ALL_FACT_TYPES),
        default=(),
        metavar="TYPE",
        help="world, experience, observation (default: all)",
    )
    listing.add_argument(
        "--states",
        nargs="+",
        choices=tuple(s.value for s in MemoryState),
        default=(),
        metavar="STATE",
        help="active, invalidated, retiring (default: all)",
    )
    add_tags(listing)
    listing.add_argument("--document", default="", metavar="ID", help="only those of this document")
    listing.add_argument("--entity", default="", metavar="ID", help="only those that mention this entity, by its id")
    _one(_action(actions, "show", "show all that is known of a memory"), "MEMORY")
    _one(_action(actions, "history", "list what a memory said before, newest first"), "MEMORY")
    edit = _action(actions, "edit", "give a memory another text, tags or context")
    _one(edit, "MEMORY")
    edit.add_argument("--text", metavar="T", help="what it says (default: as it is)")
    edit.add_argument("--tags", nargs="*", metavar="TAG", help="its tags; --tags alone: none (default: as they are)")
    edit.add_argument("--context", metavar="C", help="who is speaking, or what this is (default: as it is)")
    _some(_action(actions, "invalidate", "hide memories from recall; twice is as once"), "MEMORY")
    _some(_action(actions, "restore", "show hidden memories again; twice is as once"), "MEMORY")
    _deleting(_action(actions, "delete", "delete memories for good"), "MEMORY")


def _add_tag(commands: Commands) -> None:
    parser = command(commands, "tag", "tags", "see the tags of a bank's memories", TAGS)
    _action(_actions(parser), "list", "list the tags, with how many memories each is on")


def _add_operation(commands: Commands) -> None:
    parser = command(commands, "operation", "operations", "see, watch, cancel and retry a bank's work", OPERATIONS)
    actions = _actions(parser)
    listing = _action(actions, "list", "list the operations, oldest first")
    listing.add_argument(
        "--states",
        nargs="+",
        choices=tuple(s.value for s in OperationState),
        default=(),
        metavar="STATE",
        help=f"{', '.join(OperationState)} (default: all)",
    )
    for name, about in (
        ("show", "show an operation"),
        ("watch", "watch an operation until it is finished"),
        ("cancel", "cancel an operation; one that runs stops at its next step"),
        ("retry", "put a failed or cancelled operation into the queue again"),
    ):
        _one(_action(actions, name, about), "OPERATION")


Actions = Commands


def _actions(parser: Parser) -> Actions:
    return parser.add_subparsers(dest="action", metavar="ACTION", required=True)


def _action(actions: Actions, name: str, about: str) -> Parser:
    made = actions.add_parser(name, help=about, description=f"{about[0].upper()}{about[1:]}.", allow_abbrev=False)
    made.set_defaults(usage=made.prog.removeprefix("recallmesh "))
    add_bank(made)
    add_json(made)
    add_place(made)
    return made


def _one(parser: argparse.ArgumentParser, name: str) -> None:
    parser.add_argument("id", metavar=name, help="its id")


def _some(parser: argparse.ArgumentParser, name: str) -> None:
    parser.add_argument("ids", nargs="+", metavar=name, help="their ids; done one after the other")


def _deleting(parser: argparse.ArgumentParser, name: str) -> None:
    _some(parser, name)
    parser.add_argument("--yes", action="store_true", help="do not ask")
