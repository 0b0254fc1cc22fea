"""Old and new talk to one another: what was built of the first protos with today's mesh, and today's client with it.

``first.binpb`` is the image of the first protos of this repository (``buf build --exclude-source-info``), never made
anew. Python's stubs are generated of it here and live in processes of their own.
"""

import asyncio
import json
import subprocess
import sys
from pathlib import Path

import pytest
import pytest_asyncio
from deployment import clean_environment, open_served
from google.protobuf.descriptor_pb2 import FileDescriptorSet
from grpc_tools import protoc

from recallmesh.client import open_client
from recallmesh.core.bank import BankConfig, RetainTuning
from recallmesh.core.errors import Unimplemented
from recallmesh.core.recall import PartState
from recallmesh.core.tuning import RecallTuning

HERE = Path(__file__).parent
FIRST = HERE / "first.binpb"
pytestmark = [pytest.mark.asyncio(loop_scope="session"), pytest.mark.timeout(600)]


@pytest.fixture(scope="module")
def old_stubs(tmp_path_factory):
    """The environment of a process that finds the stubs of the first protos before today's."""
    folder = tmp_path_factory.mktemp("old-stubs")
    files = FileDescriptorSet.FromString(FIRST.read_bytes()).file
    ours = [one.name for one in files if one.name.startswith("recallmesh/")]
    words = [f"--descriptor_set_in={FIRST}", f"--python_out={folder}", f"--grpc_python_out={folder}"]
    assert protoc.main(["protoc", *words, *ours]) == 0
    (folder / "recallmesh" / "v1" / "__init__.py").touch()  # so that it hides today's of the same name
    return clean_environment() | {"PYTHONPATH": str(folder)}


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def served(tmp_path_factory):
    async with open_served(tmp_path_factory.mktemp("today")) as mesh:
        yield mesh


async def test_an_old_client_has_a_whole_conversation_with_todays_mesh(served, old_stubs):
    bank = served.faces.bank("new-settings")
    await bank.create(config=BankConfig(recall=RecallTuning(rrf_k=33), retain=RetainTuning(chunk_tokens=77)))
    done = await asyncio.to_thread(
        subprocess.run,
        [sys.executable, HERE / "old_client.py", served.processes["all"].address],
        env=old_stubs,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    assert json.loads(done.stdout) == {
        "lacks the methods of today": True,
        "created": ["old-client", "old", 1],
        "kept": [1, 1],
        "replayed": True,
        "streamed batches": 2,
        "recalled": "Leo: I adopted a greyhound called Pixel.",
        "arms": ["graph", "keyword", "semantic", "temporal"],
        "candidates": 2,
        "last stage": "RECALL_STAGE_FINAL",
        "listed": ["Leo: I adopted a greyhound called Pixel.", "Nadia: I start in the bakery on 11 May."],
        "hidden and back": [2, 1],
        "document": "chat-0",
        "error": ["NOT_FOUND", "BANK_NOT_FOUND"],
    }
    # It read the settings, changed one and wrote them back: one that it had never heard of is as it was.
    config = (await bank.ensure()).config
    assert (config.recall.rrf_k, config.retain.chunk_tokens) == (33, 77)
    assert config.retain.mission == "what an old client adds"


@pytest.fixture
def old_server(old_stubs):
    """The address of a server of the first protos."""
    command = [sys.executable, HERE / "old_server.py"]
    with subprocess.Popen(command, env=old_stubs, stdout=subprocess.PIPE, text=True) as server:
        yield server.stdout.readline().strip()
        server.terminate()


async def test_todays_client_works_with_an_old_server_and_says_what_that_has_not(old_server):
    async with open_client(old_server, key="k") as mesh:
        bank = mesh.bank("b")
        assert (await bank.ensure()).config == BankConfig()
        assert (await bank.retain("One.", "Two.")).memory_count == 2
        answer = await bank.recall("Who is Pixel?", trace=True, limit=1)
        assert answer.memories[0].memory.text == "Pixel is a greyhound."
        assert [report.state for report in answer.arms] == [PartState.OK]
        # What came later is absent: as if nothing had been said.
        assert (answer.trace, answer.models, answer.source_facts_omitted) == (None, (), 0)
        for work in (
            mesh.recaller.resolve_tuning(bank.ref, RecallTuning()),  # a method of later
            bank.load(["Three."]),  # the same, a stream
            anext(bank.recall_stream("Who is Pixel?")),  # one that it has and does not offer
            mesh.admin.bank_stats(bank.ref),
            bank.forget("d"),  # a whole service
        ):
            with pytest.raises(Unimplemented, match="the server does not offer the call: it may be of another version"):
                await work
