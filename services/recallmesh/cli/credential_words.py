"""The words of ``recallmesh key``."""

from recallmesh.cli.words import Commands, command

RIGHTS = ("recall", "retain", "admin")
EXAMPLES = """\
examples:
  recallmesh key new bakery-agent --bank 'bakery-*'
      prints a key that may recall and retain in those banks, this once
  recallmesh key new console --rights recall retain admin --expires 90d
  recallmesh key new reader --tenant acme --rights recall
  recallmesh key list
  recallmesh key rotate bakery-agent
      another key that may do the same; the old one is good for a day more
  recallmesh key revoke bakery-agent
  recallmesh key new --mesh
      a key for the processes of a mesh (RECALLMESH_AUTH__MESH_KEY)

rights:
  recall   read: recall, list and show what banks hold
  retain   write: retain, change and delete what is in a bank
  admin    make, set up, export, import, mend and delete banks; webhooks
None brings another with it.

The file is that of --keys, else RECALLMESH_AUTH__KEYS. It holds hashes, never a
key. A running mesh reads it again within a second or two. docs/security.md
"""


def add_key(commands: Commands) -> None:
    """Add the command."""
    parser = command(commands, "key", "credentials", "make, list, rotate and revoke the keys of callers", EXAMPLES)
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    new = actions.add_parser("new", help="make a key, and print it this once")
    new.add_argument("name", nargs="?", metavar="NAME", help="what logs and lists call it: who or what uses it")
    new.add_argument("--tenant", metavar="T", help="whose banks it is for (default: default)")
    new.add_argument(
        "--rights",
        nargs="+",
        choices=RIGHTS,
        metavar="RIGHT",
        help=f"what it may do: some of {', '.join(RIGHTS)} (default: recall retain)",
    )
    new.add_argument(
        "--bank",
        action="append",
        metavar="B",
        help="a bank it may use, * stands for anything; may be repeated (default: all of the tenant)",
    )
    new.add_argument("--expires", metavar="WHEN", help="90d, 12h, or a date with UTC offset (default: never)")
    new.add_argument("--mesh", action="store_true", help="make a key for the processes of a mesh; keeps nothing")
    listing = actions.add_parser("list", help="list the keys, and which are good")
    listing.add_argument("--json", action="store_true", help="print the rows as a JSON array")
    rotate = actions.add_parser("rotate", help="make a key in the place of another")
    rotate.add_argument("key", metavar="KEY", help="its id or name")
    rotate.add_argument("--overlap", default="1d", metavar="TIME", help="how long the old one is good (default: 1d)")
    revoke = actions.add_parser("revoke", help="make a key good no more")
    revoke.add_argument("key", metavar="KEY", help="its id or name")
    for action in (new, listing, rotate, revoke):
        action.add_argument("--keys", metavar="FILE", help="the file of keys (default: RECALLMESH_AUTH__KEYS)")
        action.set_defaults(usage=action.prog.removeprefix("recallmesh "))
