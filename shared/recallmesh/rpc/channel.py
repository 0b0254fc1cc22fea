"""Channels to the other services: shared calls, retries of what may be repeated, sane limits."""

import json
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from functools import partial

import grpc
import grpc.aio

from recallmesh.core.limits import MESSAGE_BYTES
from recallmesh.rpc.renewing import open_renewing
from recallmesh.rpc.tls import LiveTls

Channel = grpc.aio.Channel
"""An open channel, for annotations of those who do not import grpc."""

Credentials = grpc.ChannelCredentials
"""What encrypts a channel, for the same."""

REPEATABLE: dict[str, tuple[str, ...]] = {
    "ArmService": (),
    "VectorService": (),
    "EmbedderService": (),
    "RerankerService": (),
    "RecallService": ("Recall", "ResolveTuning"),
    # Writes with a request id: the clients here always send one.
    "RetainService": ("Retain",),
    "BankService": (
        "GetBank",
        "ListBanks",
        "GetBankStats",
        "VerifyBank",
        "ListEvents",
        "ListSecurityEvents",
        "ListWebhooks",
    ),
    "DocumentService": ("GetDocument", "ListDocuments", "GetChunk", "ListChunks", "GetAttachment"),
    "MemoryService": (
        "GetMemory",
        "ListMemories",
        "UpdateMemory",
        "InvalidateMemory",
        "RestoreMemory",
        "ListTags",
        "GetMemoryHistory",
    ),
    "EntityService": ("GetEntity", "ListEntities", "ExplainEntity", "MergeEntities", "AddEntityAlias"),
    "OperationService": ("GetOperation", "ListOperations", "CancelOperation"),
}
"""What may be called again after UNAVAILABLE or CANCELLED, by service; no method named: all of them."""

PUBLIC = (
    "RecallService",
    "RetainService",
    "BankService",
    "DocumentService",
    "MemoryService",
    "EntityService",
    "OperationService",
)
"""The services that callers from outside the mesh reach; the others are for the mesh itself."""

STAYING = "recallmesh"
"""The health name that a channel watches: SERVING until a process leaves, so that no new call goes to one that does."""

RETRY_POLICY = {
    "maxAttempts": 3,
    "initialBackoff": "0.05s",
    "maxBackoff": "0.5s",
    "backoffMultiplier": 3,
    # A server that stops cancels what it has not begun with (grpc/grpc#41785). A caller's own cancel is not retried.
    "retryableStatusCodes": ["UNAVAILABLE", "CANCELLED"],
}


def service_config(services: Iterable[str] = REPEATABLE) -> dict[str, object]:
    """Return the gRPC service config of every channel to these services.

    Calls go round the servers that do not leave, and are retried where that does no harm.
    """
    names = [
        {"service": f"recallmesh.v1.{service}"} | ({"method": method} if method else {})
        for service in services
        for method in REPEATABLE[service] or ("",)
    ]
    return {
        "loadBalancingConfig": [{"round_robin": {}}],
        "healthCheckConfig": {"serviceName": STAYING},
        "methodConfig": [{"name": names, "retryPolicy": RETRY_POLICY}],
        # A server that fails half of its calls is not helped by more of them.
        "retryThrottling": {"maxTokens": 100, "tokenRatio": 0.5},
    }


@asynccontextmanager
async def open_channel(
    address: str,
    *,
    credentials: grpc.ChannelCredentials | None = None,
    tls: LiveTls | None = None,
    keepalive_s: float = 1.0,
    keepalive_timeout_s: float = 2.0,
    reconnect_s: float = 2.0,
) -> AsyncIterator[grpc.aio.Channel]:
    """Open a channel to a service; connecting happens with the first call.

    ``address`` is a gRPC target: ``host:port``, ``dns:///name:port`` (calls go round all its addresses) or
    ``unix:path``. With ``tls`` the channel is made anew whenever there is something new, without the loss of a call;
    ``credentials`` are for good. Without either nothing is encrypted. ``reconnect_s`` bounds the pause between attempts
    to reach a server that is down. Who says nothing for ``keepalive_s`` is asked, and given up after
    ``keepalive_timeout_s`` more: calls to it are then retried elsewhere, if they may be, within their deadline.
    """
    options: list[tuple[str, str | int]] = [
        ("grpc.service_config", json.dumps(service_config())),
        ("grpc.service_config_disable_resolution", 1),
        ("grpc.max_send_message_length", MESSAGE_BYTES),
        ("grpc.max_receive_message_length", MESSAGE_BYTES),
        ("grpc.keepalive_time_ms", int(keepalive_s * 1000)),
        ("grpc.keepalive_timeout_ms", int(keepalive_timeout_s * 1000)),
        # Of every ping, those that measure the wire too: as long as one is on its way no other is sent.
        ("grpc.http2.ping_timeout_ms", int(keepalive_timeout_s * 1000)),
        # Else the third ping in a row that no message went with would wait for a minute.
        ("grpc.http2.max_pings_without_data", 0),
        ("grpc.initial_reconnect_backoff_ms", 100),
        ("grpc.min_reconnect_backoff_ms", 100),
        ("grpc.max_reconnect_backoff_ms", int(reconnect_s * 1000)),
        ("grpc.dns_min_time_between_resolutions_ms", 1000),
        # Channels of one process to one address do not share connections: each spreads its own calls.
        ("grpc.use_local_subchannel_pool", 1),
    ]
    channel: grpc.aio.Channel
    if tls is not None:
        async with open_renewing(partial(_secured, address, tls, options), tls.hearers) as channel:
            yield channel
        return
    if credentials is None:
        channel = grpc.aio.insecure_channel(address, options=options)
    else:
        channel = grpc.aio.secure_channel(address, credentials, options=options)
    async with channel:
        yield channel


def _secured(address: str, tls: LiveTls, options: list[tuple[str, str | int]]) -> grpc.aio.Channel:
    name = tls.files.server_name
    named = [("grpc.ssl_target_name_override", name)] if name else []
    return grpc.aio.secure_channel(address, tls.channel_credentials(), options=[*options, *named])
