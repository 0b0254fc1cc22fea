"""How servers are had, started, found again and stopped; on small ones of our own."""

import os
import shutil
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest
import servers
from store_servers.__main__ import run_with
from store_servers.fleet import Fleet
from store_servers.jdk import find_jdk
from store_servers.process import Command, Process, free_port
from store_servers.server import Missing

LISTEN = """
import socketserver, sys
socketserver.TCPServer(("127.0.0.1", int(sys.argv[1])), socketserver.BaseRequestHandler).serve_forever()
"""


class Small:
    """A server in a line of Python that greets nobody."""

    stop_signal = signal.SIGTERM

    def __init__(self, name, line=LISTEN):
        self.name = name
        self._line = line

    def install(self, installed):  # noqa: ARG002 - the port names it
        return "1.0"

    def prepare(self, installed, folder, port):  # noqa: ARG002 - the port names it
        (folder / "home").mkdir(exist_ok=True)
        return Command((sys.executable, "-c", self._line, str(port)))

    def wipe(self, folder):
        shutil.rmtree(folder / "home", ignore_errors=True)

    def is_ready(self, port):
        with socket.socket() as line:
            return line.connect_ex(("127.0.0.1", port)) == 0

    def address(self, port):
        return f"http://127.0.0.1:{port}"


class Unobtainable(Small):
    """One whose parts are not on this machine."""

    def install(self, installed):  # noqa: ARG002 - the port names it
        raise Missing("a steam engine is needed: buy one")


@pytest.fixture
def root(tmp_path):
    return tmp_path / ".servers"


@pytest.fixture
def fleet(root):
    """Two servers, of which none is left at the end."""
    fleet = Fleet(root, (Small("left"), Small("right")), str)
    yield fleet
    fleet.stop(fleet.names)


def test_servers_are_started_told_by_a_file_and_stopped_with_their_data(fleet, root):
    assert fleet.start(fleet.names) == {}
    told = dict(line.split("=") for line in (root / "env").read_text().splitlines())
    assert told == fleet.variables()
    assert sorted(told) == ["RECALLMESH_TEST_LEFT", "RECALLMESH_TEST_RIGHT"]
    assert Small("left").is_ready(int(told["RECALLMESH_TEST_LEFT"].rpartition(":")[2]))
    (root / "left" / "home" / "kept").touch()
    fleet.stop(fleet.names)
    assert fleet.running("left") is None
    assert not (root / "env").exists()
    assert not (root / "left" / "home").exists()


def test_a_server_that_runs_is_not_started_again(fleet):
    fleet.start(fleet.names)
    before = fleet.running("left")
    fleet.start(fleet.names)
    assert fleet.running("left") == before


def test_a_halted_or_killed_server_comes_back_at_its_address_with_its_data(fleet, root):
    fleet.start(["left"])
    address = fleet.variables()
    (root / "left" / "home" / "kept").touch()
    fleet.stop(["left"], wipe=False)
    assert fleet.variables() == {}
    fleet.start(["left"])
    fleet.signal("left", signal.SIGKILL)
    fleet.running("left") is None or fleet.running("left").process.wait(10)
    fleet.start(["left"])
    assert fleet.variables() == address
    assert (root / "left" / "home" / "kept").exists()


def test_a_paused_server_is_stopped_as_well(fleet):
    fleet.start(["left"])
    process = fleet.running("left").process
    fleet.signal("left", signal.SIGSTOP)
    assert process.is_alive
    fleet.stop(["left"])
    assert not process.is_alive


def test_a_server_that_ends_as_it_starts_is_told_with_its_last_words(root):
    fleet = Fleet(root, (Small("broken", "raise SystemExit('no leg to stand on')"), Small("sound")), str)
    try:
        left_out = fleet.start(fleet.names)
        assert list(left_out) == ["broken"]
        assert "no leg to stand on" in left_out["broken"]
        assert fleet.running("sound")
    finally:
        fleet.stop(fleet.names)


def test_another_process_that_got_the_number_is_not_taken_for_the_server():
    assert not Process(os.getpid(), "1").is_alive


COMMAND = [sys.executable, "-c", "import os; raise SystemExit(len([n for n in os.environ if 'TEST_LEFT' in n]) + 4)"]


def test_a_command_is_run_with_the_servers_and_none_is_left_after_it(fleet):
    assert run_with(fleet, COMMAND, {}) == 5
    assert fleet.running("left") is None


def test_a_server_that_ran_before_a_command_runs_after_it(fleet):
    fleet.start(["left"])
    assert run_with(fleet, COMMAND, {}) == 5
    assert fleet.running("left")
    assert fleet.running("right") is None


def test_a_server_that_the_environment_names_is_not_started(root):
    lines = []
    spoken = Fleet(root, (Small("left"),), lines.append)
    assert run_with(spoken, COMMAND, {"RECALLMESH_TEST_LEFT": "http://elsewhere"}) == 5
    assert lines == []


def test_without_a_server_a_command_is_run_and_told_but_not_in_ci(root, capfd):
    fleet = Fleet(root, (Unobtainable("far"),), str)
    assert run_with(fleet, COMMAND, {}) == 4
    assert "tests that need far are left out: a steam engine is needed: buy one\n" in capfd.readouterr().err
    assert run_with(fleet, COMMAND, {"CI": "true"}) == 1


ENDLESS = """
import sys
sys.path[:0] = [{tests!r}, {unit!r}]
from pathlib import Path
from store_servers.__main__ import run_with
from store_servers.fleet import Fleet
from test_store_servers import Small
fleet = Fleet(Path({root!r}), (Small("left"),), print)
sleep = [sys.executable, "-c", "print('sleeping', flush=True); import time; time.sleep(600)"]
raise SystemExit(run_with(fleet, sleep, {{}}))
"""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGKILL])
def test_however_a_run_ends_no_server_is_left(fleet, root, number):
    unit = Path(__file__).parent
    script = ENDLESS.format(tests=str(unit.parent), unit=str(unit), root=str(root))
    with subprocess.Popen(
        [sys.executable, "-c", script], stdout=subprocess.PIPE, start_new_session=True, text=True
    ) as run:
        while "sleeping" not in run.stdout.readline():
            assert run.poll() is None
        process = fleet.running("left").process
        # Ctrl-C reaches the whole group; the others only the process that was meant.
        if number is signal.SIGINT:
            os.killpg(run.pid, number)
        else:
            run.send_signal(number)
        run.wait(20)
        assert process.wait(20)
        if number is signal.SIGKILL:
            os.killpg(run.pid, number)


def kit(folder: Path, version: str) -> str:
    (folder / "bin").mkdir(parents=True)
    (folder / "bin" / "javac").touch()
    (folder / "release").write_text(f'IMPLEMENTOR="A"\nJAVA_VERSION="{version}"\n')
    return str(folder)


def test_the_oldest_java_that_will_do_is_taken(tmp_path, monkeypatch):
    monkeypatch.setattr("store_servers.jdk.PLACES", (str(tmp_path / "*"),))
    monkeypatch.setenv("PATH", "")
    monkeypatch.delenv("JAVA_HOME", raising=False)
    kit(tmp_path / "old", "1.8.0_452")
    kit(tmp_path / "seventeen", "17.0.15")
    kit(tmp_path / "newest", "25.0.3")
    monkeypatch.setenv("JAVA_HOME_21_X64", kit(tmp_path / "elsewhere" / "named", "21.0.7"))
    assert find_jdk(17, 21).version == 17
    assert find_jdk(21).version == 21
    assert find_jdk(22).home == tmp_path / "newest"
    with pytest.raises(Missing, match=r"a JDK of Java 26 or newer is needed: install one .* JAVA_HOME"):
        find_jdk(26)


def test_a_port_that_is_taken_is_not_given():
    assert len({free_port() for _ in range(20)}) > 1


@pytest.mark.parametrize(
    ("store", "ci", "outcome"),
    [
        ("neo4j", "", pytest.skip.Exception),
        ("neo4j", "true", pytest.fail.Exception),
        ("qdrant", "true", pytest.skip.Exception),
    ],
)
def test_a_test_without_its_server_is_skipped_but_fails_in_ci(monkeypatch, tmp_path, store, ci, outcome):
    monkeypatch.setattr(servers, "RUNNING", tmp_path / "none")
    monkeypatch.delenv(f"RECALLMESH_TEST_{store.upper()}", raising=False)
    monkeypatch.setenv("CI", ci)
    with pytest.raises(outcome, match=store):
        servers.address(store)


def test_a_server_is_found_by_the_environment_or_by_what_runs_here(monkeypatch, tmp_path):
    monkeypatch.setattr(servers, "RUNNING", tmp_path / "env")
    (tmp_path / "env").write_text("RECALLMESH_TEST_NEO4J=bolt://here:1\n")
    monkeypatch.delenv("RECALLMESH_TEST_NEO4J", raising=False)
    assert servers.address("neo4j") == "bolt://here:1"
    monkeypatch.setenv("RECALLMESH_TEST_NEO4J", "bolt://there:2")
    assert servers.address("neo4j") == "bolt://there:2"
