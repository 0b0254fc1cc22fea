"""The light package for Python: built as a wheel, alone in an environment, run against a mesh."""

import json
import subprocess
import sys
import tomllib
from importlib.metadata import version
from pathlib import Path

import pytest
from clients.tour import ROOT, Client, build, run_against_nobody, run_tour

UV = str(Path(sys.executable).with_name("uv"))
WHEEL = f"dist/recallmesh_client-{version('recallmesh')}-py3-none-any.whl"
PYTHON = Client(
    "python",
    tools=(UV,),
    build=(
        (UV, "build", "--quiet", "--wheel", "--no-build-isolation", "--python", sys.executable, "--out-dir", "dist"),
        (UV, "venv", "--quiet", "--clear", "--python", sys.executable, ".venv"),
        (UV, "pip", "install", "--quiet", "--python", ".venv", "--constraint", "../../requirements.lock", WHEEL),
    ),
    command=(".venv/bin/python", "tour.py"),
)
PARTS = {"client", "core", "rpc", "v1"}
NEEDED = {"googleapis-common-protos", "grpcio", "grpcio-health-checking", "protobuf", "structlog"}
LOOK = """
import importlib.metadata, importlib.util, json, pkgutil, sys
import recallmesh.client
print(json.dumps({
    "imported": sorted({name.partition(".")[0] for name in sys.modules} - sys.stdlib_module_names),
    "parts": sorted(one.name for one in pkgutil.iter_modules(recallmesh.__path__)),
    "distributions": sorted(one.name for one in importlib.metadata.distributions()),
    "mesh": importlib.util.find_spec("recallmesh.mesh") is not None,
}))
"""
pytestmark = [pytest.mark.clients, pytest.mark.timeout(900)]


async def test_the_tour_in_python_does_all_that_a_client_has_to(served):
    await run_tour(PYTHON, served)


async def test_the_tour_in_python_says_when_there_is_no_mesh():
    await run_against_nobody(PYTHON)


def test_the_light_package_has_what_a_client_needs_and_nothing_else():
    build(PYTHON)
    # -I: neither this clone nor the environment around it is seen.
    looked = subprocess.run(
        [PYTHON.folder / ".venv/bin/python", "-I", "-c", LOOK], check=True, capture_output=True, text=True
    )
    found = json.loads(looked.stdout)
    assert set(found["parts"]) == PARTS
    assert not found["mesh"]
    installed = {name.replace("_", "-") for name in found["distributions"]}
    assert installed - {"typing-extensions"} == NEEDED | {"recallmesh-client"}
    allowed = {"__main__", "recallmesh", "grpc", "grpc_health", "google", "structlog", "typing_extensions"}
    assert {name for name in found["imported"] if "cython" not in name} <= allowed


def test_the_light_package_bounds_what_it_needs_as_the_whole_one_does():
    def needs(path):
        return set(tomllib.loads((ROOT / path).read_text(encoding="utf-8"))["project"]["dependencies"])

    assert needs("clients/python/pyproject.toml") <= needs("pyproject.toml")
