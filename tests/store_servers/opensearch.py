"""OpenSearch, as one node from Maven Central."""

import shutil
import signal
import subprocess
import urllib.error
import urllib.request
from pathlib import Path

from store_servers.jdk import Jdk, find_jdk
from store_servers.maven import fetch_jars, pinned
from store_servers.process import Command
from store_servers.server import Missing

SOURCE = Path(__file__).parent / "opensearch_node"
POM = SOURCE / "pom.xml"
LOWEST_JAVA = 21
MEMORY_ACCESS_SINCE = 23
"""The first Java that warns of the memory access which Lucene's and Netty's code uses, and knows the flag for it."""
HEAP = "512m"
ANSWERS_WITHIN_S = 5.0
DIRECT = urllib.request.build_opener(urllib.request.ProxyHandler({}))
"""A proxy of the environment's is not for loopback."""


class OpenSearch:
    """One OpenSearch node."""

    name = "opensearch"
    stop_signal = signal.SIGTERM

    def __init__(self, *, lasting: bool = False) -> None:
        """A ``lasting`` one runs for long enough for Java's second compiler to pay, as servers do that are measured."""
        self._lasting = lasting

    def install(self, installed: Path) -> str:
        """Fetch the jars and compile the class that starts a node."""
        version, jdk = pinned(POM, "opensearch.version"), find_jdk(LOWEST_JAVA)
        path = fetch_jars(POM, installed, jdk)
        if not self._is_compiled(installed):
            self._compile(installed, jdk, path)
        return version

    def prepare(self, installed: Path, folder: Path, port: int) -> Command:
        """Return how to start it; its data come by themselves."""
        jdk, home = find_jdk(LOWEST_JAVA), folder / "home"
        (home / "tmp").mkdir(parents=True, exist_ok=True)
        newer = ("--sun-misc-unsafe-memory-access=allow",) if jdk.version >= MEMORY_ACCESS_SINCE else ()
        path = f"{installed / 'node.jar'}:{(installed / 'classpath').read_text(encoding='utf-8')}"
        return Command(
            (
                jdk.tool("java"),
                f"-Xms{HEAP}",
                f"-Xmx{HEAP}",
                "-XX:+UseSerialGC",
                # Starts in half the time, and tests are over before more would pay.
                *(() if self._lasting else ("-XX:TieredStopAtLevel=1",)),
                # Classes as the last start had them, written at the end of the first: halves the next start.
                "-XX:+AutoCreateSharedArchive",
                f"-XX:SharedArchiveFile={installed / 'classes.jsa'}",
                *newer,
                "-Dlog4j2.level=info",
                "-Dlog4j2.shutdownHookEnabled=false",
                f"-Djava.io.tmpdir={home / 'tmp'}",
                "-cp",
                path,
                "OneNode",
                str(home),
                str(port),
            )
        )

    def wipe(self, folder: Path) -> None:
        """Remove indexes and settings."""
        shutil.rmtree(folder / "home", ignore_errors=True)

    def is_ready(self, port: int) -> bool:
        """Whether the cluster of one takes indexes."""
        url = f"{self.address(port)}/_cluster/health?wait_for_status=yellow&timeout=1s"
        try:
            with DIRECT.open(url, timeout=ANSWERS_WITHIN_S) as answer:
                return bool(answer.status == 200)
        except (urllib.error.URLError, OSError):
            return False

    def address(self, port: int) -> str:
        """Return its URL."""
        return f"http://127.0.0.1:{port}"

    def _is_compiled(self, folder: Path) -> bool:
        jar, source = folder / "node.jar", SOURCE / "OneNode.java"
        return jar.exists() and jar.stat().st_mtime >= source.stat().st_mtime

    def _compile(self, folder: Path, jdk: Jdk, path: str) -> None:
        classes = folder / "classes"
        shutil.rmtree(classes, ignore_errors=True)
        classes.mkdir()
        for args in (
            [jdk.tool("javac"), "-nowarn", "-proc:none", "-d", str(classes), "-cp", path, str(SOURCE / "OneNode.java")],
            [jdk.tool("jar"), "cf", str(folder / "node.jar"), "-C", str(classes), "."],
        ):
            done = subprocess.run(args, check=False, capture_output=True, text=True)
            if done.returncode:
                raise Missing(f"its starter does not compile: {done.stderr.strip()}")
