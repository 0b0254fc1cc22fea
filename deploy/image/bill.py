"""Completes an image's bill of materials: what Python's packages are comes in, Debian's packages are added.

``bill.py PYTHON.cdx.json > SBOM.cdx.json``, in the image, whose package database it asks. CycloneDX, as the part for
Python.
"""

import json
import platform
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

FORMAT = "${db:Status-Abbrev}\t${Package}\t${Version}\t${Architecture}\n"
INSTALLED = "ii "


def debian_components(told: str, distribution: str) -> Iterator[dict[str, str]]:
    """Yield a component for each installed package of ``dpkg-query``'s lines."""
    for line in told.splitlines():
        status, name, version, architecture = line.split("\t")
        if status != INSTALLED:
            continue
        place = f"pkg:deb/debian/{quote(name, safe='')}@{quote(version, safe='')}"
        purl = f"{place}?arch={architecture}&distro={distribution}"
        yield {"bom-ref": purl, "type": "library", "name": name, "version": version, "purl": purl}


def completed(bill: dict[str, Any], told: str, distribution: str) -> dict[str, Any]:
    """Return the bill with Debian's packages behind Python's."""
    return bill | {"components": [*bill.get("components", []), *debian_components(told, distribution)]}


def main() -> None:
    """Print the bill."""
    release = platform.freedesktop_os_release()
    asked = ["dpkg-query", "--show", "--showformat", FORMAT]
    told = subprocess.run(asked, check=True, capture_output=True, text=True).stdout  # noqa: S603 - nothing of it is given
    bill = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    json.dump(completed(bill, told, f"{release['ID']}-{release['VERSION_ID']}"), sys.stdout, indent=1)


if __name__ == "__main__":
    main()
