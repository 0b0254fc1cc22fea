# ruff: noqa: INP001, T201, S603, S607 - a script that runs git and buf
"""Compares the protos with those of the main branch: what breaks a deployed client is refused.

The base is the first of these that exists: the argument, ``origin/main``, ``main``. Without one nothing can break.
"""

import io
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BUF = Path(sys.executable).parent / "buf"
BASES = ("origin/main", "main")


def archived(base: str) -> bytes | None:
    """Return the base's protos as a tar archive, nothing when it has none."""
    found = subprocess.run(
        ["git", "archive", "--format=tar", base, "buf.yaml", "protos"], cwd=ROOT, capture_output=True, check=False
    )
    return found.stdout if found.returncode == 0 else None


def main(bases: tuple[str, ...]) -> int:
    """Compare with the first base that has protos."""
    for base in bases:
        archive = archived(base)
        if archive is None:
            continue
        with tempfile.TemporaryDirectory() as folder:
            with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
                tar.extractall(folder, filter="data")
            print(f"comparing the protos with {base}")
            return subprocess.run([BUF, "breaking", "--against", folder], cwd=ROOT, check=False).returncode
    print("no base with protos to compare with")
    return 0


if __name__ == "__main__":
    sys.exit(main(tuple(sys.argv[1:]) or BASES))
