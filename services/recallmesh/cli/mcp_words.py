"""The words of ``recallmesh mcp``."""

import argparse

ABOUT = "give an agent this memory as tools, by the Model Context Protocol"
EXAMPLES = """\
An agent starts the command itself and speaks with it over standard input and
output. Its configuration, in the form that most agents have:
  {"mcpServers": {"memory": {"command": "recallmesh",
    "args": ["mcp", "--bank", "diary", "--create-bank"]}}}

Tools: recall, retain, list, forget. With --read-only: recall and list.

examples:
  recallmesh mcp --bank diary
      one bank, on the files of --data (which one process can use at a time)
  recallmesh mcp --bank diary --server 127.0.0.1:7070
      the same of a running mesh, which any number of agents can share
  recallmesh mcp --bank diary --bank shared
      two banks; a call that names none means the first
  recallmesh mcp --listen 127.0.0.1:7081 --server 127.0.0.1:7070
      for agents that reach tools by a URL: http://127.0.0.1:7081/mcp

Without --bank every call has to name one, and may name any.

A key for the mesh: RECALLMESH_KEY, or with --listen the header "Authorization:
Bearer KEY" of each request, which is passed on to --server.

docs/mcp.md has more.
"""


def add_words(parser: argparse.ArgumentParser) -> None:
    """Add the words, but for where the mesh is."""
    parser.add_argument(
        "--bank",
        action="append",
        default=[],
        metavar="B",
        help="a bank that the agent may use; may be repeated, the first is the default (without: any bank)",
    )
    parser.add_argument(
        "--create-bank", action="store_true", help="make a bank that is not there when something is first retained"
    )
    parser.add_argument("--read-only", action="store_true", help="offer nothing that changes a bank")
    parser.add_argument(
        "--listen",
        metavar="HOST:PORT",
        help="serve over HTTP in place of standard input and output; on loopback, unless who calls is asked elsewhere",
    )
    parser.add_argument(
        "--host",
        action="append",
        default=[],
        metavar="NAME",
        help="with --listen: a name that it may be called by, besides loopback's; * is any; may be repeated",
    )
