"""A whole conversation by the stubs of the first protos, as a client would have that was built of them and never again.

Run in a process of its own, with those stubs before today's on the path: ``old_client.py ADDRESS``. Prints what it saw.
"""

import json
import sys

import grpc
from google.rpc import error_details_pb2, status_pb2

from recallmesh.v1 import (
    bank_pb2,
    bank_service_pb2,
    bank_service_pb2_grpc,
    document_service_pb2,
    document_service_pb2_grpc,
    memory_service_pb2,
    memory_service_pb2_grpc,
    recall_service_pb2,
    recall_service_pb2_grpc,
    retain_service_pb2,
    retain_service_pb2_grpc,
)

WITHIN_S = 30
BANK = "old-client"


def reason_of(error):
    """Return the reason of an error's details."""
    details = dict(error.trailing_metadata())["grpc-status-details-bin"]
    info = error_details_pb2.ErrorInfo()
    for detail in status_pb2.Status.FromString(details).details:
        if detail.Unpack(info):
            return info.reason
    return ""


def items():
    """Return two things to keep."""
    texts = ("Leo: I adopted a greyhound called Pixel.", "Nadia: I start in the bakery on 11 May.")
    block = retain_service_pb2.ContentBlock
    return [
        retain_service_pb2.RetainItem(content=[block(text=text)], document_id=f"chat-{number}", tags=["chat"])
        for number, text in enumerate(texts)
    ]


def converse(channel):
    """Have the conversation; yields what it saw, by name."""
    banks = bank_service_pb2_grpc.BankServiceStub(channel)
    retain = retain_service_pb2_grpc.RetainServiceStub(channel)
    recall = recall_service_pb2_grpc.RecallServiceStub(channel)
    memories = memory_service_pb2_grpc.MemoryServiceStub(channel)
    documents = document_service_pb2_grpc.DocumentServiceStub(channel)
    yield "lacks the methods of today", not hasattr(recall, "ResolveTuning") and not hasattr(retain, "RetainBulk")

    created = banks.CreateBank(bank_service_pb2.CreateBankRequest(bank_id=BANK, name="old"), timeout=WITHIN_S).bank
    yield "created", [created.id, created.name, created.version]

    request = retain_service_pb2.RetainRequest(
        bank_id=BANK, request_id="r-1", items=items(), mode=bank_pb2.EXTRACTION_MODE_CHUNKS
    )
    kept = retain.Retain(request, timeout=WITHIN_S)
    yield "kept", [len(item.memory_ids) for item in kept.items]
    yield "replayed", retain.Retain(request, timeout=WITHIN_S).replayed

    stream = (retain_service_pb2.RetainStreamRequest(retain=one) for one in (request, request))
    yield "streamed batches", retain.RetainStream(stream, timeout=WITHIN_S).batch_count

    asked = recall_service_pb2.RecallRequest(bank_id=BANK, query="Who is Pixel?", trace=True)
    answer = recall.Recall(asked, timeout=WITHIN_S)
    yield "recalled", answer.memories[0].memory.text
    yield "arms", sorted(report.arm for report in answer.arms)
    yield "candidates", len(answer.trace.candidates)
    streamed = recall.RecallStream(recall_service_pb2.RecallStreamRequest(recall=asked), timeout=WITHIN_S)
    yield "last stage", recall_service_pb2.RecallStage.Name([one.stage for one in streamed][-1])

    first = memories.ListMemories(memory_service_pb2.ListMemoriesRequest(bank_id=BANK, page_size=1), timeout=WITHIN_S)
    rest = memories.ListMemories(
        memory_service_pb2.ListMemoriesRequest(bank_id=BANK, page_size=1, page_token=first.next_page_token),
        timeout=WITHIN_S,
    )
    listed = [*first.memories, *rest.memories]
    yield "listed", sorted(memory.text for memory in listed)
    one = {"bank_id": BANK, "memory_id": listed[0].id}
    hidden = memories.InvalidateMemory(memory_service_pb2.InvalidateMemoryRequest(**one), timeout=WITHIN_S).memory
    back = memories.RestoreMemory(memory_service_pb2.RestoreMemoryRequest(**one), timeout=WITHIN_S).memory
    yield "hidden and back", [hidden.state, back.state]

    whole = documents.GetDocument(
        document_service_pb2.GetDocumentRequest(bank_id=BANK, document_id="chat-0"), timeout=WITHIN_S
    )
    yield "document", whole.document.id

    # What it does not know of a bank's settings, it gives back as it came.
    bank = banks.GetBank(bank_service_pb2.GetBankRequest(bank_id="new-settings"), timeout=WITHIN_S).bank
    bank.config.retain.mission = "what an old client adds"
    banks.UpdateBank(
        bank_service_pb2.UpdateBankRequest(bank_id="new-settings", config=bank.config, version=bank.version),
        timeout=WITHIN_S,
    )

    banks.DeleteBank(bank_service_pb2.DeleteBankRequest(bank_id=BANK), timeout=WITHIN_S)
    try:
        recall.Recall(asked, timeout=WITHIN_S)
    except grpc.RpcError as error:
        yield "error", [error.code().name, reason_of(error)]


def main(address):
    """Print what was seen, as one JSON object."""
    with grpc.insecure_channel(address) as channel:
        print(json.dumps(dict(converse(channel))))  # noqa: T201 - who started it reads that


if __name__ == "__main__":
    main(sys.argv[1])
