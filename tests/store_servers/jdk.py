"""The Java development kits of this machine."""

import os
import re
import shutil
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from store_servers.server import Missing

PLACES = (
    "/usr/lib/jvm/*",
    "/opt/*",
    "/opt/*/jdk*",
    "/usr/local/*jdk*",
    "/usr/java/*",
    "~/.sdkman/candidates/java/*",
    "~/.jdks/*",
)
"""Where the packages of distributions, of vendors, SDKMAN and IntelliJ put them."""
VERSION = re.compile(r'^JAVA_VERSION="(?:1\.)?(\d+)', re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Jdk:
    """A kit: where, and of which Java."""

    home: Path
    version: int

    def tool(self, name: str) -> str:
        """Return the path of one of its programmes."""
        return str(self.home / "bin" / name)


def find_jdk(lowest: int, highest: int | None = None) -> Jdk:
    """Return the kit of the lowest version that will do.

    Raises:
        Missing: there is none.

    """
    fitting = [one for one in _kits(_homes(os.environ)) if lowest <= one.version <= (highest or one.version)]
    if not fitting:
        wanted = f"Java {lowest} or newer" if highest is None else f"Java {lowest} to {highest}"
        raise Missing(
            f"a JDK of {wanted} is needed: install one (apt-get install openjdk-{lowest}-jdk-headless, or Temurin from "
            "adoptium.net), or name its folder in JAVA_HOME"
        )
    return min(fitting, key=lambda one: (one.version, one.home))


def _homes(environment: Mapping[str, str]) -> Iterable[Path]:
    # JAVA_HOME_21_X64 and the like are how hosted CI machines name the several that they have.
    yield from (Path(value) for name, value in environment.items() if re.fullmatch(r"JAVA_HOME(_\w+)?", name) and value)
    if compiler := shutil.which("javac"):
        yield Path(compiler).resolve().parent.parent
    for place in PLACES:
        pattern = Path(place).expanduser()
        yield from Path(pattern.anchor).glob(str(pattern.relative_to(pattern.anchor)))


def _kits(homes: Iterable[Path]) -> Iterable[Jdk]:
    for home in homes:
        release = home / "release"
        # A runtime alone has a release file as well, but cannot compile.
        if release.is_file() and (home / "bin" / "javac").is_file():
            found = VERSION.search(release.read_text(encoding="utf-8"))
            if found:
                yield Jdk(home, int(found[1]))
