"""One codec for each enum: strict about what callers send, tolerant of what newer servers answer."""

from enum import StrEnum
from typing import TYPE_CHECKING, Generic, TypeVar

from recallmesh.core.arm import ArmName
from recallmesh.core.bank import ExtractionMode, ObservationScope
from recallmesh.core.defense import DefenseAction, DefenseDetector
from recallmesh.core.encoder import EmbedKind
from recallmesh.core.errors import FieldViolation, InvalidArgument
from recallmesh.core.event import EventKind
from recallmesh.core.memory import FactType, MemoryState
from recallmesh.core.operation import OperationKind, OperationState
from recallmesh.core.recall import Fusion, Outcome, PartState, RecallStage
from recallmesh.core.retain import DeliveryState, UpdateMode
from recallmesh.core.tags import TagMode
from recallmesh.core.time import Precision
from recallmesh.core.tuning import BoostLevel, Budget, BudgetMode, RecencyCurve, TuningOrigin
from recallmesh.core.vectors import VectorField
from recallmesh.v1 import (
    bank_pb2,
    embedder_service_pb2,
    event_pb2,
    memory_pb2,
    operation_pb2,
    recall_service_pb2,
    report_pb2,
    retain_service_pb2,
    tag_pb2,
    time_pb2,
    trace_pb2,
    tuning_pb2,
    vector_service_pb2,
)

if TYPE_CHECKING:
    from google.protobuf.internal.enum_type_wrapper import _EnumTypeWrapper

E = TypeVar("E", bound=StrEnum)
V = TypeVar("V", bound=int)


class EnumCodec(Generic[E, V]):
    """Translates one enum; ``fallback`` is what a value of a newer server is read as."""

    def __init__(self, wire: "_EnumTypeWrapper[V]", core: type[E], prefix: str, *, fallback: E) -> None:
        """Pair the members by name; a core member that the wire lacks is an error at import."""
        self._to = {member: wire.Value(f"{prefix}_{member.name}") for member in core}
        self._from: dict[int, E] = {int(number): member for member, number in self._to.items()}
        self._known = ", ".join(f"{prefix}_{member.name}" for member in core)
        self._fallback = fallback

    def to_pb(self, value: E) -> V:
        """Return the wire's number."""
        return self._to[value]

    def at_door(self, number: int, field: str, *, default: E | None = None) -> E:
        """Read what a caller sent; the default stands in for an unset one.

        Raises:
            InvalidArgument: the value is unknown, or unset without a default.

        """
        found = self._from.get(number, default if number == 0 else None)
        if found is None:
            raise InvalidArgument(FieldViolation(field, f"must be one of {self._known}"))
        return found

    def from_server(self, number: int) -> E:
        """Read what a server answered."""
        return self._from.get(number, self._fallback)

    def known(self, number: int) -> E | None:
        """Read what a server answered; nothing for a value that would be told wrongly as any other."""
        return self._from.get(number)

    def read(self, number: int, field: str, *, door: bool) -> E:
        """Read a required value on either side."""
        return self.at_door(number, field) if door else self.from_server(number)


def arm_from_server(name: str) -> ArmName | None:
    """Read an arm's name in an answer; ``None`` for one that this version does not know."""
    return ArmName(name) if name in ArmName.__members__.values() else None


def arm_at_door(name: str, field: str) -> ArmName:
    """Read an arm's name in a request."""
    found = arm_from_server(name)
    if found is None:
        raise InvalidArgument(FieldViolation(field, f"must be one of {', '.join(ArmName)}"))
    return found


FACT_TYPE = EnumCodec(memory_pb2.FactType, FactType, "FACT_TYPE", fallback=FactType.WORLD)
MEMORY_STATE = EnumCodec(memory_pb2.MemoryState, MemoryState, "MEMORY_STATE", fallback=MemoryState.ACTIVE)
PRECISION = EnumCodec(time_pb2.Precision, Precision, "PRECISION", fallback=Precision.RANGE)
TAG_MODE = EnumCodec(tag_pb2.TagMode, TagMode, "TAG_MODE", fallback=TagMode.ALL_STRICT)
BUDGET = EnumCodec(tuning_pb2.Budget, Budget, "BUDGET", fallback=Budget.MID)
BUDGET_MODE = EnumCodec(tuning_pb2.BudgetMode, BudgetMode, "BUDGET_MODE", fallback=BudgetMode.FIXED)
BOOST_LEVEL = EnumCodec(tuning_pb2.BoostLevel, BoostLevel, "BOOST_LEVEL", fallback=BoostLevel.LOW)
RECENCY_CURVE = EnumCodec(tuning_pb2.RecencyCurve, RecencyCurve, "RECENCY_CURVE", fallback=RecencyCurve.LINEAR)
TUNING_ORIGIN = EnumCodec(tuning_pb2.TuningOrigin, TuningOrigin, "TUNING_ORIGIN", fallback=TuningOrigin.SERVICE)
EXTRACTION_MODE = EnumCodec(bank_pb2.ExtractionMode, ExtractionMode, "EXTRACTION_MODE", fallback=ExtractionMode.CONCISE)
OBSERVATION_SCOPE = EnumCodec(
    bank_pb2.ObservationScope, ObservationScope, "OBSERVATION_SCOPE", fallback=ObservationScope.COMBINED
)
UPDATE_MODE = EnumCodec(retain_service_pb2.UpdateMode, UpdateMode, "UPDATE_MODE", fallback=UpdateMode.REPLACE)
DELIVERY_STATE = EnumCodec(
    retain_service_pb2.DeliveryState, DeliveryState, "DELIVERY_STATE", fallback=DeliveryState.PENDING
)
FUSION = EnumCodec(recall_service_pb2.Fusion, Fusion, "FUSION", fallback=Fusion.RRF)
# A stage that is not known is not the final one.
RECALL_STAGE = EnumCodec(recall_service_pb2.RecallStage, RecallStage, "RECALL_STAGE", fallback=RecallStage.FUSED)
PART_STATE = EnumCodec(report_pb2.PartState, PartState, "PART_STATE", fallback=PartState.FAILED)
OUTCOME = EnumCodec(trace_pb2.Outcome, Outcome, "OUTCOME", fallback=Outcome.CAP)
OPERATION_KIND = EnumCodec(
    operation_pb2.OperationKind, OperationKind, "OPERATION_KIND", fallback=OperationKind.REPROCESS
)
OPERATION_STATE = EnumCodec(
    operation_pb2.OperationState, OperationState, "OPERATION_STATE", fallback=OperationState.RUNNING
)
EMBED_KIND = EnumCodec(embedder_service_pb2.EmbedKind, EmbedKind, "EMBED_KIND", fallback=EmbedKind.PASSAGE)
VECTOR_FIELD = EnumCodec(vector_service_pb2.VectorField, VectorField, "VECTOR_FIELD", fallback=VectorField.TEXT)
DEFENSE_DETECTOR = EnumCodec(
    bank_pb2.DefenseDetector, DefenseDetector, "DEFENSE_DETECTOR", fallback=DefenseDetector.SECRET
)
DEFENSE_ACTION = EnumCodec(bank_pb2.DefenseAction, DefenseAction, "DEFENSE_ACTION", fallback=DefenseAction.BLOCK)
EVENT_KIND = EnumCodec(event_pb2.EventKind, EventKind, "EVENT_KIND", fallback=EventKind.RETAIN_COMPLETED)
