"""Operations on the wire."""

from recallmesh.core.operation import Operation
from recallmesh.rpc.codec.enums import OPERATION_KIND, OPERATION_STATE
from recallmesh.rpc.codec.time import moment_from_pb, moment_to_pb
from recallmesh.v1 import operation_pb2


def operation_to_pb(operation: Operation) -> operation_pb2.Operation:
    """Write an operation."""
    return operation_pb2.Operation(
        id=operation.id,
        kind=OPERATION_KIND.to_pb(operation.kind),
        state=OPERATION_STATE.to_pb(operation.state),
        create_time=moment_to_pb(operation.created),
        update_time=moment_to_pb(operation.updated),
        done=operation.done,
        total=operation.total,
        attempts=operation.attempts,
        error=operation.error,
        memory_ids=operation.memory_ids,
    )


def operation_from_pb(message: operation_pb2.Operation) -> Operation:
    """Read an operation out of an answer."""
    return Operation(
        id=message.id,
        kind=OPERATION_KIND.from_server(message.kind),
        state=OPERATION_STATE.from_server(message.state),
        created=moment_from_pb(message.create_time, "operation.create_time"),
        updated=moment_from_pb(message.update_time, "operation.update_time"),
        done=message.done,
        total=message.total,
        attempts=message.attempts,
        error=message.error,
        memory_ids=tuple(message.memory_ids),
    )
