"""The words of the commands by which a whole mesh is kept: backup, restore."""

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

COMMANDS = (("backup", BACKUP, BACKUP_EXAMPLES), ("restore", RESTORE, RESTORE_EXAMPLES))
"""Each command's name, which is its module's too, what it does, and its examples."""


def add_words(name: str, parser: argparse.ArgumentParser) -> None:
    """Add a command's words."""
    parser.add_argument("file", metavar="FILE", help="the backup, JSON lines packed by gzip")
    parser.add_argument("--data", metavar="DIR", help="the folder of the embedded stores")
    parser.add_argument("--json", action="store_true", help="print what it holds as a JSON object")
    if name == "restore":
        parser.add_argument("--check", action="store_true", help="look through the file, and do nothing else")
        parser.add_argument("--no-repair", action="store_true", help="do not make the indexes")
        add_pace(parser)


def add_pace(parser: argparse.ArgumentParser) -> None:
    """Add the bound on what the work may take from those who use the mesh meanwhile."""
    parser.add_argument(
        "--at-most", type=float, default=0.0, metavar="N", help="memories a second (default: as fast as it goes)"
    )
