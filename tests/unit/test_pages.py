"""What the pages for users say is so: commands that they show exist, and calls that they say are missing are."""

import importlib
import inspect
import pkgutil
import re
import shlex
from pathlib import Path

import pytest

from recallmesh import rpc
from recallmesh.cli.parser import build_parser

ROOT = Path(__file__).parents[2]
PAGES = ("README.md", "docs/api.md", "docs/data.md", "docs/speed.md", "docs/quality.md")
BLOCK = re.compile(r"^```sh\n(.*?)^```", re.MULTILINE | re.DOTALL)
COMMAND = re.compile(r"(?<![\w/.`^-])recallmesh (?=[a-z])[^|;&>\n]*")
"""A command in a line of a shell, up to what the shell reads for itself."""
LOOPED = ('"$part"', "keyword")
"""What a loop of the README names, and one of its values."""
SERVICE = re.compile(r"^service (\w+)", re.MULTILINE)
CALL = re.compile(r"^  rpc (\w+)\(", re.MULTILINE)


def shown(page):
    """Return the commands in a page's blocks for the shell."""
    text = (ROOT / page).read_text(encoding="utf-8")
    for block in BLOCK.findall(text):
        for line in block.replace("\\\n", " ").splitlines():
            code = re.sub(r"(^|\s)#.*", "", line).replace(*LOOPED)
            for found in COMMAND.findall(code):
                # In "$(recallmesh … )" the bracket is the shell's; so is what sends the errors elsewhere.
                yield re.sub(r"\s+2$", "", found.strip()).rstrip(')"' if found.count('"') % 2 else ")")


COMMANDS = [(page, command) for page in PAGES for command in shown(page)]


def test_the_pages_show_commands():
    assert {page for page, _ in COMMANDS} >= {"README.md", "docs/data.md"}
    assert len(COMMANDS) > 40


@pytest.mark.parametrize("command", [pytest.param(command, id=f"{page}: {command}") for page, command in COMMANDS])
def test_a_command_that_a_page_shows_is_one(command):
    build_parser().parse_args(shlex.split(command)[1:])


def test_the_calls_that_the_api_page_says_are_missing_are_those_that_no_servicer_has():
    page = (ROOT / "docs/api.md").read_text(encoding="utf-8")
    said = page.split("## What the protos have and this version has not", 1)[1].split("\n## ", 1)[0]
    named = set(re.findall(r"^- `(\w+)` of `(\w+)`", said, re.MULTILINE))
    assert named == set(missing())


def missing():
    """Yield each call, with its service, that every servicer of it leaves as gRPC made it."""
    for proto in (ROOT / "protos/recallmesh/v1").glob("*_service.proto"):
        text = proto.read_text(encoding="utf-8")
        (service,) = SERVICE.findall(text)
        own = [kind for kind in servicers() if any(base.__name__ == f"{service}Servicer" for base in kind.__mro__)]
        assert own, service
        for call in CALL.findall(text):
            if not any(call in vars(kind) for kind in own):
                yield call, service


def servicers():
    """Return the classes of the wire that serve."""
    modules = [importlib.import_module(f"{rpc.__name__}.{found.name}") for found in pkgutil.iter_modules(rpc.__path__)]
    return {
        kind
        for module in modules
        for _, kind in inspect.getmembers(module, inspect.isclass)
        if kind.__name__.endswith("Servicer") and kind.__module__.startswith(f"{rpc.__name__}.")
    }
