"""The pieces that the command line's grammar is put together from."""

import argparse
from typing import NoReturn, TypeAlias

from recallmesh.core.tags import TagMode


class Parser(argparse.ArgumentParser):
    """An argument parser whose errors end with what to do next."""

    def error(self, message: str) -> NoReturn:
        """Say what is wrong, and where to read how it is right; exits with 2."""
        self.exit(2, f"{self.prog}: {message}\n  how it is used: {self.prog} --help\n")


Commands: TypeAlias = "argparse._SubParsersAction[Parser]"  # noqa: SLF001 - the only name argparse has for it


def command(commands: Commands, name: str, module: str, about: str, epilog: str = "") -> Parser:
    """Add a command, which the module of this name carries out; its ``run`` is given the words."""
    made = commands.add_parser(
        name,
        help=about,
        description=f"{about[0].upper()}{about[1:]}.",
        epilog=epilog,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    made.set_defaults(module=module, usage=name)
    return made


def add_place(parser: argparse.ArgumentParser) -> None:
    """Add the words that say which mesh is meant."""
    place = parser.add_argument_group("where the mesh is")
    place.add_argument("--server", metavar="ADDRESS", help="a running mesh, host:port (default: RECALLMESH_SERVER)")
    place.add_argument(
        "--data",
        metavar="DIR",
        help="without a server: the folder of the stores (default: RECALLMESH_DATA, see check-config)",
    )


def add_json(parser: argparse.ArgumentParser) -> None:
    """Add ``--json``."""
    parser.add_argument("--json", action="store_true", help="print the response as protobuf JSON")


def add_bank(parser: argparse.ArgumentParser) -> None:
    """Add the bank that is meant."""
    parser.add_argument("--bank", required=True, metavar="B", help="the bank")


def add_tags(parser: argparse.ArgumentParser, what: str = "memories") -> None:
    """Add the words for a test of the tags of ``what``."""
    parser.add_argument("--tags", nargs="+", default=(), metavar="TAG", help=f"only {what} with these tags")
    parser.add_argument(
        "--tags-match",
        choices=tuple(m.value for m in TagMode),
        default="any",
        metavar="MODE",
        help=f"how they must match: {', '.join(TagMode)} (default: any, untagged included)",
    )
