"""Asks a service whether it is ready."""

import grpc
import grpc.aio
from grpc_health.v1 import health_pb2

from recallmesh.core.errors import StoreUnavailable
from recallmesh.rpc.call import time_left
from recallmesh.rpc.status import error_from_rpc


async def check_health(channel: grpc.aio.Channel, name: str, *, timeout_s: float | None) -> None:
    """Return if the part of this health name is ready.

    Raises:
        StoreUnavailable: it is not, is not hosted there, or does not answer.

    """
    ask = channel.unary_unary(
        "/grpc.health.v1.Health/Check",
        request_serializer=health_pb2.HealthCheckRequest.SerializeToString,
        response_deserializer=health_pb2.HealthCheckResponse.FromString,
    )
    try:
        answer = await ask(health_pb2.HealthCheckRequest(service=name), timeout=time_left(timeout_s))
    except grpc.aio.AioRpcError as error:
        if error.code() is grpc.StatusCode.NOT_FOUND:
            raise StoreUnavailable(f"{name} is not hosted there") from error
        raise error_from_rpc(error) from error
    if answer.status != health_pb2.HealthCheckResponse.SERVING:
        raise StoreUnavailable(f"{name or 'the process'} is not ready")
