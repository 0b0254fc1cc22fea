"""The clients whose tour takes the file of an authority, against a mesh that speaks TLS alone."""

import pytest
import pytest_asyncio
from certificates import sides
from clients.test_go import GO
from clients.test_java import JAVA
from clients.test_python import PYTHON
from clients.test_typescript import TYPESCRIPT
from clients.tour import run_encrypted
from deployment import Process, free_ports, open_processes

pytestmark = [pytest.mark.clients, pytest.mark.timeout(900)]


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def encrypted(tmp_path_factory):
    """A whole mesh that speaks TLS alone; gives its address and the file of its authority."""
    folder = tmp_path_factory.mktemp("encrypted")
    made = sides(folder, mutual=False)
    port, probe = free_ports(2)
    environment = {
        "RECALLMESH_TLS__CERTIFICATE": str(made.server.certificate),
        "RECALLMESH_TLS__KEY": str(made.server.key),
        "RECALLMESH_SERVE__HEALTH_PORT": str(probe),
    }
    process = Process(("all",), folder / "data", folder / "all.log", environment, port, probe=f"127.0.0.1:{probe}")
    async with open_processes({"all": process}):
        # By name: Node warns of a server that is named by its number.
        yield f"localhost:{port}", made.client.ca


@pytest.mark.parametrize("client", [PYTHON, GO, JAVA, TYPESCRIPT], ids=lambda client: client.language)
async def test_the_tour_goes_over_tls_by_the_authority_that_it_is_given(client, encrypted):
    await run_encrypted(client, *encrypted)
