"""What a newer server may answer is read: every enum that an answer can carry, with a value that is not known here."""

import pytest
from google.protobuf.descriptor import FieldDescriptor

from recallmesh.core.defense import DefenseAction, DefenseTuning
from recallmesh.core.errors import InternalFault, MeshError
from recallmesh.core.event import EventKind
from recallmesh.core.memory import FactType, MemoryState
from recallmesh.core.operation import OperationState
from recallmesh.core.recall import PartState, RecallStage
from recallmesh.core.retain import DeliveryState
from recallmesh.rpc import bulk, failure
from recallmesh.rpc.codec import bank, event, memory, operation, recall, retain, tuning, vectors
from recallmesh.v1 import (
    arm_service_pb2,
    bank_pb2,
    bank_service_pb2,
    document_service_pb2,
    embedder_service_pb2,
    entity_service_pb2,
    event_pb2,
    memory_pb2,
    memory_service_pb2,
    operation_pb2,
    operation_service_pb2,
    recall_service_pb2,
    report_pb2,
    reranker_service_pb2,
    retain_service_pb2,
    vector_service_pb2,
)

UNKNOWN = 99
MODULES = (
    arm_service_pb2,
    bank_service_pb2,
    document_service_pb2,
    embedder_service_pb2,
    entity_service_pb2,
    memory_service_pb2,
    operation_service_pb2,
    recall_service_pb2,
    reranker_service_pb2,
    retain_service_pb2,
    vector_service_pb2,
)
METHODS = [
    method
    for module in MODULES
    for service in module.DESCRIPTOR.services_by_name.values()
    for method in service.methods
]
READERS = {
    bank_pb2.Bank: lambda message: bank.bank_from_pb(message, "default"),
    event_pb2.Event: event.event_from_pb,
    event_pb2.SecurityEvent: event.decision_from_pb,
    event_pb2.Webhook: event.webhook_from_pb,
    memory_pb2.Memory: memory.memory_from_pb,
    operation_pb2.Operation: operation.operation_from_pb,
    recall_service_pb2.RecallResponse: recall.answer_from_pb,
    recall_service_pb2.RecallStreamResponse: recall.progress_from_pb,
    recall_service_pb2.ResolveTuningResponse: tuning.effective_from_pb,
    retain_service_pb2.RetainResponse: retain.retained_from_pb,
    retain_service_pb2.RetainBulkResponse: bulk._answer_from_pb,
    retain_service_pb2.BatchFailure: failure.failure_from_pb,
    vector_service_pb2.VectorHits: vectors.vector_hits_from_pb,
}
"""What reads each noun of an answer that has an enum in it."""
WORD = "semantic"
"""Stands for every text: an arm's name among them, so that what is told of arms is read too."""


def enums(message, seen):
    """Yield the enum fields that a message can hold, at any depth."""
    if message.full_name in seen:
        return
    seen.add(message.full_name)
    for field in message.fields:
        if field.enum_type is not None:
            yield field.full_name
        if field.message_type is not None:
            yield from enums(field.message_type, seen)


def filled(message, depth=8):
    """Fill a message: every field set, every list with one, every enum with a number that is none of its values."""
    for field in message.DESCRIPTOR.fields:
        if depth and (field.message_type is None or field.message_type.full_name != message.DESCRIPTOR.full_name):
            fill(message, field, depth)
    return message


def fill(message, field, depth):
    if field.message_type is not None and field.message_type.GetOptions().map_entry:
        value = field.message_type.fields_by_name["value"]
        held = getattr(message, field.name)
        key = WORD if field.message_type.fields_by_name["key"].type == FieldDescriptor.TYPE_STRING else 1
        if value.message_type is not None:
            filled(held[key], depth - 1)
        else:
            held[key] = plain(value)
    elif field.message_type is not None:
        held = getattr(message, field.name)
        filled(held.add() if field.is_repeated else held, depth - 1)
    elif field.is_repeated:
        getattr(message, field.name).append(plain(field))
    else:
        setattr(message, field.name, plain(field))


def plain(field):
    if field.enum_type is not None:
        return UNKNOWN
    return {FieldDescriptor.TYPE_STRING: WORD, FieldDescriptor.TYPE_BYTES: b""}.get(field.type, 1)


def test_every_enum_of_an_answer_is_read_by_one_of_the_readers():
    answered = {name for method in METHODS for name in enums(method.output_type, set())}
    read = {name for noun in READERS for name in enums(noun.DESCRIPTOR, set())}
    assert answered <= read
    assert len(answered) > 20


@pytest.mark.parametrize("noun", READERS, ids=lambda noun: noun.DESCRIPTOR.name)
def test_a_value_that_is_not_known_is_read_whatever_stands_around_it(noun):
    message = filled(noun())
    assert UNKNOWN in numbers(message)
    READERS[noun](message)
    READERS[noun](noun.FromString(message.SerializeToString()))


def numbers(message):
    """Return the numbers of all enums that are set, at any depth."""
    found = set()
    for field, value in message.ListFields():
        if field.message_type is not None and field.message_type.GetOptions().map_entry:
            inner = field.message_type.fields_by_name["value"]
            held = list(value.values())
        else:
            inner, held = field, list(value) if field.is_repeated else [value]
        if inner.enum_type is not None:
            found.update(held)
        if inner.message_type is not None:
            found.update(*map(numbers, held))
    return found


def read(noun):
    return READERS[noun](filled(noun()))


def test_what_is_not_known_is_read_as_what_harms_least():
    answer = read(recall_service_pb2.RecallResponse)
    assert [report.state for report in (*answer.arms, *answer.models)] == [PartState.FAILED] * 2
    assert (answer.memories[0].memory.fact_type, answer.memories[0].memory.state) == (
        FactType.WORLD,
        MemoryState.ACTIVE,
    )
    assert read(recall_service_pb2.RecallStreamResponse).stage is not RecallStage.FINAL
    assert read(operation_pb2.Operation).state is OperationState.RUNNING
    retained = read(retain_service_pb2.RetainResponse)
    assert retained.deliveries[0].state is DeliveryState.PENDING
    assert retained.items[0].violations[0].action is DefenseAction.BLOCK
    assert isinstance(read(retain_service_pb2.BatchFailure), MeshError)


def test_an_event_of_a_kind_that_is_not_known_is_none():
    assert read(event_pb2.Event) is None
    known = event_pb2.Event(kind=event_pb2.EVENT_KIND_RETAIN_COMPLETED)
    known.time.seconds = 1
    assert event.event_from_pb(known).kind is EventKind.RETAIN_COMPLETED


def test_a_rule_for_what_is_not_known_does_not_hide_one_that_is():
    known = bank_pb2.DefenseRule(detector=bank_pb2.DEFENSE_DETECTOR_SECRET, action=bank_pb2.DEFENSE_ACTION_REDACT)
    rules = [known, bank_pb2.DefenseRule(detector=UNKNOWN, action=bank_pb2.DEFENSE_ACTION_BLOCK)]
    config = bank_pb2.BankConfig(defense=bank_pb2.DefenseTuning(rules=rules))
    assert bank.config_from_pb(config, door=False).defense == DefenseTuning(secret=DefenseAction.REDACT)


def test_a_reason_that_is_not_known_is_the_error_of_its_code():
    not_found, unheard_of = 5, 2
    told = retain_service_pb2.BatchFailure(code=not_found, reason=UNKNOWN, message="no such thing")
    assert (failure.failure_from_pb(told).code, failure.failure_from_pb(told).message) == ("NOT_FOUND", "no such thing")
    assert isinstance(failure.failure_from_pb(retain_service_pb2.BatchFailure(code=unheard_of)), InternalFault)


def test_an_arm_that_is_not_known_is_left_out():
    answer = recall_service_pb2.RecallResponse(arms=[report_pb2.ArmReport(arm="newer", state=UNKNOWN)])
    answer.memories.add().ranks["newer"] = 1
    answer.memories[0].memory.create_time.seconds = 1
    found = recall.answer_from_pb(answer)
    assert (found.arms, dict(found.memories[0].ranks)) == ((), {})
