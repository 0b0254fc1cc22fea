"""Where the servers' programmes come from, and what is said where they cannot be had."""

import os
from pathlib import Path

import pytest
from store_servers import postgres
from store_servers.jdk import Jdk
from store_servers.maven import fetch_jars, pinned
from store_servers.server import Missing

POM = "<project><properties><thing.version>1.2</thing.version></properties></project>"


@pytest.fixture
def maven(tmp_path, monkeypatch):
    """A Maven that writes a class path of one jar, and counts how often it was asked."""

    def install(script: str) -> Path:
        programme = tmp_path / "bin" / "mvn"
        programme.parent.mkdir(exist_ok=True)
        programme.write_text(f"#!/bin/sh\necho asked >> {tmp_path}/asked\n{script}\n")
        programme.chmod(0o755)
        monkeypatch.setenv("PATH", f"{programme.parent}{os.pathsep}/usr/bin{os.pathsep}/bin")
        return tmp_path / "asked"

    return install


@pytest.fixture
def pom(tmp_path):
    path = tmp_path / "pom.xml"
    path.write_text(POM)
    return path


def writing(jar: Path) -> str:
    return f'for word in "$@"; do case $word in -Dmdep.outputFile=*) printf %s {jar} > "${{word#*=}}";; esac; done'


def test_jars_are_asked_for_once_and_again_when_the_pom_changes_or_one_is_gone(maven, pom, tmp_path):
    jar = tmp_path / "thing.jar"
    jar.touch()
    asked = maven(writing(jar))
    for _ in range(2):
        assert fetch_jars(pom, tmp_path, Jdk(tmp_path, 21)) == str(jar)
    assert len(asked.read_text().splitlines()) == 1
    pom.write_text(POM.replace("1.2", "1.3"))
    fetch_jars(pom, tmp_path, Jdk(tmp_path, 21))
    assert len(asked.read_text().splitlines()) == 2
    jar.unlink()
    fetch_jars(pom, tmp_path, Jdk(tmp_path, 21))
    assert len(asked.read_text().splitlines()) == 3


def test_what_maven_could_not_fetch_is_told_in_one_line(maven, pom, tmp_path):
    maven("echo '[ERROR] thing:jar:1.2 was not found'; echo '[ERROR] and much more'; exit 1")
    with pytest.raises(Missing) as told:
        fetch_jars(pom, tmp_path, Jdk(tmp_path, 21))
    assert str(told.value) == "Maven could not fetch it: thing:jar:1.2 was not found"


def test_without_maven_it_is_said_what_to_install(pom, tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(Missing, match="apt-get install maven"):
        fetch_jars(pom, tmp_path, Jdk(tmp_path, 21))


def test_the_version_is_what_the_pom_pins(pom):
    assert pinned(pom, "thing.version") == "1.2"


def programmes(folder: Path, *tools: str) -> Path:
    folder.mkdir(parents=True)
    for tool in tools:
        (folder / tool).touch()
    return folder


def test_the_newest_postgresql_that_is_whole_is_taken(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(postgres, "PLACES", (f"{tmp_path}/postgresql/*/bin",))
    programmes(tmp_path / "postgresql" / "9" / "bin", "postgres", "initdb")
    newest = programmes(tmp_path / "postgresql" / "15" / "bin", "postgres", "initdb")
    programmes(tmp_path / "postgresql" / "16" / "bin", "pg_dump")
    assert postgres._find_programmes(tmp_path) == newest


def test_unpacked_programmes_are_found_with_their_libraries(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(postgres, "PLACES", ("/nowhere/postgresql/*/bin",))
    unpacked = programmes(tmp_path / "packages" / "nowhere" / "postgresql" / "15" / "bin", "postgres", "initdb")
    library = programmes(tmp_path / "packages" / "usr" / "lib", "libpq.so.5")
    assert postgres._find_programmes(tmp_path) == unpacked
    assert postgres._libraries(tmp_path) == {"LD_LIBRARY_PATH": str(library)}


def test_a_cluster_lies_elsewhere_where_its_owner_cannot_enter_the_clone(tmp_path):
    owner = postgres._owner()
    if owner is None:
        assert postgres._home(tmp_path, None) == tmp_path / "home"
        return
    shut = tmp_path / "shut"
    shut.mkdir(mode=0o700)
    home = postgres._home(shut, owner)
    assert shut not in home.parents
    assert home == postgres._home(shut, owner) != postgres._home(tmp_path / "other", owner)
