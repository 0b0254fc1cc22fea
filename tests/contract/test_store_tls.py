# ruff: noqa: ASYNC110 - what is waited for is in another process
"""Stores over TLS: a PostgreSQL server with a certificate of the test's, and listeners that are spoken to or not."""

import asyncio
import os
import random
import signal
import ssl
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import psycopg
import pytest
from certificates import Authority, sides
from deployment import free_ports
from store_servers.__main__ import ROOT
from store_servers.postgres import SUPERUSER, Postgres
from store_servers.process import start_process
from store_servers.server import Missing

from recallmesh.core.bank import Bank, BankRef
from recallmesh.core.errors import InvalidArgument, StoreUnavailable
from recallmesh.graph.neo4j import Neo4jDatabase, inspect_neo4j
from recallmesh.ledger import migrate_ledger, open_ledger
from recallmesh.vectors.qdrant import inspect_qdrant

READY_S = 120


@pytest.fixture
async def encrypted(tmp_path):
    """Serve with ``ssl`` on; gives the port and the file of the authority."""
    server, folder = Postgres(), tmp_path / "postgres"
    folder.mkdir()
    try:
        (port,) = free_ports(1)
        command = await asyncio.to_thread(server.prepare, ROOT / server.name, folder, port)
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


@pytest.mark.stores
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


@asynccontextmanager
async def listening(folder):
    """Listen for TLS, and note what is said first; gives the port, the authority's file, and what was heard."""
    made, heard = sides(folder, mutual=False), []
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(made.server.certificate, made.server.key)
    context.set_alpn_protocols(["h2"])

    async def hear(reader, writer):
        heard.append(await reader.read(20))
        writer.close()

    server = await asyncio.start_server(hear, "127.0.0.1", 0, ssl=context)
    async with server:
        yield server.sockets[0].getsockname()[1], made.client.ca, heard


async def test_a_neo4j_server_is_believed_by_the_file_that_is_set_and_by_no_other(tmp_path):
    async with listening(tmp_path) as (port, ca, heard):

        async def say(**tls):
            database = Neo4jDatabase(f"bolt+s://127.0.0.1:{port}", **tls)
            return await inspect_neo4j(database, random=random.random, now=lambda: datetime.now(UTC))

        for doubting in ({}, {"ca": Authority("other").write(tmp_path, "other")}):
            assert (await say(**doubting)).advice
            assert heard == []
        # It hangs up after the first bytes, which are Bolt's.
        assert (await say(ca=ca)).advice
        assert heard[0].startswith(b"\x60\x60\xb0\x17")
        with pytest.raises(InvalidArgument, match="RECALLMESH_GRAPH__NEO4J_CA: certificates cannot be read there"):
            await say(ca=tmp_path / "nowhere.pem")


async def test_a_qdrant_server_of_an_unknown_authority_is_told_nothing(tmp_path):
    async with listening(tmp_path) as (port, _, heard):
        told = await inspect_qdrant(f"https://127.0.0.1:{port}", fingerprint="f", dimensions=4, api_key="key")
    assert told.advice
    assert heard == []
