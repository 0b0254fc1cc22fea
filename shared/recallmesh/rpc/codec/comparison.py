"""Indexes compared with the ledger, on the wire."""

from recallmesh.core.comparison import IndexComparison
from recallmesh.rpc.codec.enums import arm_from_server
from recallmesh.v1 import bank_service_pb2 as pb


def comparison_to_pb(comparison: IndexComparison) -> pb.IndexComparison:
    """Write a comparison."""
    return pb.IndexComparison(
        arm=comparison.arm,
        shown_count=comparison.shown,
        indexed_count=comparison.indexed,
        missing_count=comparison.missing,
        extra_count=comparison.extra,
        stale_count=comparison.stale,
        pending_count=comparison.pending,
        example_ids=comparison.examples,
        error=comparison.error,
    )


def comparison_from_pb(message: pb.IndexComparison) -> IndexComparison | None:
    """Read a comparison out of an answer; nothing for an arm that this version does not know."""
    arm = arm_from_server(message.arm)
    if arm is None:
        return None
    return IndexComparison(
        arm,
        shown=message.shown_count,
        indexed=message.indexed_count,
        missing=message.missing_count,
        extra=message.extra_count,
        stale=message.stale_count,
        pending=message.pending_count,
        examples=tuple(message.example_ids),
        error=message.error,
    )
