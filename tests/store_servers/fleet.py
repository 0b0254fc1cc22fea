"""The servers of one clone: started together, told by a file, stopped together."""

import fcntl
import json
import signal
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from store_servers.process import Process, comes_free, free_port, start_process
from store_servers.server import Missing, Server

STARTS_WITHIN_S = 300.0
STOPS_WITHIN_S = 30.0
FREED_WITHIN_S = 30.0
"""How long a port that was a server's may be somebody's connection, before another one is taken."""
LOOK_S = 0.05
"""Between two looks whether a server answers, in seconds."""
LOG_CHARS = 3000
"""How much of a failed server's log is repeated."""
VARIABLE = "RECALLMESH_TEST_"


@dataclass(frozen=True, slots=True)
class Running:
    """A server that runs, or did: its process and port."""

    process: Process
    port: int


class Fleet:
    """A folder with servers in it. Several processes may use one: what changes is done one after the other."""

    def __init__(
        self, root: Path, servers: Sequence[Server], say: Callable[[str], None], *, data: Path | None = None
    ) -> None:
        """``say`` gets a line for people whenever something was done.

        Programmes are below ``root``, data and what tells of a running server below ``data`` (absent: ``root`` too):
        so that a second fleet of the same programmes runs beside the first.
        """
        self._installed = root
        self._root = data or root
        self._servers = {server.name: server for server in servers}
        self._say = say

    @property
    def names(self) -> tuple[str, ...]:
        """The servers' names."""
        return tuple(self._servers)

    def running(self, name: str) -> Running | None:
        """Return a server that runs, or is paused."""
        last = self._last(name)
        return last if last and last.process.is_alive else None

    def address(self, name: str) -> str:
        """Return where clients find a server that runs."""
        one = self.running(name)
        if one is None:
            raise Missing(f"{name} does not run")
        return self._servers[name].address(one.port)

    def variables(self) -> dict[str, str]:
        """Return what names the running servers to tests."""
        found = ((name, self.running(name)) for name in self._servers)
        return {
            f"{VARIABLE}{name.upper()}": self._servers[name].address(one.port) for name, one in found if one is not None
        }

    def start(self, names: Sequence[str], *, tied: bool = False) -> dict[str, str]:
        """Fetch and start servers that do not run, at once; returns by name why some could not be.

        One that was halted comes back with its data, at its old address. Tied ones end with this process.
        """
        with self._alone():
            wanted = [name for name in names if self.running(name) is None]
            for name in wanted:
                for folder in (self._installed / name, self._folder(name)):
                    folder.mkdir(parents=True, exist_ok=True)
            with ThreadPoolExecutor(len(wanted) or 1) as threads:
                installed = dict(zip(wanted, threads.map(self._install, wanted), strict=True))
            left_out = {name: str(found) for name, found in installed.items() if isinstance(found, Missing)}
            versions = {name: found for name, found in installed.items() if isinstance(found, str)}
            # All from this thread: what ties a process is the thread that made it.
            for name in versions:
                self._launch(name, tied=tied)
            left_out |= self._await(versions)
            self._write_variables()
        return left_out

    def stop(self, names: Sequence[str], *, wipe: bool = True) -> None:
        """Stop those of the servers that run, and remove their data unless they are to come back."""
        with self._alone():
            stopping = {name: one for name in names if (one := self.running(name))}
            for name, one in stopping.items():
                one.process.signal(self._servers[name].stop_signal)
                one.process.signal(signal.SIGCONT)
            until = time.monotonic() + STOPS_WITHIN_S
            for name, one in stopping.items():
                if not one.process.wait(until - time.monotonic()):
                    self._say(f"{name} did not stop in {STOPS_WITHIN_S:.0f} s and was killed")
                    one.process.signal(signal.SIGKILL)
                    one.process.wait(STOPS_WITHIN_S)
            for name in names if wipe else ():
                self._servers[name].wipe(self._folder(name))
                (self._folder(name) / "running.json").unlink(missing_ok=True)
            self._write_variables()

    def signal(self, name: str, number: signal.Signals) -> None:
        """Send a server and all its processes a signal: SIGSTOP pauses, SIGCONT goes on, SIGKILL is the end."""
        if one := self.running(name):
            one.process.signal_all(number)
            if number is signal.SIGKILL:
                one.process.wait(STOPS_WITHIN_S)

    def _install(self, name: str) -> str | Missing:
        try:
            return self._servers[name].install(self._installed / name)
        except Missing as missing:
            return missing

    def _launch(self, name: str, *, tied: bool) -> None:
        folder, last = self._folder(name), self._last(name)
        if last is None:
            (folder / "log").unlink(missing_ok=True)
        port = last.port if last and comes_free(last.port, FREED_WITHIN_S) else free_port()
        command = self._servers[name].prepare(self._installed / name, folder, port)
        process = start_process(command, folder / "log", tied=tied)
        told = json.dumps({"pid": process.pid, "born": process.born, "port": port})
        (folder / "running.json").write_text(told, encoding="utf-8")

    def _await(self, versions: Mapping[str, str]) -> dict[str, str]:
        """Wait until all are ready, or have failed; returns by name how they did."""
        began, failed = time.monotonic(), dict[str, str]()
        waiting = {name: last for name in versions if (last := self._last(name))}
        while waiting:
            took = time.monotonic() - began
            for name, one in tuple(waiting.items()):
                if self._servers[name].is_ready(one.port):
                    self._say(f"{name} {versions[name]} at {self._servers[name].address(one.port)} ({took:.1f} s)")
                elif one.process.wait(LOOK_S):
                    failed[name] = f"it ended as it started{self._log(name)}"
                elif took > STARTS_WITHIN_S:
                    one.process.signal(signal.SIGKILL)
                    failed[name] = f"it was not ready in {STARTS_WITHIN_S:.0f} s{self._log(name)}"
                else:
                    continue
                del waiting[name]
        return failed

    def _last(self, name: str) -> Running | None:
        try:
            told = json.loads((self._folder(name) / "running.json").read_text(encoding="utf-8"))
        except FileNotFoundError:
            return None
        return Running(Process(told["pid"], told["born"]), told["port"])

    def _log(self, name: str) -> str:
        log = self._folder(name) / "log"
        return f"; the end of {log}:\n{log.read_text(encoding='utf-8', errors='replace')[-LOG_CHARS:]}"

    def _folder(self, name: str) -> Path:
        return self._root / name

    def _write_variables(self) -> None:
        written, variables = self._root / "env", self.variables()
        if variables:
            written.write_text("".join(f"{name}={value}\n" for name, value in variables.items()), encoding="utf-8")
        else:
            written.unlink(missing_ok=True)

    @contextmanager
    def _alone(self) -> Iterator[None]:
        self._root.mkdir(parents=True, exist_ok=True)
        with (self._root / "lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield
