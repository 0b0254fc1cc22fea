"""``recallmesh migrate`` and ``recallmesh doctor`` as an operator meets them, on embedded stores and a served mesh."""

import json
import os
import signal
import socket
import sqlite3
import subprocess
import sys
from contextlib import closing

import at_opensearch
import databases
import pytest
import servers

pytestmark = pytest.mark.timeout(600)

COMMAND = (sys.executable, "-c", "import sys; from recallmesh.cli import main; sys.exit(main())")
ENV = {name: value for name, value in os.environ.items() if not name.startswith("RECALLMESH_")}


def recallmesh(*words, **env):
    return subprocess.run((*COMMAND, *words), capture_output=True, text=True, check=False, env=ENV | env)


def rows_of(done):
    return {row["part"]: row for row in json.loads(done.stdout)}


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    """A folder with one memory in it."""
    folder = tmp_path_factory.mktemp("data")
    done = recallmesh("retain", "--bank", "diary", "--text", "Nadia: I start in a bakery.", "--data", str(folder))
    assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture
def free_address():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return f"127.0.0.1:{taken.getsockname()[1]}"


def test_a_sound_folder_is_well_and_its_stores_hold_what_the_ledger_shows(kept):
    done = recallmesh("doctor", "--json", "--data", str(kept))
    assert done.returncode == 0, done.stdout
    assert {part: row["memories"] for part, row in rows_of(done).items()} == dict.fromkeys(
        ("ledger", "semantic", "keyword", "graph"), "1"
    )
    plain = recallmesh("doctor", "--data", str(kept))
    heading, *lines = plain.stdout.splitlines()
    assert heading.split("\t")[0] == "part"
    assert [line.split("\t")[-1] for line in lines] == ["well"] * 4


def test_a_doctor_makes_no_folder_and_migrates_nothing(tmp_path):
    folder = tmp_path / "none"
    for words in (("doctor",), ("migrate", "--check")):
        assert recallmesh(*words, "--data", str(folder)).returncode == 0
    assert not folder.exists()


def test_an_index_that_lost_something_is_told_with_the_remedy(kept, tmp_path):
    copy = tmp_path / "copy"
    subprocess.run(["/bin/cp", "-r", str(kept), str(copy)], check=True)
    with closing(sqlite3.connect(copy / "graph.db")) as graph:
        graph.execute("DELETE FROM memory")
        graph.commit()
    done = recallmesh("doctor", "--json", "--data", str(copy))
    assert done.returncode == 1
    rows = rows_of(done)
    assert "recallmesh repair mends them" in rows["graph"]["advice"][0]
    assert rows["keyword"]["advice"] == []


def test_a_service_that_does_not_answer_is_told_with_how_to_start_it(kept, free_address):
    done = recallmesh("doctor", "--json", "--data", str(kept), RECALLMESH_KEYWORD__ADDRESS=free_address)
    assert done.returncode == 1
    row = rows_of(done)["keyword"]
    assert row["where"] == free_address
    assert f"recallmesh serve keyword --listen {free_address}" in row["advice"][0]


def test_a_served_mesh_is_looked_at_over_the_wire_and_beside_it(kept):
    words = (*COMMAND, "serve", "all", "--listen", "127.0.0.1:0", "--data", str(kept))
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=ENV) as server:
        address = server.stdout.readline().rpartition(" on ")[2].strip()
        away = recallmesh("doctor", "--json", "--server", address)
        beside = recallmesh("doctor", "--json", "--data", str(kept))
        server.send_signal(signal.SIGINT)
        assert server.wait(60) == 0
    assert away.returncode == 0, away.stdout
    assert sorted(rows_of(away)) == ["bank", "recall", "retain"]
    assert beside.returncode == 0, beside.stdout
    assert rows_of(beside)["keyword"]["memories"] == ""  # one process has the file, and it is not this one
    assert rows_of(beside)["graph"]["memories"] == "1"


def test_a_ledger_is_migrated_once_and_then_left_alone(tmp_path):
    url = f"sqlite:///{tmp_path / 'ledger.db'}"
    data = ("--data", str(tmp_path / "data"))
    check = recallmesh("migrate", "--check", "--json", *data, RECALLMESH_LEDGER__URL=url)
    first = recallmesh("migrate", "--json", *data, RECALLMESH_LEDGER__URL=url)
    second = recallmesh("migrate", "--json", *data, RECALLMESH_LEDGER__URL=url)
    assert [done.returncode for done in (check, first, second)] == [0, 0, 0]
    assert rows_of(check)["ledger"]["outcome"] == "migrates itself when it is opened"
    made, again = (rows_of(done)["ledger"] for done in (first, second))
    assert (made["before"], made["outcome"]) == ("", "made")
    assert (again["before"], again["outcome"]) == (made["after"], "nothing to do")


def test_a_store_that_cannot_be_migrated_is_told_and_is_a_failure(tmp_path):
    done = recallmesh("migrate", "--data", str(tmp_path), RECALLMESH_LEDGER__URL="sqlite:////proc/none/ledger.db")
    assert done.returncode == 1
    assert "cannot" in done.stdout


def answered(*words, **environment):
    """Ask until every server answers in time: the first question to a cold one beside other work takes longer."""
    for _ in range(20):
        done = recallmesh(*words, **environment)
        if "in time" not in done.stdout:
            break
    return done


@pytest.fixture
async def real(tmp_path):
    """What names a database, an index and a graph on real servers; the graph is shared with other tests."""
    prefix = at_opensearch.prefix_of(tmp_path)
    with databases.database(migrated=False) as url:
        yield {
            "RECALLMESH_LEDGER__URL": url,
            "RECALLMESH_KEYWORD__OPENSEARCH_URL": servers.address("opensearch"),
            "RECALLMESH_KEYWORD__OPENSEARCH_PREFIX": prefix,
            "RECALLMESH_GRAPH__NEO4J_URL": servers.address("neo4j"),
        }
    await at_opensearch.forget_opensearch(prefix)


@pytest.mark.stores
def test_real_stores_are_ill_until_they_are_migrated_and_well_from_then_on(tmp_path, real):
    data = ("--data", str(tmp_path / "data"))
    check = recallmesh("migrate", "--check", "--json", *data, **real)
    ill = answered("doctor", "--json", *data, **real)
    assert (check.returncode, ill.returncode) == (1, 1)
    for part in ("ledger", "keyword"):
        assert rows_of(check)[part]["left"], part
        assert "recallmesh migrate" in rows_of(ill)[part]["advice"][0], part

    made, again = (recallmesh("migrate", "--json", *data, **real) for _ in range(2))
    assert (made.returncode, again.returncode) == (0, 0)
    assert [rows_of(made)[part]["outcome"] for part in ("ledger", "keyword")] == ["made", "made"]
    assert {row["outcome"] for row in rows_of(again).values()} == {"nothing to do"}
    kept = recallmesh("retain", "--bank", "diary", "--text", "Nadia: I start in a bakery.", *data, **real)
    assert kept.returncode == 0, kept.stderr
    well = rows_of(recallmesh("doctor", "--json", *data, **real))
    assert [well[part]["memories"] for part in ("ledger", "semantic", "keyword")] == ["1", "1", "1"]
    assert [well[part]["advice"] for part in ("ledger", "semantic", "keyword")] == [[], [], []]
    assert all(well[part]["clock"] for part in ("ledger", "keyword", "graph"))


@pytest.mark.parametrize("down", [("ledger",), ("semantic", "keyword", "graph")])
def test_servers_that_are_not_there_are_told_and_the_others_are_looked_at_all_the_same(kept, free_address, down):
    named = {
        "ledger": ("RECALLMESH_LEDGER__URL", f"postgresql://{free_address}/mesh"),
        "semantic": ("RECALLMESH_SEMANTIC__QDRANT_URL", f"http://{free_address}"),
        "keyword": ("RECALLMESH_KEYWORD__OPENSEARCH_URL", f"http://{free_address}"),
        "graph": ("RECALLMESH_GRAPH__NEO4J_URL", f"bolt://{free_address}"),
    }
    env = dict(named[part] for part in down)
    looked, migrated = (recallmesh(verb, "--json", "--data", str(kept), **env) for verb in ("doctor", "migrate"))
    assert (looked.returncode, migrated.returncode) == (1, 1)
    rows = rows_of(looked)
    for part in down:
        assert "is it running" in "; ".join(rows[part]["advice"]), part
        assert rows_of(migrated)[part]["left"], part
    assert not any(row["advice"] for part, row in rows.items() if part not in down)
