"""A whole mesh backed up, restored, verified and mended from the command line, as an operator's jobs do it."""

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from datetime import UTC, datetime

import pytest

from recallmesh.core.bank import Bank, BankRef
from recallmesh.core.ledger import Ledger
from recallmesh.ledger import open_ledger

pytestmark = pytest.mark.timeout(600)

COMMAND = (sys.executable, "-c", "import sys; from recallmesh.cli import main; sys.exit(main())")
ENV = {name: value for name, value in os.environ.items() if not name.startswith("RECALLMESH_")}


def recallmesh(*words, **env):
    return subprocess.run((*COMMAND, *words), capture_output=True, text=True, check=False, env=ENV | env)


def lines_of(done) -> dict[str, dict]:
    """What the job said of each bank, by tenant and id."""
    said = [json.loads(line) for line in done.stdout.splitlines()]
    return {f"{one['tenant']}/{one['bank']}": one for one in said}


def log_of(done) -> dict:
    return json.loads(done.stderr.splitlines()[-1])


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    """A folder with a bank of three memories, and an empty one of another tenant."""
    folder = tmp_path_factory.mktemp("data")
    lines = "\n".join(json.dumps({"content": f"Nadia: I baked loaf number {n}.", "time": None}) for n in range(3))
    (folder / "lines.jsonl").write_text(lines, encoding="utf-8")
    done = recallmesh("retain", "--bank", "diary", "--file", str(folder / "lines.jsonl"), "--data", str(folder))
    assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture(scope="module")
def tenants(kept):
    async def add() -> None:
        async with open_ledger(f"sqlite:///{kept}/ledger.db") as ledger:
            await _another(ledger)

    asyncio.run(add())
    return kept


async def _another(ledger: Ledger) -> None:
    await ledger.create_bank(Bank(BankRef("diary", "acme"), "uid-acme", datetime(2026, 3, 1, tzinfo=UTC)))


@pytest.fixture(scope="module")
def backup(tenants):
    file = tenants / "mesh.jsonl.gz"
    done = recallmesh("backup", str(file), "--data", str(tenants))
    assert done.returncode == 0, done.stderr
    assert "2 banks" in done.stdout
    assert "3 memories" in done.stdout
    return file


def test_a_backup_is_private_and_leaves_nothing_beside_it(backup):
    assert backup.stat().st_mode & 0o077 == 0
    assert not list(backup.parent.glob("*.partial")) + list(backup.parent.glob(".*partial"))


def test_a_backup_takes_no_files_place(backup, tenants):
    before = backup.read_bytes()
    done = recallmesh("backup", str(backup), "--data", str(tenants))
    assert done.returncode == 2
    assert "is there already" in done.stderr
    assert backup.read_bytes() == before


def test_a_backup_can_be_looked_through(backup, tmp_path):
    done = recallmesh("restore", "--check", str(backup), "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["rows"]["memories"] == 3
    cut = tmp_path / "cut.gz"
    cut.write_bytes(backup.read_bytes()[:-20])
    done = recallmesh("restore", "--check", str(cut))
    assert done.returncode == 2
    assert "cut off" in done.stderr


def test_a_restored_mesh_has_its_indexes_and_is_mended_where_one_is_lost(backup, tmp_path):
    home = tmp_path / "restored"
    done = recallmesh("restore", str(backup), "--data", str(home))
    assert done.returncode == 0, done.stderr
    assert "made the indexes of 3 memories in" in done.stderr

    again = recallmesh("restore", str(backup), "--data", str(home))
    assert again.returncode == 1
    assert "not empty" in again.stderr

    for file in home.glob("keyword.db*"):
        file.unlink()
    done = recallmesh("verify", "--all-banks", "--json", "--data", str(home))
    assert done.returncode == 1
    found = lines_of(done)
    assert found.keys() == {"default/diary", "acme/diary"}
    assert {arm["arm"]: arm["missing"] for arm in found["default/diary"]["arms"]} == {
        "semantic": 0,
        "keyword": 3,
        "graph": 0,
    }
    assert found["acme/diary"]["well"]
    assert log_of(done)["ill"] == 1

    done = recallmesh("repair", "--all-banks", "--json", "--data", str(home))
    assert done.returncode == 0, done.stderr
    assert lines_of(done)["default/diary"]["mended"] == 3
    assert log_of(done) | {"seconds": 0, "timestamp": ""} == {
        "banks": 2,
        "memories": 3,
        "mended": 3,
        "ill": 0,
        "seconds": 0,
        "event": "repair.finished",
        "level": "info",
        "timestamp": "",
    }


def test_a_killed_backup_leaves_no_file_of_that_name(tenants, tmp_path):
    """It is killed as soon as it has begun to write."""
    file = tmp_path / "mesh.jsonl.gz"
    with subprocess.Popen((*COMMAND, "backup", str(file), "--data", str(tenants)), env=ENV) as running:
        while running.poll() is None and not list(tmp_path.glob(".mesh.jsonl.gz.*")):
            time.sleep(0.001)
        running.send_signal(signal.SIGKILL)
    assert running.returncode == -signal.SIGKILL or file.exists()
    if running.returncode:
        assert not file.exists()
    done = recallmesh("backup", str(tmp_path / "again.gz"), "--data", str(tenants))
    assert done.returncode == 0, done.stderr


def test_a_restore_from_what_is_no_file_says_so(tmp_path):
    done = recallmesh("restore", str(tmp_path / "none.gz"), "--data", str(tmp_path))
    assert done.returncode == 2
    assert "cannot be read: No such file" in done.stderr
