"""A long file, retained by the real command: killed and resumed, changed, with wrong lines, by a mesh that restarts."""

import asyncio
import json
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import pytest
from deployment import NOW, Process, clean_environment, open_processes, open_served

from recallmesh.client import open_client
from recallmesh.core.bank import BankRef
from recallmesh.core.ledger import MemoryFilter
from recallmesh.core.page import PageRequest

pytestmark = pytest.mark.timeout(600)

COMMAND = (sys.executable, "-c", "import sys; from recallmesh.cli import main; sys.exit(main())")
LINES = 800
BEGUN = 150
"""Lines after which the command is stopped half way: more than one batch."""


@dataclass(frozen=True)
class Shell:
    """The command against a mesh, with notes of its own."""

    address: str
    state: Path

    def start(self, *words, **streams):
        environment = clean_environment({"XDG_STATE_HOME": str(self.state), "RECALLMESH_SERVER": self.address})
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True} | streams
        return subprocess.Popen((*COMMAND, *words), env=environment, **pipes)

    def __call__(self, *words, stdin=None):
        with self.start(*words, stdin=subprocess.PIPE) as running:
            printed, told = running.communicate(stdin)
        return subprocess.CompletedProcess(words, running.returncode, printed, told)

    def notes(self):
        return sorted((self.state / "recallmesh" / "retain").glob("*.json"))

    def begun(self, lines=BEGUN):
        """Wait until so many lines were answered."""
        while True:
            said = [json.loads(note.read_text(encoding="utf-8")) for note in self.notes()]
            if any(one["line"] >= lines for one in said):
                return
            time.sleep(0.01)


@pytest.fixture(scope="module")
def runner():
    with asyncio.Runner() as opened:
        yield opened


@pytest.fixture(scope="module")
def served(tmp_path_factory, runner):
    opening = open_served(tmp_path_factory.mktemp("served"))
    mesh = runner.run(opening.__aenter__())
    yield mesh
    runner.run(opening.__aexit__(None, None, None))


@pytest.fixture
def shell(served, tmp_path):
    return Shell(served.processes["all"].address, tmp_path / "state")


@pytest.fixture
def file(tmp_path):
    return write(tmp_path / "log.jsonl", LINES)


def write(path: Path, count: int, *, documents: bool = True) -> Path:
    # Every third line belongs to one long document, the others are their own.
    lines = [
        {"content": f"Entry {n} of the log.", "time": NOW.isoformat()}
        | ({"document_id": "long"} if documents and n % 3 == 0 else {})
        for n in range(count)
    ]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return path


async def texts(address: str, bank: str) -> list[str]:
    async with open_client(address) as faces:
        found, page = [], PageRequest(1000)
        while True:
            answer = await faces.admin.list_memories(BankRef(bank), MemoryFilter(), page)
            found += [memory.text for memory in answer.rows]
            if not answer.next_after:
                return sorted(found)
            page = PageRequest(1000, answer.next_after)


def kept(shell: Shell, bank: str) -> list[str]:
    return asyncio.run(texts(shell.address, bank))


def whole(count: int = LINES) -> list[str]:
    return sorted(f"Entry {n} of the log." for n in range(count))


def chunks(bank: str, *words: str) -> tuple[str, ...]:
    return ("retain", "--bank", bank, "--mode", "chunks", *words)


def stop(shell: Shell, bank: str, number: int, *words: str) -> tuple[int, str]:
    """Begin to retain a file, and stop in the midst of it."""
    with shell.start(*chunks(bank, *words)) as running:
        shell.begun()
        running.send_signal(number)
        told = running.stderr.read()
        running.wait(60)
    return running.returncode, told


def test_a_killed_load_goes_on_and_nothing_is_lost_or_doubled(shell, file):
    for time_ in range(2):
        words = ("--file", str(file), *(["--resume"] if time_ else []))
        with shell.start(*chunks("killed", *words)) as running:
            shell.begun(BEGUN * (3 * time_ + 1))
            running.send_signal(signal.SIGKILL)
    refused = shell(*chunks("killed", "--file", str(file)))
    assert refused.returncode == 2
    assert "was begun before and stopped after line" in refused.stderr
    done = shell(*chunks("killed", "--file", str(file), "--resume"))
    assert done.returncode == 0, done.stderr
    assert "and lines 1 to " in done.stdout
    assert kept(shell, "killed") == whole()
    assert shell.notes() == []
    nothing = shell(*chunks("killed", "--file", str(file), "--resume"))
    assert (nothing.returncode, "stopped half way" in nothing.stderr) == (2, True)


def test_an_interrupted_load_says_how_it_goes_on(shell, file):
    code, told = stop(shell, "interrupted", signal.SIGINT, "--file", str(file))
    assert code == 130
    assert "Traceback" not in told
    assert "lines 1 to " in told
    (command,) = [line.partition("to go on: ")[2] for line in told.splitlines() if "to go on: " in line]
    assert command == f"recallmesh retain --bank interrupted --file {file} --resume"
    done = shell(*command.split()[1:], "--mode", "chunks")
    assert done.returncode == 0, done.stderr
    assert kept(shell, "interrupted") == whole()


def test_a_stream_is_resumed_when_the_same_lines_come_again(shell, file):
    with shell.start(*chunks("piped", "-"), stdin=subprocess.PIPE) as running:
        running.stdin.write("".join(file.read_text(encoding="utf-8").splitlines(keepends=True)[:500]))
        running.stdin.flush()
        shell.begun()
        running.send_signal(signal.SIGKILL)
    done = shell(*chunks("piped", "-", "--resume"), stdin=file.read_text(encoding="utf-8"))
    assert done.returncode == 0, done.stderr
    assert kept(shell, "piped") == whole()


def test_a_file_that_grew_goes_on_and_one_that_changed_is_refused(shell, file):
    stop(shell, "changed", signal.SIGKILL, "--file", str(file))
    text = file.read_text(encoding="utf-8")
    file.write_text(text.replace("Entry 2 ", "Entry two "), encoding="utf-8")
    refused = shell(*chunks("changed", "--file", str(file), "--resume"))
    assert refused.returncode == 2
    assert "has changed since" in refused.stderr
    write(file, LINES + 50)
    other = shell("retain", "--bank", "changed", "--file", str(file), "--resume")
    assert (other.returncode, "begun with other words" in other.stderr) == (2, True)
    done = shell(*chunks("changed", "--file", str(file), "--resume"))
    assert done.returncode == 0, done.stderr
    assert kept(shell, "changed") == whole(LINES + 50)


def test_a_load_into_a_bank_that_is_another_now_is_refused(shell, file):
    stop(shell, "again", signal.SIGKILL, "--file", str(file))
    assert shell("bank", "delete", "again", "--yes").returncode == 0
    refused = shell(*chunks("again", "--file", str(file), "--resume"))
    assert (refused.returncode, "the bank was deleted since" in refused.stderr) == (2, True)
    done = shell(*chunks("again", "--file", str(file), "--anew"))
    assert done.returncode == 0, done.stderr
    assert kept(shell, "again") == whole()


def test_wrong_lines_are_told_before_anything_is_kept_or_left_out(shell, file):
    lines = file.read_text(encoding="utf-8").splitlines(keepends=True)[:20]
    lines[4], lines[9] = '{"content": " "}\n', "no\n"
    file.write_text("".join(lines), encoding="utf-8")
    refused = shell(*chunks("wrong", "--file", str(file)))
    assert refused.returncode == 2
    assert "line 5.content: is blank" in refused.stderr
    assert "line 10: is no JSON" in refused.stderr
    assert kept(shell, "wrong") == []
    done = shell(*chunks("wrong", "--file", str(file), "--skip-bad"))
    assert done.returncode == 1
    assert "line 5.content: is blank: left out" in done.stderr
    assert "2 wrong lines left out" in done.stdout
    assert kept(shell, "wrong") == sorted(set(whole(20)) - {"Entry 4 of the log.", "Entry 9 of the log."})


def test_a_wrong_line_of_a_stream_says_what_was_kept(shell, file):
    lines = file.read_text(encoding="utf-8").splitlines(keepends=True)[:250]
    done = shell(*chunks("late", "-"), stdin="".join([*lines, "no\n"]))
    assert done.returncode == 2
    assert "line 251: is no JSON" in done.stderr
    assert "lines 1 to 200 were retained" in done.stderr
    assert kept(shell, "late") == whole(200)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
async def test_a_server_that_restarts_is_waited_for(number, tmp_path):
    process = Process(("all",), tmp_path / "data", tmp_path / "all.log")
    lines = 3 * LINES  # more than are kept before the server has left
    file = write(tmp_path / "log.jsonl", lines)
    async with open_processes({"all": process}):
        address = process.address
        shell = Shell(address, tmp_path / "state")
        process.port = int(address.rpartition(":")[2])
        with shell.start(*chunks("restarted", "--file", str(file))) as running:
            await asyncio.to_thread(shell.begun)
            process.signal(number)
            assert await process.left() in {0, -signal.SIGKILL}
            process.start()
            await process.ready()
            printed, told = await asyncio.to_thread(running.communicate)
        assert running.returncode == 0, told
        assert "trying again" in told
        assert f"retained {lines} items" in printed
        assert await texts(address, "restarted") == whole(lines)
