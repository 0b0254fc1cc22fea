"""Completes an image's bill of materials: what Python's packages are comes in, Debian's packages are added.

``bill.py PYTHON.cdx.json DEBIAN.tsv > SBOM.cdx.json``: CycloneDX, as the part for Python; and what dpkg-query has told
of the image, not of what builds it.
"""

import json
import platform
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

INSTALLED = "ii "


def debian_components(told: str, distribution: str) -> Iterator[dict[str, str]]:
    """Yield a component for each installed package of ``dpkg-query``'s lines: status, name, version, architecture."""
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
    python, debian = (Path(name).read_text(encoding="utf-8") for name in sys.argv[1:])
    release = platform.freedesktop_os_release()
    made = completed(json.loads(python), debian, f"{release['ID']}-{release['VERSION_ID']}")
    json.dump(made, sys.stdout, indent=1)


if __name__ == "__main__":
    main()
