"""A process dies while a language model reads for it: what was told it is read by the next one, once."""

import hashlib
from contextlib import suppress

import pytest
from deployment import Process, free_ports, open_processes, until
from endpoint import hangs, open_endpoint, says
from seeing import picture

from recallmesh.client import open_client
from recallmesh.core.bank import BankRef
from recallmesh.core.errors import MeshError
from recallmesh.core.ledger import MemoryFilter
from recallmesh.core.operation import OperationState
from recallmesh.core.page import PageRequest
from recallmesh.core.retain import RetainItem, RetainRequest

pytestmark = pytest.mark.timeout(600)
KEY = "sk-not-for-anyone-1234"
REF = BankRef("diary")
LARGE = picture("x" * 1_500_000)
TOLD = {"passages": [{"passage": 1, "facts": [{"number": 1, "what": "A red bridge in Molde.", "images": [1]}]}]}


async def test_what_a_model_was_reading_when_its_process_died_is_read_again_and_kept_once(tmp_path):
    request = RetainRequest(REF, (RetainItem(("Look:", LARGE), document_id="d"),), request_id="r", wait=False)
    async with open_endpoint(always=hangs) as endpoint:
        own = {
            "RECALLMESH_LLM__URL": endpoint.url,
            "RECALLMESH_LLM__MODEL": "m",
            "RECALLMESH_LLM__VISION": "true",
            "RECALLMESH_LLM__API_KEY": KEY,
            "RECALLMESH_RETAIN__JOB_LEASE_S": "3",
        }
        [port] = free_ports(1)
        process = Process(("all",), tmp_path / "data", tmp_path / "log", own, port)
        async with open_processes({"all": process}), open_client(f"127.0.0.1:{port}") as faces:
            await faces.admin.create_bank(REF)
            submitted = await faces.retainer.retain(request)
            await until(lambda: _asked(endpoint))
            process.kill()
            endpoint.always = says(TOLD)
            process.start()
            await process.ready()

            async def done():
                with suppress(MeshError):
                    operation = await faces.admin.get_operation(REF, submitted.operation_id)
                    return operation if operation.state is OperationState.SUCCEEDED else None

            assert (await until(done, 90.0)).attempts == 2
            page = await faces.admin.list_memories(REF, MemoryFilter(), PageRequest(10))
            name = hashlib.sha256(LARGE.data).hexdigest()
            assert [(memory.text, memory.attachments) for memory in page.rows] == [("A red bridge in Molde.", (name,))]
            assert (await faces.admin.get_attachment(REF, name)).data == LARGE.data
            assert len(endpoint.asked) == 2
        assert KEY not in process.told()


async def _asked(endpoint):
    return endpoint.asked
