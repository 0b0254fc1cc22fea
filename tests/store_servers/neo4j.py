"""Neo4j Community, from Maven Central."""

import shutil
import signal
import socket
from pathlib import Path

from store_servers.jdk import find_jdk
from store_servers.maven import fetch_jars, pinned
from store_servers.process import Command

POM = Path(__file__).parent / "neo4j_server" / "pom.xml"
LOWEST_JAVA, HIGHEST_JAVA = 17, 21
"""What the line 5.26 runs on."""
HEAP = "1g"
CONFIGURATION = """\
server.default_listen_address=127.0.0.1
server.bolt.listen_address=127.0.0.1:{port}
server.bolt.advertised_address=127.0.0.1:{port}
server.http.enabled=false
server.https.enabled=false
dbms.security.auth_enabled=false
dbms.usage_report.enabled=false
server.memory.pagecache.size=128m
db.tx_log.rotation.size=16m
db.tx_log.rotation.retention_policy=1 files
db.logs.query.enabled=OFF
internal.server.bolt.connection_shutdown_wait_time=0s
internal.server.bolt.thread_pool_shutdown_wait_time=0s
"""
FLAGS = (
    "-XX:+UseSerialGC",
    "--add-opens=java.base/java.nio=ALL-UNNAMED",
    "--add-opens=java.base/java.io=ALL-UNNAMED",
    "--add-opens=java.base/sun.nio.ch=ALL-UNNAMED",
    "-Dio.netty.tryReflectionSetAccessible=true",
    "-Dlog4j2.disable.jmx=true",
    "-Dfile.encoding=UTF-8",
)
GREETING = bytes.fromhex("6060b017") + bytes.fromhex("00040405") + bytes(12)
"""Bolt's first words: its mark, and the versions 5.0 to 5.4 as the first of four proposals."""
ANSWERS_WITHIN_S = 5.0


class Neo4j:
    """One Neo4j server, without authentication."""

    name = "neo4j"
    stop_signal = signal.SIGTERM

    def install(self, installed: Path) -> str:
        """Fetch the jars."""
        fetch_jars(POM, installed, find_jdk(LOWEST_JAVA, HIGHEST_JAVA))
        return pinned(POM, "neo4j.version")

    def prepare(self, installed: Path, folder: Path, port: int) -> Command:
        """Write the configuration and return how to start it; its data come by themselves."""
        home, jdk = folder / "home", find_jdk(LOWEST_JAVA, HIGHEST_JAVA)
        (home / "conf").mkdir(parents=True, exist_ok=True)
        (home / "conf" / "neo4j.conf").write_text(CONFIGURATION.format(port=port), encoding="utf-8")
        path = (installed / "classpath").read_text(encoding="utf-8")
        return Command(
            (
                jdk.tool("java"),
                "-Xms256m",
                f"-Xmx{HEAP}",
                *FLAGS,
                "-cp",
                path,
                "org.neo4j.server.CommunityEntryPoint",
                f"--home-dir={home}",
                f"--config-dir={home / 'conf'}",
            )
        )

    def wipe(self, folder: Path) -> None:
        """Remove the database and its logs."""
        shutil.rmtree(folder / "home", ignore_errors=True)

    def is_ready(self, port: int) -> bool:
        """Whether it greets in Bolt; it opens the port when the database is there."""
        try:
            with socket.create_connection(("127.0.0.1", port), timeout=ANSWERS_WITHIN_S) as line:
                line.sendall(GREETING)
                return bool(line.recv(4))
        except OSError:
            return False

    def address(self, port: int) -> str:
        """Return its Bolt address."""
        return f"bolt://127.0.0.1:{port}"
