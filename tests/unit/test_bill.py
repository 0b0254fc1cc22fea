"""An image's bill of materials: Debian's packages behind Python's."""

import importlib.util
from pathlib import Path

import pytest

FILE = Path(__file__).parents[2] / "deploy" / "image" / "bill.py"
TOLD = "ii \tlibc6\t2.36-9+deb12u10\tamd64\nrc \tleft\t1.0\tall\nii \tlibstdc++6\t12.2.0-14\tamd64\n"


@pytest.fixture(scope="module")
def bill():
    """Return the script as a module: it is run alone, inside a build."""
    spec = importlib.util.spec_from_file_location("image_bill", FILE)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_installed_packages_are_added_with_their_addresses_and_removed_ones_are_not(bill):
    python = {"name": "grpcio", "purl": "pkg:pypi/grpcio@1.85.3"}
    made = bill.completed({"bomFormat": "CycloneDX", "components": [python]}, TOLD, "debian-12")
    assert made["bomFormat"] == "CycloneDX"
    assert made["components"][0] == python
    libc, cpp = made["components"][1:]
    assert (libc["name"], libc["version"], libc["type"]) == ("libc6", "2.36-9+deb12u10", "library")
    assert libc["purl"] == "pkg:deb/debian/libc6@2.36-9%2Bdeb12u10?arch=amd64&distro=debian-12"
    assert cpp["purl"].startswith("pkg:deb/debian/libstdc%2B%2B6@")


def test_each_component_can_be_referred_to_once(bill):
    references = [one["bom-ref"] for one in bill.completed({}, TOLD, "debian-12")["components"]]
    assert len(references) == len(set(references)) == 2
