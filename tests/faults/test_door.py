"""What goes wrong at the door: an environment that is not ours, and bugs that tell nobody our insides (53, 54)."""

import json

import pytest
import structlog
from deployment import NOW, Process, open_processes
from loopback import open_loopback

from recallmesh.core.bank import BankRef
from recallmesh.core.errors import InternalFault
from recallmesh.core.recall import RecallRequest
from recallmesh.core.retain import RetainItem, RetainRequest
from recallmesh.rpc.admin import RemoteAdmin, host_admin
from recallmesh.rpc.recaller import RemoteRecaller, host_recaller
from recallmesh.rpc.retainer import RemoteRetainer, host_retainer

pytestmark = pytest.mark.timeout(600)

KUBERNETES = {
    "RECALLMESH_KEYWORD_PORT": "tcp://10.0.0.1:50051",
    "RECALLMESH_KEYWORD_PORT_50051_TCP": "tcp://10.0.0.1:50051",
    "RECALLMESH_KEYWORD_SERVICE_HOST": "10.0.0.1",
    "RECALLMESH_BANK_SERVICE_PORT_GRPC": "50051",
}
INSIDE = "password=hunter2 at /srv/secret.py"


class Broken:
    """Every port of it, with the same bug."""

    def __getattr__(self, name):
        async def call(*_args, **_given):
            raise RuntimeError(INSIDE)

        return call


async def test_what_kubernetes_puts_into_the_environment_does_no_harm(tmp_path):
    process = Process(("bank",), tmp_path, tmp_path / "bank.log", KUBERNETES)
    async with open_processes({"bank": process}):
        assert process.address.startswith("127.0.0.1:")


@pytest.mark.parametrize(
    ("environment", "said"),
    [
        ({"RECALLMESH_KEYWORD__ADRESS": "x"}, "did you mean RECALLMESH_KEYWORD__ADDRESS?"),
        ({"RECALLMESH_RECALL__ARMS": "keyword"}, "RECALLMESH_RECALL__ARMS"),
        ({"RECALLMESH_LEDGER__URL": "nonsense"}, "ledger.url"),
        ({"RECALLMESH_SERVE__LISTEN": "0.0.0.0:0"}, None),
    ],
    ids=["an unknown name", "a value that is no JSON", "no database", "another listen than the one given"],
)
async def test_a_wrong_setting_ends_the_process_with_a_clear_word(tmp_path, environment, said):
    process = Process(("bank",), tmp_path, tmp_path / "bank.log", environment)
    if said is None:
        async with open_processes({"bank": process}):
            return
    process.start()
    try:
        assert await process.left() == 2
    finally:
        process.kill()
    assert said in process.told()
    assert "Traceback" not in process.told()


async def test_a_bug_behind_any_face_tells_a_request_id_and_nothing_else():
    ref = BankRef("b1")
    broken = Broken()
    with structlog.testing.capture_logs() as logs:
        async with open_loopback(host_recaller(broken), host_retainer(broken), host_admin(broken)) as channel:
            admin = RemoteAdmin(channel)
            for call in (
                RemoteRecaller(channel).recall(RecallRequest(ref, "q")),
                RemoteRetainer(channel).retain(RetainRequest(ref, (RetainItem(("x",), time=NOW),))),
                admin.get_bank(ref),
                admin.get_memory(ref, "m"),
                admin.delete_document(ref, "d"),
                admin.get_operation(ref, "o"),
            ):
                with pytest.raises(InternalFault) as caught:
                    await call
                assert caught.value.message == "internal error"
                request_id = caught.value.metadata["request_id"]
                assert request_id
                assert "hunter2" not in json.dumps([caught.value.message, dict(caught.value.metadata)])
                assert "hunter2" not in repr(caught.value.__cause__)
                told = [line for line in logs if line.get("request_id") == request_id and line["event"] == "rpc failed"]
                assert "hunter2" in str(told[-1]["exc_info"])
