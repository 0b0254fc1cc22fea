"""The words of ``recallmesh health``."""

import argparse

from recallmesh.cli.words import add_tls

ABOUT = "ask a server or a door whether it is ready"
EXAMPLES = """\
examples:
  recallmesh health
      the server of these settings (RECALLMESH_SERVE__LISTEN), on this machine
  recallmesh health 127.0.0.1:7071
  recallmesh health http://127.0.0.1:7080
      a JSON door
  recallmesh health mesh.example:7070 --ca ca.pem
      a server that speaks TLS (default: what calls of these settings are encrypted by)
  recallmesh health --live
      whether it answers and is not about to leave, ready or not

For the health checks of containers. A server is ready when every part that it
hosts is, and a part when its store has answered.

exit codes: 0 it is, 1 it is not, or does not answer, 2 usage
"""


def add_words(parser: argparse.ArgumentParser) -> None:
    """Add the words."""
    parser.add_argument(
        "address",
        nargs="?",
        metavar="ADDRESS",
        help="host:port, or a door's http://host:port (default: where these settings have a server listen)",
    )
    add_tls(parser)
    parser.add_argument("--live", action="store_true", help="ask whether it lives, and not whether it is ready")
    parser.add_argument(
        "--timeout", type=float, default=3.0, metavar="S", help="the most seconds to wait for an answer (default: 3)"
    )
