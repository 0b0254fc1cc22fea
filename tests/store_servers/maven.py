"""Jars from Maven Central, by the dependencies of a pom.xml."""

import os
import shutil
import subprocess
from pathlib import Path

from store_servers.jdk import Jdk
from store_servers.server import Missing

PLUGIN = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1"


def fetch_jars(pom: Path, folder: Path, jdk: Jdk) -> str:
    """Return the class path of a pom's dependencies, which lie in Maven's own cache; asks Maven once for each pom.

    Raises:
        Missing: there is no Maven, or it cannot fetch them.

    """
    kept, asked = folder / "classpath", folder / "asked.xml"
    wanted = pom.read_text(encoding="utf-8")
    if kept.exists() and asked.exists() and asked.read_text(encoding="utf-8") == wanted:
        path = kept.read_text(encoding="utf-8")
        if all(Path(jar).exists() for jar in path.split(os.pathsep)):
            return path
    maven = shutil.which("mvn")
    if maven is None:
        raise Missing("Maven is needed to fetch it: apt-get install maven")
    # -U: what could not be fetched a while ago is asked for again.
    args = [maven, "-B", "-q", "-ntp", "-U", "-f", str(pom), f"{PLUGIN}:build-classpath", "-DincludeScope=runtime"]
    done = subprocess.run(
        [*args, f"-Dmdep.outputFile={kept}"],
        env={**os.environ, "JAVA_HOME": str(jdk.home)},
        check=False,
        capture_output=True,
        text=True,
    )
    if done.returncode:
        said = done.stdout.partition("[ERROR] ")[2] or done.stderr
        raise Missing(f"Maven could not fetch it: {said.partition(chr(10))[0]}")
    asked.write_text(wanted, encoding="utf-8")
    return kept.read_text(encoding="utf-8")


def pinned(pom: Path, name: str) -> str:
    """Return the version that a pom's property pins."""
    return pom.read_text(encoding="utf-8").partition(f"<{name}>")[2].partition("<")[0]
