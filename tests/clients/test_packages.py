"""The packages of all languages: of one version, and with nothing of the machine that locked them."""

import json
import re
import tomllib
from xml.etree import ElementTree as ET

from clients.tour import ROOT, repeatable

CLIENTS = ROOT / "clients"


def text(name: str) -> str:
    return (CLIENTS / name).read_text(encoding="utf-8")


def test_the_packages_have_the_version_of_the_mesh():
    mesh = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
    versions = {
        "java": ET.fromstring(text("java/pom.xml")).findtext("{*}version"),  # noqa: S314 - our own file
        "typescript": json.loads(text("typescript/package.json"))["version"],
        "typescript's lock": json.loads(text("typescript/package-lock.json"))["version"],
        "rust": tomllib.loads(text("rust/Cargo.toml"))["workspace"]["package"]["version"],
    }
    assert versions == dict.fromkeys(versions, mesh)


def test_no_lock_names_where_its_packages_were_downloaded():
    assert '"resolved"' not in text("typescript/package-lock.json")
    sources = set(re.findall(r'^source = "(.*)"$', text("rust/Cargo.lock"), re.MULTILINE))
    assert sources == {"registry+https://github.com/rust-lang/crates.io-index"}


def test_the_service_config_names_public_methods_alone():
    protos = "".join(
        path.read_text(encoding="utf-8") for path in (ROOT / "protos" / "recallmesh" / "v1").glob("*.proto")
    )
    services = dict(re.findall(r"^service (\w+) \{(.*?)^\}", protos, re.MULTILINE | re.DOTALL))
    for name in repeatable():
        assert f"rpc {name['method']}(" in services[name["service"].removeprefix("recallmesh.v1.")], name
