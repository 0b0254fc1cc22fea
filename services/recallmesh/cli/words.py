"""The pieces that the command line's grammar is put together from."""

import argparse
import re
from collections.abc import Sequence
from difflib import get_close_matches
from typing import Any, NoReturn, TypeAlias

from recallmesh.core.tags import TagMode

CHOICE = re.compile(r"invalid choice: '([^']*)' \(choose from (.*)\)", re.DOTALL)
"""How argparse says that a word is none of those that there are."""


class Parser(argparse.ArgumentParser):
    """An argument parser whose errors end with what to do next."""

    def error(self, message: str) -> NoReturn:
        """Say what is wrong, what was probably meant, and where to read how it is right; exits with 2."""
        found = CHOICE.search(message)
        meant = _meant(found[1], re.findall(r"[\w.-]+", found[2])) if found else ""
        self._end(message, meant)

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> tuple[Any, list[str]]:  # noqa: ANN401 - as argparse has it
        """Refuse what is no option of this command here, where it is known which there are."""
        words, strange = super().parse_known_args(args, namespace)
        if strange:
            self._refuse(strange)
        return words, strange

    def _refuse(self, strange: Sequence[str]) -> NoReturn:
        wrong = next((word for word in strange if word.startswith("-")), strange[0])
        options = [name for action in self._actions for name in action.option_strings if name.startswith("--")]
        self._end(f"unrecognized arguments: {' '.join(strange)}", _meant(wrong.partition("=")[0], options))

    def _end(self, message: str, meant: str) -> NoReturn:
        self.exit(2, f"{self.prog}: {message}\n{meant}  how it is used: {self.prog} --help\n")


def _meant(word: str, known: Sequence[str]) -> str:
    """Return a line with what was probably meant; empty: nothing is like it."""
    close = get_close_matches(word, known, n=1)
    return f"  did you mean {close[0]}?\n" if close else ""


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
    add_tls(place)
    place.add_argument(
        "--data",
        metavar="DIR",
        help="without a server: the folder of the stores (default: RECALLMESH_DATA, see check-config)",
    )


def add_tls(place: "argparse._ArgumentGroup | argparse.ArgumentParser") -> None:
    """Add the words that say how calls are encrypted."""
    place.add_argument(
        "--ca",
        metavar="FILE",
        help="encrypt, and believe servers of these authorities; public: those of the web (default: RECALLMESH_CA)",
    )
    place.add_argument(
        "--cert", metavar="FILE", help="a certificate of one's own, if the mesh asks for one (default: RECALLMESH_CERT)"
    )
    place.add_argument("--cert-key", metavar="FILE", help="its private key (default: RECALLMESH_CERT_KEY)")
    place.add_argument(
        "--server-name",
        metavar="NAME",
        help="the name in the mesh's certificate, if it is called by another (default: RECALLMESH_SERVER_NAME)",
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
