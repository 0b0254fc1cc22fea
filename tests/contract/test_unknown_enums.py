"""An enum's value that a server does not know is refused by the name of its field, wherever a request may hold it."""

import grpc.aio
from google.protobuf.message_factory import GetMessageClass
from loopback import open_loopback

from recallmesh.core.errors import InvalidArgument
from recallmesh.core.retain import BatchAnswer, RetainAnswer
from recallmesh.rpc.admin import host_admin
from recallmesh.rpc.failure import failure_from_pb
from recallmesh.rpc.gateway import BANK, RECALL, RETAIN
from recallmesh.rpc.recaller import host_recaller
from recallmesh.rpc.retainer import host_retainer
from recallmesh.rpc.status import error_from_rpc

UNKNOWN = 99
MODULES = (*BANK, *RECALL, *RETAIN)


def paths(message, above=()):
    """Yield the way to every enum field of a message; through a type once on each way."""
    for field in message.fields:
        inner = field.message_type
        mapped = inner is not None and inner.GetOptions().map_entry and inner.fields_by_name["value"].enum_type
        if mapped or field.enum_type is not None:
            yield (field.name,)
        elif inner is not None and inner.full_name not in above:
            for path in paths(inner, (*above, message.full_name)):
                yield (field.name, *path)


CASES = {
    f"{method.containing_service.name}.{method.name}:{'.'.join(path)}": (method, path)
    for module in MODULES
    for service in module.DESCRIPTOR.services_by_name.values()
    for method in service.methods
    for path in paths(method.input_type)
}
"""Every enum of every request of a caller, by the way to it."""


def request(method, path):
    """Make a request that is as good as it has to be, but for one value."""
    whole = at = GetMessageClass(method.input_type)()
    for name in path[:-1]:
        make_good(at)
        field = at.DESCRIPTOR.fields_by_name[name]
        at = getattr(at, name).add() if field.is_repeated else getattr(at, name)
        at.SetInParent()
    make_good(at)
    field = at.DESCRIPTOR.fields_by_name[path[-1]]
    if field.message_type is not None:
        getattr(at, field.name)["semantic"] = UNKNOWN
    elif field.is_repeated:
        getattr(at, field.name).append(UNKNOWN)
    else:
        setattr(at, field.name, UNKNOWN)
    return whole


def make_good(message):
    """Set what stands beside the value, so that it is no reason to refuse the request."""
    for field in message.DESCRIPTOR.fields:
        if field.name == "bank_id":
            setattr(message, field.name, "b")
        if field.enum_type is not None and not field.is_repeated:
            setattr(message, field.name, 1)


class Unasked:
    """Any port; a request that reaches it was not refused."""

    async def check(self):
        """Be ready."""

    async def stream(self, requests):
        """Take what a stream of batches has in the place of one that cannot be read."""
        async for request in requests:
            yield BatchAnswer(request.request_id, RetainAnswer())

    def __getattr__(self, name):
        def asked(*_, **__):
            raise AssertionError(f"{name} was asked")

        return asked


async def test_a_value_that_is_not_known_is_refused_by_the_name_of_its_field():
    unasked = Unasked()
    hosted = (host_admin(unasked), host_recaller(unasked), host_retainer(unasked))
    async with open_loopback(*hosted) as channel:
        told = {name: await refusal(channel, *case) for name, case in CASES.items()}
    assert {name: error for name, error in told.items() if not names_its_field(error, CASES[name][1])} == {}
    assert len(told) > 60


async def refusal(channel, method, path):
    name = f"/{method.containing_service.full_name}/{method.name}"
    call = channel.stream_stream(name)(iter([request(method, path).SerializeToString()]), timeout=10)
    try:
        found = [answer async for answer in call]
    except grpc.aio.AioRpcError as error:
        return error_from_rpc(error)
    return failure_from_pb(GetMessageClass(method.output_type).FromString(found[0]).failure)


def names_its_field(error, path):
    if not isinstance(error, InvalidArgument) or len(error.violations) != 1:
        return False
    (violation,) = error.violations
    name = path[-2] if path[-1] == "levels" else path[-1]  # boosts[semantic], of ArmBoosts.levels
    return name in violation.field and violation.description.startswith("must be one of ")
