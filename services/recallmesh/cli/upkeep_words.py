"""The words of the commands by which a whole mesh is kept: backup, restore, reembed."""

import argparse

BACKUP = "write the whole ledger, of all banks, to one file"
RESTORE = "fill an empty ledger from a backup, and make the indexes from it"

BACKUP_EXAMPLES = """\
The ledger is the truth: vectors, words and the graph are made anew from it.
The file is of one moment, also while others retain; it is the same whatever
database the ledger is in, and may be restored into another. It gets its name
when it is whole, has a checksum, and is never put in the place of another.
It holds all that banks were told, and the secrets of webhooks: keep it so.

examples:
  recallmesh backup /backups/mesh-2026-11-30.jsonl.gz
  recallmesh restore --check /backups/mesh-2026-11-30.jsonl.gz

exit codes: 0 written and read back, 1 failed, 2 the file is there already
"""

RESTORE_EXAMPLES = """\
Looks through the whole file first, and writes it in one transaction: whatever
happens, the ledger is as it was or whole. One that is not empty is refused.
Then every index is made from the ledger, which costs embedding each memory;
interrupted, it goes on with `recallmesh repair --all-banks`.

examples:
  recallmesh restore mesh.jsonl.gz --data /srv/mesh      into a new folder
  RECALLMESH_LEDGER__URL=postgresql://… recallmesh restore mesh.jsonl.gz
  recallmesh restore mesh.jsonl.gz --no-repair           the ledger alone

exit codes: 0 restored, 1 failed or an index could not be made, 2 no backup
"""

REEMBED = "change the embedding model without a gap"

REEMBED_EXAMPLES = """\
Two models for a while: the one of RECALLMESH_EMBEDDER__… answers, the one of
RECALLMESH_EMBEDDER__NEXT__… is filled beside it. The ledger says which is
which, so it is said once for all processes of a mesh, and tells tenants
nothing. Every step can be killed and said again.

  recallmesh reembed start       the next model is written beside the first
  recallmesh reembed fill        makes the vectors that it lacks, of all banks
  recallmesh reembed status      which model answers, and what each one lacks
  recallmesh reembed switch      fills what came, and has the next one answer
  recallmesh reembed switch --back        and the first one again
  recallmesh reembed drop        a minute later: the one that does not answer
                                 is written no more, and its vectors go

It works on the ledger, the embedders and the semantic service that the
settings name; --server is short for one process that has all of them.
The whole way, with restarts: docs/operation.md

exit codes: 0 done, 1 failed, or (status) the model beside lacks something
"""

COMMANDS = (
    ("backup", BACKUP, BACKUP_EXAMPLES),
    ("restore", RESTORE, RESTORE_EXAMPLES),
    ("reembed", REEMBED, REEMBED_EXAMPLES),
)
"""Each command's name, which is its module's too, what it does, and its examples."""
STEPS = ("start", "fill", "status", "switch", "drop")


def add_words(name: str, parser: argparse.ArgumentParser) -> None:
    """Add a command's words."""
    if name == "reembed":
        parser.add_argument("step", choices=STEPS, metavar="STEP", help=f"one of {', '.join(STEPS)}")
        parser.add_argument("--back", action="store_true", help="with switch: to the embedder of before")
        parser.add_argument("--server", metavar="ADDRESS", help="the process that has vectors and embedder, host:port")
        add_pace(parser)
    else:
        parser.add_argument("file", metavar="FILE", help="the backup, JSON lines packed by gzip")
    parser.add_argument("--data", metavar="DIR", help="the folder of the embedded stores")
    parser.add_argument("--json", action="store_true", help="print a JSON object")
    if name == "restore":
        parser.add_argument("--check", action="store_true", help="look through the file, and do nothing else")
        parser.add_argument("--no-repair", action="store_true", help="do not make the indexes")
        add_pace(parser)


def add_pace(parser: argparse.ArgumentParser) -> None:
    """Add the bound on what the work may take from those who use the mesh meanwhile."""
    parser.add_argument(
        "--at-most", type=float, default=0.0, metavar="N", help="memories a second (default: as fast as it goes)"
    )
