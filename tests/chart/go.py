"""Go's command, for building the programmes of others."""

import json
import os
import shutil
import signal
import subprocess
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from store_servers.server import Missing

MODULE = Path(__file__).parent / "control_plane"
KINDS = Path(__file__).parent / "kinds"
"""Two modules of ours, which hold no code: their ``go.mod`` pins those of others."""
ENVIRONMENT = {"CGO_ENABLED": "0", "GOFLAGS": "", "GOWORK": "off"}
SAID_CHARS = 2000
"""How much of what a failed command said is repeated."""
NEEDED = "Go is needed to build it, of the version in tests/chart/control_plane/go.mod or newer: https://go.dev/dl"


def run_go(*words: str, within: Path = MODULE, variables: Mapping[str, str] | None = None) -> str:
    """Run a command of Go's in a module of ours, behind what else this machine does; returns what it printed.

    When this process is told to end, so is the command, which removes what it has half made.

    Raises:
        Missing: there is no Go, or it failed; the message has the end of what it said.

    """
    command = shutil.which("go")
    if command is None:
        raise Missing(NEEDED)
    behind = [nice, "-n", "10"] if (nice := shutil.which("nice")) else []
    environment = {**os.environ, **ENVIRONMENT, **(variables or {})}
    said = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen([*behind, command, *words], cwd=within, env=environment, **said) as go:
        try:
            printed, complained = go.communicate()
        except BaseException:
            go.send_signal(signal.SIGINT)
            go.communicate()
            raise
    if go.returncode:
        raise Missing(f"`go {words[0]}` failed: {complained.strip()[-SAID_CHARS:]}")
    return printed


@cache
def go_version() -> str:
    """Return which Go it is, such as go1.26.8."""
    return run_go("env", "GOVERSION").strip()


def pinned(module: str, within: Path = MODULE) -> str:
    """Return the version of a module, without its v."""
    lines = (line.split() for line in (within / "go.mod").read_text(encoding="utf-8").splitlines())
    return next(words[1] for words in lines if words[:1] == [module] and words[1:]).removeprefix("v")


def source(module: str, within: Path = MODULE) -> Path:
    """Return the folder of a module's files, which lies in Go's own cache; fetches them if need be."""
    told = run_go("mod", "download", "-json", f"{module}@v{pinned(module, within)}", within=within)
    return Path(json.loads(told)["Dir"])
