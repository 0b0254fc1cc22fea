"""The words of the commands about indexes."""

import argparse

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

COMMANDS = (
    ("verify", "verifying", "hold every index against the ledger", VERIFY_EXAMPLES),
    ("repair", "repairing", "make every index hold what the ledger shows", REPAIR_EXAMPLES),
)
"""Each command's name, its module, what it does, and its examples."""
EVERY = "all"
"""What stands for every bank; one of this name is verified and mended with all others."""


def add_bank(parser: argparse.ArgumentParser) -> None:
    """Add the word for the bank."""
    parser.add_argument("--bank", default=EVERY, metavar="B", help=f"one bank (default: {EVERY})")
