"""The words of the commands about stores and indexes."""

import argparse

from recallmesh.cli.upkeep_words import add_pace

VERIFY_EXAMPLES = """\
A row for each bank and each arm that keeps an index (the temporal arm reads
the semantic one's):
  ledger      memories that the ledger shows
  index       memories that the index holds
  missing     in the ledger, not in the index: they cannot be found by this arm
  extra       in the index, not in the ledger: never shown, but in the way
  stale       of another version
  on the way  differ, and the outbox is about to deliver them

exit codes: 0 all equal, 1 one differs or does not answer
mend what differs: recallmesh repair
"""

REPAIR_EXAMPLES = """\
Indexes what an arm lacks or has of another version, takes out what it should
not have, and shows what `recallmesh verify` says then. Works while others
retain and recall, and goes on where it was when it is interrupted.

A lost index: restart with its file or folder away (see docs/data.md), then
  recallmesh repair --bank diary
An index that cannot be opened (the log says so): move it away first.

exit codes: 0 all equal, 1 one could not be mended
"""

MIGRATE_EXAMPLES = """\
A row for the ledger and for each store that is a server of its own (Qdrant,
OpenSearch, Neo4j): the schema that it had and the one that it has now. Doing
it again does nothing, several may do it at once, and no memory is touched.
A mesh refuses a store that was not migrated; embedded stores migrate
themselves when they are opened.

examples:
  recallmesh migrate            after an upgrade, before the mesh starts
  recallmesh migrate --check    says what would be done, and does nothing

exit codes: 0 done or nothing to do, 1 a store is not as this version needs it
"""

DOCTOR_EXAMPLES = """\
A row for each store that the settings name or that lies in the data folder,
for each service that has an address, and for the files of keys:
  store       what it is, and its version; empty: it does not answer
  schema      the one that it was migrated to (see `recallmesh migrate`)
  memories    how many it holds, of all banks; the ledger: how many it shows
  on the way  changes that the outbox has for the arm, and since when
  clock       how far it is ahead of this machine's
The last column is "well", or says what is wrong and what to do.

With --server, the services of that mesh and the stores that are servers.

exit codes: 0 all is well, 1 something is wrong
"""

MIGRATE = "bring the stores to the schema of this version"
DOCTOR = "look at every store and service, and say what is wrong"

COMMANDS = (
    ("verify", "verifying", "hold every index against the ledger", VERIFY_EXAMPLES),
    ("repair", "repairing", "make every index hold what the ledger shows", REPAIR_EXAMPLES),
)
"""Each command's name, its module, what it does, and its examples."""
EVERY = "all"
"""What stands for every bank; one of this name is verified and mended with all others."""


def add_bank(parser: argparse.ArgumentParser) -> None:
    """Add the words for the banks."""
    parser.add_argument("--bank", default=EVERY, metavar="B", help=f"one bank (default: {EVERY})")
    parser.add_argument(
        "--all-banks",
        action="store_true",
        help="those of all tenants, as a job: works on the stores and services that the settings name, not through"
        " --server; a line a bank as it is done, with --json an object each; goes on where it was when begun again",
    )
    add_pace(parser)


def add_migrate(parser: argparse.ArgumentParser) -> None:
    """Add the words of ``recallmesh migrate``."""
    parser.add_argument("--check", action="store_true", help="say what would be done, and do nothing")
    parser.add_argument("--data", metavar="DIR", help="the folder of the embedded stores")
    add_rows_json(parser)


def add_rows_json(parser: argparse.ArgumentParser) -> None:
    """Add ``--json`` for a table that is no response of the mesh."""
    parser.add_argument("--json", action="store_true", help="print the rows as a JSON array")
