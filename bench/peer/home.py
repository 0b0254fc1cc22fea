"""Where the peer lives: an environment of its own below ``.peer``, made once from the package registry."""

import os
import pwd
import subprocess
import sys
from pathlib import Path

VERSION = "1.1.0"
PACKAGES = (
    f"hindsight-api-slim[embedded-db]=={VERSION}",
    # With 1.5.0, which its own bounds allow, it fails to read any date and does not say so.
    "dateparser==1.4.2",
)
HOME = Path(__file__).parents[2] / ".peer"
ENVIRONMENT = HOME / "venv"
LOGS = HOME / "logs"
DATABASE = HOME / "database"
INSTALLED = HOME / "installed.txt"
"""What the environment holds, a line a package; written last, so that it is whole where this is."""
OWNER = "postgres"
"""Who the database runs as where we are root, which it refuses to be."""


def install() -> None:
    """Make the environment, if it is not there (some 300 MB of downloads)."""
    if INSTALLED.exists():
        return
    HOME.mkdir(exist_ok=True)
    uv, python = str(Path(sys.executable).with_name("uv")), str(ENVIRONMENT / "bin" / "python")
    print(f"installing Hindsight {VERSION} below {HOME.name} (once)", file=sys.stderr)
    _run(uv, "venv", "--quiet", "--clear", "--python", sys.executable, str(ENVIRONMENT))
    _run(uv, "pip", "install", "--quiet", "--python", python, *PACKAGES)
    INSTALLED.write_text(_run(uv, "pip", "freeze", "--python", python), encoding="utf-8")


def programme(name: str) -> str:
    """Return a programme of the environment."""
    return str(ENVIRONMENT / "bin" / name)


def database_programme() -> str:
    """Return the programme that starts and stops the database of the package."""
    return str(next(ENVIRONMENT.glob("lib/python*/site-packages/pg0/bin/pg0")))


def as_owner(words: list[str]) -> list[str]:
    """Return how to run a command as who the database runs as: it refuses root."""
    if os.geteuid():
        return words
    return ["runuser", "-u", OWNER, "--", *words]


def give_to_owner(folder: Path) -> None:
    """Make a folder, and let who the database runs as write there."""
    folder.mkdir(parents=True, exist_ok=True)
    if not os.geteuid():
        owner = pwd.getpwnam(OWNER)
        os.chown(folder, owner.pw_uid, owner.pw_gid)


def _run(*words: str) -> str:
    done = subprocess.run(words, check=False, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{' '.join(words)}\n{done.stderr}")
    return done.stdout
