"""PostgreSQL: this machine's programmes, or Debian's packages unpacked beside the tests."""

import os
import pwd
import re
import shutil
import signal
import socket
import struct
import subprocess
import tempfile
from hashlib import sha256
from pathlib import Path

from store_servers.process import Command, as_user
from store_servers.server import Missing

PLACES = ("/usr/lib/postgresql/*/bin", "/usr/pgsql-*/bin", "/usr/local/pgsql/bin")
"""Where Debian, Red Hat and its own Makefile put the programmes; they are seldom on the PATH."""
TOOLS = ("postgres", "initdb")
OWNERS = ("postgres", "nobody")
"""Who it runs as where we are root, which it refuses to be; the first that exists."""
SUPERUSER = "recallmesh"
LANGUAGE = ("--encoding=UTF8", "--locale=C.UTF-8", "--locale-provider=icu", "--icu-locale=en-US")
"""Text in the order of English dictionaries, as most databases have it, and not of bytes. Since PostgreSQL 15."""
PROTOCOL = 3 << 16
STARTUP = b"user\0recallmesh\0database\0postgres\0\0"
ANSWERS_WITHIN_S = 5.0
SETTINGS = {
    "listen_addresses": "127.0.0.1",
    "unix_socket_directories": "",
    "max_connections": "500",
    "shared_buffers": "64MB",
    # A killed server loses nothing by these, only a machine that loses its power.
    "fsync": "off",
    "full_page_writes": "off",
}
WAYS = "apt-get install postgresql, or put its programmes (postgres, initdb) on the PATH"


class Postgres:
    """One PostgreSQL server, which trusts loopback; its superuser is ``recallmesh``."""

    name = "postgres"
    stop_signal = signal.SIGINT

    def install(self, installed: Path) -> str:
        """Find the programmes, or unpack Debian's packages."""
        if _find_programmes(installed) is None:
            _unpack_packages(installed)
        programmes = _programmes(installed)
        if _owner() is not None and shutil.which("setpriv") is None:
            raise Missing("setpriv is needed, to run PostgreSQL as another user than root: apt-get install util-linux")
        told = _run(programmes, _libraries(installed), "postgres", "--version")
        return re.sub(r"^\D*([\d.]+).*$", r"\1", told.strip())

    def prepare(self, installed: Path, folder: Path, port: int) -> Command:
        """Make a cluster, if there is none, and return how to start it."""
        programmes, libraries, owner = _programmes(installed), _libraries(installed), _owner()
        home = _home(folder, owner)
        # Of a killed one that nobody has buried yet: to PostgreSQL it still runs.
        (home / "postmaster.pid").unlink(missing_ok=True)
        if not (home / "PG_VERSION").exists():
            home.mkdir(mode=0o700, exist_ok=True)
            if owner is not None:
                os.chown(home, owner.pw_uid, owner.pw_gid)
            new = ("--pgdata", str(home), f"--username={SUPERUSER}", "--auth=trust", "--no-sync", *LANGUAGE)
            _run(programmes, libraries, "initdb", *new, owner=owner)
        settings = [part for name, value in SETTINGS.items() for part in ("-c", f"{name}={value}")]
        args: tuple[str, ...] = (str(programmes / "postgres"), "-D", str(home), "-p", str(port), *settings)
        if owner is None:
            return Command(args, libraries)
        return Command(args, libraries, owner.pw_uid, owner.pw_gid)

    def wipe(self, folder: Path) -> None:
        """Remove the cluster."""
        for home in (folder / "home", _away(folder)):
            shutil.rmtree(home, ignore_errors=True)

    def is_ready(self, port: int) -> bool:
        """Whether it lets its superuser in; while it starts it answers, but with an error."""
        try:
            with socket.create_connection(("127.0.0.1", port), timeout=ANSWERS_WITHIN_S) as line:
                line.sendall(struct.pack(">II", len(STARTUP) + 8, PROTOCOL) + STARTUP)
                return line.recv(1) == b"R"
        except OSError:
            return False

    def address(self, port: int) -> str:
        """Return its URL."""
        return f"postgresql://{SUPERUSER}@127.0.0.1:{port}/postgres"


def _programmes(folder: Path) -> Path:
    found = _find_programmes(folder)
    if found is None:
        raise Missing(f"PostgreSQL is needed: {WAYS}")
    return found


def _find_programmes(folder: Path) -> Path | None:
    """Return the folder of the newest programmes; this machine's before those that were unpacked."""
    on_path = shutil.which("postgres")
    places = [Path(on_path).resolve().parent] if on_path else []
    for pattern in (*PLACES, str(folder / "packages" / PLACES[0].lstrip("/"))):
        places += sorted(Path("/").glob(pattern.lstrip("/")), key=_number, reverse=True)
    return next((place for place in places if all((place / tool).is_file() for tool in TOOLS)), None)


def _number(place: Path) -> int:
    return int("".join(re.findall(r"\d+", str(place.parent.name))) or 0)


def _libraries(folder: Path) -> dict[str, str]:
    """Return the variable that lets unpacked programmes find unpacked libraries."""
    found = sorted({str(one.parent) for one in (folder / "packages").rglob("*.so.*")})
    return {"LD_LIBRARY_PATH": os.pathsep.join(found)} if found else {}


def _unpack_packages(folder: Path) -> None:
    """Fetch what apt would install for PostgreSQL here, and unpack it without installing anything."""
    unpack = shutil.which("dpkg-deb")
    if unpack is None:
        raise Missing(f"PostgreSQL is needed: {WAYS}")
    packages = folder / "packages"
    packages.mkdir(exist_ok=True)
    if os.geteuid() == 0:
        _apt("update", "-qq", cwd=packages)
    told = _apt("install", "--print-uris", "-qq", "--no-install-recommends", "postgresql", cwd=packages)
    names = re.findall(r"^'\S+' ([^_\s]+)_", told, re.MULTILINE)
    _apt("download", "-qq", *names, cwd=packages)
    for package in packages.glob("*.deb"):
        subprocess.run([unpack, "--extract", str(package), str(packages)], check=True)
        package.unlink()


def _apt(*args: str, cwd: Path) -> str:
    done = subprocess.run(["/usr/bin/apt-get", *args], cwd=cwd, check=False, capture_output=True, text=True)
    if done.returncode:
        raise Missing(f"PostgreSQL cannot be fetched ({done.stderr.strip()}): {WAYS}")
    return done.stdout


def _owner() -> pwd.struct_passwd | None:
    """Return who it runs as instead of root; absent: whoever we are."""
    if os.geteuid():
        return None
    known = {one.pw_name: one for one in pwd.getpwall()}
    return next((known[name] for name in OWNERS if name in known), None)


def _home(folder: Path, owner: pwd.struct_passwd | None) -> Path:
    """Return where the cluster is: below ``folder``, or elsewhere where its owner cannot enter that."""
    if owner is None:
        return folder / "home"
    enter = ["/bin/sh", "-c", 'test -x "$0"', str(folder)]
    entered = subprocess.run([*as_user(owner.pw_uid, owner.pw_gid), *enter], check=False)
    return folder / "home" if entered.returncode == 0 else _away(folder)


def _away(folder: Path) -> Path:
    return Path(tempfile.gettempdir()) / f"recallmesh-postgres-{sha256(str(folder).encode()).hexdigest()[:12]}"


def _run(
    programmes: Path, libraries: dict[str, str], tool: str, *args: str, owner: pwd.struct_passwd | None = None
) -> str:
    done = subprocess.run(
        [*(as_user(owner.pw_uid, owner.pw_gid) if owner else ()), str(programmes / tool), *args],
        env={**os.environ, **libraries},
        cwd="/",
        check=False,
        capture_output=True,
        text=True,
    )
    if done.returncode:
        raise Missing(f"{tool} failed: {done.stderr.strip()}")
    return done.stdout
