# ruff: noqa: ASYNC110 - what is waited for is in another process
"""A ledger over TLS: a PostgreSQL server of the test's own, with a certificate of the test's."""

import asyncio
import os
import signal
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import psycopg
import pytest
from certificates import Authority
from deployment import free_ports
from store_servers.postgres import SUPERUSER, Postgres
from store_servers.process import start_process
from store_servers.server import Missing

from recallmesh.core.bank import Bank, BankRef
from recallmesh.core.errors import StoreUnavailable
from recallmesh.ledger import migrate_ledger, open_ledger

pytestmark = pytest.mark.stores
UNPACKED = Path(__file__).parents[2] / ".servers" / "postgres" / "packages"
READY_S = 30


@pytest.fixture
async def encrypted(tmp_path):
    """Serve with ``ssl`` on; gives the port and the file of the authority."""
    server, folder = Postgres(), tmp_path / "postgres"
    folder.mkdir()
    if UNPACKED.exists():
        (folder / "packages").symlink_to(UNPACKED)
    try:
        (port,) = free_ports(1)
        command = await asyncio.to_thread(server.prepare, folder, port)
    except Missing as missing:
        if os.environ.get("CI"):
            raise
        pytest.skip(str(missing))
    authority = Authority()
    home = Path(command.args[command.args.index("-D") + 1])
    for name, content in zip(("tls.crt", "tls.key"), _pair(authority), strict=True):
        (home / name).write_bytes(content)
        (home / name).chmod(0o600)
        if command.user is not None:
            os.chown(home / name, command.user, command.group)
    # Nobody is let in without: what is read by the next test has gone over TLS.
    (home / "pg_hba.conf").write_text("hostssl all all 127.0.0.1/32 trust\n")
    tls = ("-c", "ssl=on", "-c", "ssl_cert_file=tls.crt", "-c", "ssl_key_file=tls.key")
    running = start_process(replace(command, args=command.args + tls), folder / "log", tied=True)
    try:
        async with asyncio.timeout(READY_S):
            while not await asyncio.to_thread(_lets_in, port):
                await asyncio.sleep(0.1)
        yield port, authority.write(tmp_path)
    finally:
        os.kill(running.pid, signal.SIGINT)
        server.wipe(folder)


def _pair(authority):
    pair = authority.sign("postgres")
    return pair.certificate, pair.key


def _lets_in(port):
    try:
        psycopg.connect(
            f"postgresql://{SUPERUSER}@127.0.0.1:{port}/postgres?sslmode=require", connect_timeout=2
        ).close()
    except psycopg.OperationalError:
        return False
    return True


async def test_a_ledger_is_kept_over_tls_and_a_server_that_is_not_believed_is_not_spoken_to(encrypted, tmp_path):
    port, ca = encrypted
    url = f"postgresql://{SUPERUSER}@127.0.0.1:{port}/postgres?sslmode=verify-full"
    believing = f"{url}&sslrootcert={ca}"
    await migrate_ledger(believing)
    async with open_ledger(believing) as ledger:
        await ledger.create_bank(Bank(BankRef("diary"), "b1", datetime.now(UTC)))
        with psycopg.connect(believing) as asking:
            (versions,) = asking.execute("select array_agg(distinct version) from pg_stat_ssl where ssl").fetchone()
    assert set(versions) <= {"TLSv1.2", "TLSv1.3"}
    other = Authority("other").write(tmp_path, "other")
    for doubting in (
        f"{url}&sslrootcert={other}",
        f"postgresql://{SUPERUSER}@127.0.0.1:{port}/postgres?sslmode=disable",
    ):
        with pytest.raises(StoreUnavailable, match="database") as refused:
            async with open_ledger(doubting) as ledger:
                await ledger.get_bank(BankRef("diary"))
        assert str(tmp_path) not in refused.value.message
