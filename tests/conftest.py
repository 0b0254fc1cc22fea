"""The meshes and servers that whole-system tests run on, and what the processes said when a test fails."""

import os

import pytest
import pytest_asyncio
import servers
import structlog
from deployment import OPENERS, Mesh
from hypothesis import settings
from store_servers.__main__ import ROOT, SERVERS, say
from store_servers.fleet import Fleet
from stores import open_nine_on_stores

pytest_plugins = ["lanes"]
LOG_CHARS = 3000
settings.register_profile("untimed", deadline=None, print_blob=True)
settings.load_profile("untimed")
"""How long an example takes is the machine's business: what must be fast is measured in bench/."""
ALL_OPENERS = OPENERS | {"real_stores": open_nine_on_stores}
KINDS = [*sorted(OPENERS), pytest.param("real_stores", marks=pytest.mark.stores)]


@pytest_asyncio.fixture(scope="session", loop_scope="session", params=KINDS)
async def mesh(request, tmp_path_factory):
    """One mesh of each kind for the whole run: tests are kept apart by their banks."""
    async with ALL_OPENERS[request.param](tmp_path_factory.mktemp(request.param)) as running:
        yield running


@pytest_asyncio.fixture(loop_scope="session")
async def diary(mesh):
    """An empty bank of the test's own."""
    return await mesh.diary()


@pytest.fixture(scope="session")
def own_servers(tmp_path_factory):
    """Servers that nobody else uses, for tests that take them away or change what all users of one share.

    They are started where there are some for all tests, which have fetched the programmes. Who takes this fixture is
    named in ``lanes.OWN_SERVERS``.
    """
    own = Fleet(ROOT, SERVERS, say, data=tmp_path_factory.mktemp("servers"))
    for name in own.names:
        servers.address(name)
    try:
        if left_out := own.start(own.names, tied=True):
            (pytest.fail if os.environ.get("CI") else pytest.skip)(f"no servers of our own: {left_out}")
        yield own
    finally:
        own.stop(own.names)


@pytest.fixture(scope="session", autouse=True)
def own_data(tmp_path_factory):
    """No test opens what the person who runs it has in the default folder."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_DATA_HOME", str(tmp_path_factory.mktemp("data")))
        yield


@pytest.fixture(autouse=True)
def own_logging():
    """Logging is the process's: each test begins with it as it is by itself, whatever others have set up."""
    structlog.reset_defaults()
    yield
    structlog.reset_defaults()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):  # noqa: ARG001 - pytest names them
    report = yield
    if report.failed:
        for value in getattr(item, "funcargs", {}).values():
            if isinstance(value, Mesh):
                report.sections += [(f"log of {name}", said[-LOG_CHARS:]) for name, said in value.logs() if said]
    return report
