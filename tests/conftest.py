"""The meshes that whole-system tests run on, and what their processes said when a test fails."""

import pytest
import pytest_asyncio
import structlog
from deployment import OPENERS, Mesh
from hypothesis import settings
from stores import open_nine_on_stores

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


@pytest.fixture(scope="session", autouse=True)
def own_data(tmp_path_factory):
    """No test opens what the person who runs it has in the default folder."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_DATA_HOME", str(tmp_path_factory.mktemp("data")))
        yield


@pytest.fixture(autouse=True)
def own_logging():
    """Logging is the process's: what a test sets up for itself ends with it."""
    before = structlog.get_config() if structlog.is_configured() else None
    yield
    if before is None:
        structlog.reset_defaults()
    else:
        structlog.configure(**before)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):  # noqa: ARG001 - pytest names them
    report = yield
    if report.failed:
        for value in getattr(item, "funcargs", {}).values():
            if isinstance(value, Mesh):
                report.sections += [(f"log of {name}", said[-LOG_CHARS:]) for name, said in value.logs() if said]
    return report
