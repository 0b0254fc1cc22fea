# ruff: noqa: INP001, T201, S603, S607 - a script that runs git and buf
"""Compares the protos with those that clients were built of: what breaks one of them is refused.

They are compared twice. With what others work with: the bases given as arguments, else the last tag (``v1.2.3``), else
``origin/main``, else ``main``, whichever is there first. And, always, with ``released.binpb`` beside this script, the
protos of the last release as an image: a clone without tags and branches compares as well, and a commit on main does
not compare with itself alone. ``--keep`` writes that image, which is done at a release and at no other time.
"""

import io
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BUF = Path(sys.executable).parent / "buf"
RELEASED = Path(__file__).resolve().parent / "released.binpb"
TAGS = "v[0-9]*"
BRANCHES = ("origin/main", "main")


def last_tag() -> tuple[str, ...]:
    """Return the last release that this commit comes after; nothing when no tag is here."""
    command = ["git", "describe", "--tags", "--abbrev=0", "--match", TAGS]
    found = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    return tuple(found.stdout.split()) if found.returncode == 0 else ()


def archived(base: str) -> bytes | None:
    """Return the base's protos as a tar archive, nothing when it has none."""
    found = subprocess.run(
        ["git", "archive", "--format=tar", base, "buf.yaml", "protos"], cwd=ROOT, capture_output=True, check=False
    )
    return found.stdout if found.returncode == 0 else None


def breaks(name: str, against: str | Path) -> bool:
    """Compare, and tell whether something breaks."""
    print(f"comparing the protos with {name}", flush=True)
    return subprocess.run([BUF, "breaking", "--against", against], cwd=ROOT, check=False).returncode != 0


def breaks_a_base(bases: tuple[str, ...]) -> bool:
    """Compare with the first base that has protos."""
    for base in bases:
        archive = archived(base)
        if archive is None:
            continue
        with tempfile.TemporaryDirectory() as folder:
            with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
                tar.extractall(folder, filter="data")
            return breaks(base, folder)
    return False


def main(words: tuple[str, ...]) -> int:
    """Compare with a base and with the release, or keep the image of one; returns the exit code."""
    if words == ("--keep",):
        kept = subprocess.run([BUF, "build", "--exclude-source-info", "--output", RELEASED], cwd=ROOT, check=False)
        return kept.returncode
    if not RELEASED.exists():
        print(f"{RELEASED.name} is gone, without which nothing would be compared: git restore protos")
        return 1
    broken = [breaks_a_base(words or last_tag() or BRANCHES), breaks("the last release", RELEASED)]
    return int(any(broken))


if __name__ == "__main__":
    sys.exit(main(tuple(sys.argv[1:])))
