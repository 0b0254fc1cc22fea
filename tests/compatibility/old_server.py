"""A server as a mesh would be that was built of the first protos: some of its methods, and none that came later.

Run in a process of its own, with those stubs before today's on the path. Prints its address, and serves until it is
told to end.
"""

from concurrent.futures import ThreadPoolExecutor

import grpc
from google.protobuf.timestamp_pb2 import Timestamp

from recallmesh.v1 import (
    bank_pb2,
    bank_service_pb2,
    bank_service_pb2_grpc,
    memory_pb2,
    recall_service_pb2,
    recall_service_pb2_grpc,
    report_pb2,
    retain_service_pb2,
    retain_service_pb2_grpc,
)

AT = Timestamp(seconds=1_770_000_000)


class Banks(bank_service_pb2_grpc.BankServiceServicer):
    """Has one bank."""

    def GetBank(self, request, _context):  # noqa: N802 - the generated service names it
        bank = bank_pb2.Bank(id=request.bank_id, uid="u", create_time=AT, version=1)
        return bank_service_pb2.GetBankResponse(bank=bank)


class Recaller(recall_service_pb2_grpc.RecallServiceServicer):
    """Finds one memory, whatever is asked."""

    def Recall(self, _request, _context):  # noqa: N802 - the same
        memory = memory_pb2.Memory(
            id="m", text="Pixel is a greyhound.", fact_type=memory_pb2.FACT_TYPE_WORLD, create_time=AT
        )
        recalled = recall_service_pb2.RecalledMemory(memory=memory, ranks={"keyword": 1})
        arm = report_pb2.ArmReport(arm="keyword", state=report_pb2.PART_STATE_OK, hit_count=1)
        return recall_service_pb2.RecallResponse(memories=[recalled], arms=[arm])


class Retainer(retain_service_pb2_grpc.RetainServiceServicer):
    """Says that it has kept everything."""

    def Retain(self, request, _context):  # noqa: N802 - the same
        item = retain_service_pb2.RetainedItem(document_id="d", memory_ids=["m"])
        return retain_service_pb2.RetainResponse(items=[item] * len(request.items))


def main():
    """Serve on a free port of loopback."""
    server = grpc.server(ThreadPoolExecutor(4))
    bank_service_pb2_grpc.add_BankServiceServicer_to_server(Banks(), server)
    recall_service_pb2_grpc.add_RecallServiceServicer_to_server(Recaller(), server)
    retain_service_pb2_grpc.add_RetainServiceServicer_to_server(Retainer(), server)
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    print(f"127.0.0.1:{port}", flush=True)  # noqa: T201 - who started it reads that
    server.wait_for_termination()


if __name__ == "__main__":
    main()
