"""What a server hosts: services to register, and the checks that say whether each part can work."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field

import grpc.aio

Check = Callable[[], Awaitable[None]]
"""Returns if a part can work now; raises a mesh error if not. The ports' ``check``."""


@dataclass(frozen=True, slots=True)
class Hosted:
    """One or more gRPC services of a process.

    ``services`` are their full names, for reflection. ``checks`` are by health name: the service's own, or
    ``recallmesh.v1.ArmService/keyword`` for one part of it.
    """

    services: tuple[str, ...]
    register: Callable[[grpc.aio.Server], None]
    checks: Mapping[str, Check] = field(default_factory=dict)


async def always() -> None:
    """Return: a part without a check of its own is ready once it is there."""
