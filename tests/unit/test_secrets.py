"""No secret in what is printed or logged: what is one is marked so among the settings, and a marker is never seen."""

import re
from contextlib import suppress

import pytest
from deployment import Process, free_ports, until
from pydantic import BaseModel, SecretStr

from recallmesh.cli import main
from recallmesh.cli.checking import shown
from recallmesh.core.errors import InvalidArgument
from recallmesh.settings import Settings, load_settings

MARK = "Hq7-marked-Zx2"
SOUNDS_SECRET = re.compile(r"(^|[._])(key|keys|password|passwords|secret|token|headers|credential|credentials)$")
NONE_OF_IT = {
    "auth.keys": "the path of a file, of hashes",
    "tls.key": "the path of a file",
    "tls.client_key": "the path of a file",
}
ASKED_OPENLY = {"auth.jwt.jwks"}
"""What stands behind a question mark there is no secret: it leads to public keys."""
MAY_HOLD_ONE = re.compile(r"url$|endpoint$|jwks$")


def leaves(model=Settings, prefix=""):
    """Yield the dotted name and the field of every setting."""
    for name, info in model.model_fields.items():
        if isinstance(info.annotation, type) and issubclass(info.annotation, BaseModel):
            yield from leaves(info.annotation, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", info


def is_secret(info):
    return info.annotation is SecretStr or SecretStr in getattr(info.annotation, "__args__", ())


def given(name, value):
    section, *deeper, field = name.split(".")
    values = {field: value, **({"model": "m"} if section == "llm" else {})}
    for one in reversed(deeper):
        values = {one: values}
    return {section: values}


def value_of(settings, name):
    for part in name.split("."):
        settings = getattr(settings, part)
    return settings


def test_what_sounds_like_a_secret_is_one():
    bare = [name for name, info in leaves() if SOUNDS_SECRET.search(name) and not is_secret(info)]
    assert sorted(bare) == sorted(NONE_OF_IT)


def test_what_could_hold_a_password_hides_it_or_refuses_it():
    open_ones = []
    for name, info in leaves():
        if not MAY_HOLD_ONE.search(name) or not info.repr or is_secret(info):
            continue
        for url in (f"https://me:{MARK}@host:1", f"https://host:1/?api_key={MARK}", f"bolt://me:{MARK}@host:1"):
            if "?" in url and name in ASKED_OPENLY:
                continue
            with suppress(InvalidArgument):
                load_settings(**given(name, url))
                open_ones.append(f"{name}={url}")
    assert open_ones == []


ENCODERS = ("EMBEDDER", "EMBEDDER__NEXT", "RERANKER")


def every_secret():
    """Set every secret there is, on servers that nobody listens at."""
    (port,) = free_ports(1)
    return {
        "RECALLMESH_LEDGER__URL": f"postgresql://me:{MARK}@127.0.0.1:{port}/db?sslpassword={MARK}",
        "RECALLMESH_SEMANTIC__QDRANT_URL": f"http://127.0.0.1:{port}",
        "RECALLMESH_SEMANTIC__QDRANT_API_KEY": MARK,
        "RECALLMESH_KEYWORD__OPENSEARCH_URL": f"https://127.0.0.1:{port}",
        "RECALLMESH_KEYWORD__OPENSEARCH_USER": "me",
        "RECALLMESH_KEYWORD__OPENSEARCH_PASSWORD": MARK,
        "RECALLMESH_GRAPH__NEO4J_URL": f"bolt://127.0.0.1:{port}",
        "RECALLMESH_GRAPH__NEO4J_USER": "me",
        "RECALLMESH_GRAPH__NEO4J_PASSWORD": MARK,
        "RECALLMESH_LLM__URL": f"http://127.0.0.1:{port}/v1",
        "RECALLMESH_LLM__MODEL": "some",
        "RECALLMESH_LLM__API_KEY": MARK,
        **{f"RECALLMESH_{part}__BACKEND": "tei" for part in ENCODERS},
        **{f"RECALLMESH_{part}__URL": f"http://127.0.0.1:{port}" for part in ENCODERS},
        **{f"RECALLMESH_{part}__API_KEY": MARK for part in ENCODERS},
        "RECALLMESH_TRACING__HEADERS": f"authorization={MARK}",
        "RECALLMESH_AUTH__MESH_KEY": f"{MARK}-{MARK}-{MARK}-{MARK}",
        "RECALLMESH_KEY": MARK,
        "RECALLMESH_LOG_LEVEL": "debug",
    }


@pytest.fixture
def secrets(monkeypatch, tmp_path):
    everything = every_secret() | {"RECALLMESH_DATA": str(tmp_path / "data")}
    for name, value in everything.items():
        monkeypatch.setenv(name, value)
    return everything


def test_every_secret_is_set_here(secrets):
    settings = load_settings()
    unset = [name for name, info in leaves() if is_secret(info) and not value_of(settings, name)]
    assert unset == []
    assert MARK in settings.ledger_url
    assert MARK not in f"{settings!r} {settings}"
    assert MARK in secrets["RECALLMESH_LEDGER__URL"]


@pytest.mark.parametrize(
    "words",
    [
        ("check-config", "--all"),
        ("doctor",),
        ("doctor", "--json"),
        ("migrate",),
        ("migrate", "--check"),
        ("bank", "list"),
        ("bank", "list", "--server", "127.0.0.1:1"),
        ("health",),
    ],
    ids=" ".join,
)
@pytest.mark.usefixtures("secrets")
def test_what_commands_print_tells_no_secret(words, capfd):
    code = main(words)
    told = "".join(capfd.readouterr())
    assert told
    assert code == (0 if words[0] == "check-config" else 1), told
    assert MARK not in told


async def test_what_a_server_logs_while_its_stores_are_away_tells_no_secret(secrets, tmp_path):
    # A server waits for its models first (tests/unit/test_encoder_servers.py has what is logged of theirs).
    models = tuple(f"RECALLMESH_{part}__" for part in ENCODERS)
    stores = {name: value for name, value in secrets.items() if not name.startswith(models)}
    stores["RECALLMESH_RERANKER__BACKEND"] = "none"
    process = Process(("keyword", "recall"), tmp_path / "data", tmp_path / "log", stores)
    process.start()
    try:

        async def waits():
            told = process.told()
            return all(one in told for one in ("keyword.driver_failed", "ledger.driver_failed", "part not ready"))

        await until(waits, seconds=50)
    finally:
        process.kill()
    assert MARK not in process.told()


@pytest.mark.parametrize(
    "url",
    [
        f"postgres://me:{MARK}@host/db",
        f"mysql://me:{MARK}@host/db",
        f"postgresql://me:{MARK}@host:port/db",
        f"postgresql://me:a@{MARK}@host/db",
        f"postgresql://me:{MARK}@host/db?sslmode=odd",
        f"postgresql://me:{MARK}@127.0.0.1:1/db?sslpassword={MARK}&connect_timeout=1",
    ],
)
def test_a_ledgers_url_that_cannot_be_used_is_refused_without_its_password(url, monkeypatch, capfd, tmp_path):
    monkeypatch.setenv("RECALLMESH_LEDGER__URL", url)
    monkeypatch.setenv("RECALLMESH_DATA", str(tmp_path))
    assert main(["bank", "list"]) in (1, 2)
    told = "".join(capfd.readouterr())
    assert "recallmesh: " in told
    assert MARK not in told


@pytest.mark.parametrize(
    "value",
    [
        f"postgresql://me:{MARK}@host/db",
        f"postgresql://host/db?user=me&password={MARK}",
        f"postgresql://host/db?sslpassword={MARK}&x=y",
        f"postgresql://me:a/b{MARK}@host/db",
        f"postgresql://me:a@b{MARK}@host/db",
        f"postgresql://me:a:b{MARK}@host/db",
    ],
)
def test_a_password_in_a_url_is_never_shown(value):
    assert MARK not in shown(value)
    assert "postgresql://" in shown(value)
