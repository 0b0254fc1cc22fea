"""The pod that is rendered runs: its command, settings and files, on this machine; and `helm test` finds it well."""

import asyncio
import os
import subprocess

import pytest
from deployment import COMMAND, Process, clean_environment, open_processes
from rendering import environment, of_kind, pods

PLACES = ("/etc/recallmesh/mesh", "/etc/recallmesh/keys")
HERE = {"RECALLMESH_DOOR__LISTEN": "127.0.0.1:0", "RECALLMESH_SERVE__METRICS_PORT": "0"}
"""Addresses that other tests do not have."""


def files(objects, folder):
    """Write what the chart's Secret holds as the pods have it; returns its content."""
    told = of_kind(objects, "Secret")["mesh-recallmesh-auth"]["stringData"]
    for place, name in zip(PLACES, ("mesh-key", "keys.json"), strict=True):
        path = folder / place.rpartition("/")[2] / name
        path.parent.mkdir()
        path.write_text(told[name], encoding="utf-8")
    return told


def here(variables, folder):
    """Return variables with files in a folder of the test's, in the place of a pod's."""
    return {name: value.replace("/etc/recallmesh", str(folder)) for name, value in variables.items()} | HERE


async def run(words, variables):
    """Run a command to its end; returns what it printed and its exit code."""
    path = f"{COMMAND.parent}{os.pathsep}{os.environ['PATH']}"
    told = clean_environment(variables) | {"PATH": path}
    done = await asyncio.to_thread(
        subprocess.run, words, env=told, capture_output=True, text=True, check=False, timeout=100
    )
    return done.stdout + done.stderr, done.returncode


@pytest.mark.timeout(200)
async def test_the_pod_serves_who_has_a_key_and_is_found_well_by_its_test(helm, tmp_path):
    objects = helm.render({"mode": "embedded", "door": {"enabled": True}})
    secret = files(objects, tmp_path)
    (container,) = pods(objects)["mesh"]["containers"]
    assert [*container["command"], container["args"][0]] == ["recallmesh", "serve"]
    variables = here(environment(objects, pods(objects)["mesh"]), tmp_path)
    process = Process(tuple(container["args"][1:]), tmp_path / "data", tmp_path / "log", variables)
    async with open_processes({"mesh": process}):
        said, code = await run(["recallmesh", "bank", "list", "--server", process.address], {})
        assert (code, "UNAUTHENTICATED" in said or "credential" in said) == (1, True), said
        key = {"RECALLMESH_KEY": secret["first-key"]}
        said, code = await run(["recallmesh", "bank", "list", "--server", process.address], key)
        assert code == 0, said
        spec = of_kind(objects, "Pod")["mesh-recallmesh-test"]["spec"]
        told = here(environment(objects, spec), tmp_path)
        told |= {name: f"dns:///{process.address}" for name in told if name.endswith("__ADDRESS")}
        told["RECALLMESH_DATA"] = str(tmp_path / "test")
        (tester,) = spec["containers"]
        said, code = await run([*tester["command"], *tester["args"]], told)
        assert code == 0, said
        assert "Porto" in said
