"""Banks on the wire. The tenant never is: the server knows it from the credential."""

from google.protobuf.message import Message

from recallmesh.core.bank import (
    Bank,
    BankConfig,
    BankRef,
    BankStats,
    ConsolidationTuning,
    ExtractionMode,
    LabelKey,
    ObservationScope,
    RetainTuning,
)
from recallmesh.core.errors import FieldViolation, InvalidArgument, Unimplemented
from recallmesh.core.principal import check_bank
from recallmesh.rpc.codec.defense import defense_from_pb, defense_to_pb
from recallmesh.rpc.codec.enums import EXTRACTION_MODE, OBSERVATION_SCOPE
from recallmesh.rpc.codec.time import moment_from_pb, moment_to_pb
from recallmesh.rpc.codec.tuning import tuning_from_pb, tuning_to_pb
from recallmesh.v1 import bank_pb2

DEFAULT_TUNING = RetainTuning()


def bank_ref(bank_id: str, tenant: str) -> BankRef:
    """Name a bank of the caller's tenant.

    Raises:
        InvalidArgument: the request names none.
        Forbidden: the caller's credential is for other banks.

    """
    if not bank_id:
        raise InvalidArgument(FieldViolation("bank_id", "is required"))
    check_bank(bank_id)
    return BankRef(bank_id, tenant)


def refuse_unoffered(message: Message, field: str, *names: str) -> None:
    """Refuse arguments that the protos have and this version has not: ignoring them would promise too much.

    Raises:
        Unimplemented: one of them is set.

    """
    for descriptor, _ in message.ListFields():
        if descriptor.name in names:
            raise Unimplemented(f"{field}.{descriptor.name} is not offered by this version")


def config_to_pb(config: BankConfig) -> bank_pb2.BankConfig:
    """Write a bank's settings."""
    return bank_pb2.BankConfig(
        recall=tuning_to_pb(config.recall),
        retain=retain_tuning_to_pb(config.retain),
        consolidation=consolidation_to_pb(config.consolidation),
        labels=[label_key_to_pb(one) for one in config.labels],
        defense=defense_to_pb(config.defense),
    )


def config_from_pb(message: bank_pb2.BankConfig, *, door: bool) -> BankConfig:
    """Read a bank's settings."""
    return BankConfig(
        tuning_from_pb(message.recall, "config.recall", door=door),
        retain_tuning_from_pb(message.retain, door=door),
        consolidation_from_pb(message.consolidation, door=door),
        labels=tuple(label_key_from_pb(one) for one in message.labels),
        defense=defense_from_pb(message.defense, door=door),
    )


def consolidation_to_pb(tuning: ConsolidationTuning) -> bank_pb2.ConsolidationTuning:
    """Write how a bank's facts are consolidated."""
    return bank_pb2.ConsolidationTuning(
        enabled=tuning.enabled,
        scope=OBSERVATION_SCOPE.to_pb(tuning.scope),
        custom_scopes=[bank_pb2.ScopeTags(tags=tags) for tags in tuning.custom_scopes],
    )


def consolidation_from_pb(message: bank_pb2.ConsolidationTuning, *, door: bool) -> ConsolidationTuning:
    """Read how a bank's facts are consolidated; what is absent is the default."""
    scope = ObservationScope.COMBINED
    if message.scope:
        scope = OBSERVATION_SCOPE.read(message.scope, "config.consolidation.scope", door=door)
    return ConsolidationTuning(
        enabled=message.enabled if message.HasField("enabled") else None,
        scope=scope,
        custom_scopes=tuple(tuple(one.tags) for one in message.custom_scopes),
    )


def label_key_to_pb(one: LabelKey) -> bank_pb2.LabelKey:
    """Write a key of the vocabulary."""
    return bank_pb2.LabelKey(key=one.key, values=one.values, description=one.description, write_tags=one.write_tags)


def label_key_from_pb(message: bank_pb2.LabelKey) -> LabelKey:
    """Read a key of the vocabulary."""
    return LabelKey(message.key, tuple(message.values), message.description, message.write_tags)


def retain_tuning_to_pb(tuning: RetainTuning) -> bank_pb2.RetainTuning:
    """Write how a bank takes in what it is told."""
    return bank_pb2.RetainTuning(
        mode=EXTRACTION_MODE.to_pb(tuning.mode),
        chunk_tokens=tuning.chunk_tokens,
        agent_names=bank_pb2.NameSet(names=tuning.agent_names),
        mission=tuning.mission,
        instructions=tuning.instructions,
        language=tuning.language,
    )


def retain_tuning_from_pb(message: bank_pb2.RetainTuning, *, door: bool) -> RetainTuning:
    """Read how a bank takes in what it is told; what is absent is the default."""
    has = message.HasField
    mode = ExtractionMode.CONCISE
    if message.mode:
        mode = EXTRACTION_MODE.read(message.mode, "config.retain.mode", door=door)
    return RetainTuning(
        mode=mode,
        chunk_tokens=message.chunk_tokens if has("chunk_tokens") else DEFAULT_TUNING.chunk_tokens,
        agent_names=tuple(message.agent_names.names) if has("agent_names") else DEFAULT_TUNING.agent_names,
        mission=message.mission,
        instructions=message.instructions,
        language=message.language if has("language") else DEFAULT_TUNING.language,
    )


def bank_to_pb(bank: Bank) -> bank_pb2.Bank:
    """Write a bank."""
    return bank_pb2.Bank(
        id=bank.ref.bank_id,
        uid=bank.uid,
        name=bank.name,
        config=config_to_pb(bank.config),
        create_time=moment_to_pb(bank.created),
        version=bank.version,
    )


def bank_from_pb(message: bank_pb2.Bank, tenant: str) -> Bank:
    """Read a bank out of an answer to a caller of this tenant."""
    return Bank(
        ref=BankRef(message.id, tenant),
        uid=message.uid,
        created=moment_from_pb(message.create_time, "bank.create_time"),
        name=message.name,
        config=config_from_pb(message.config, door=False),
        version=message.version,
    )


def stats_to_pb(stats: BankStats) -> bank_pb2.BankStats:
    """Write a bank's counts."""
    return bank_pb2.BankStats(
        memory_count=stats.memories,
        memory_counts_by_type=dict(stats.memories_by_type),
        document_count=stats.documents,
        chunk_count=stats.chunks,
        entity_count=stats.entities,
        tag_count=stats.tags,
        pending_count=stats.pending,
    )


def stats_from_pb(message: bank_pb2.BankStats) -> BankStats:
    """Read a bank's counts; those by type come in the order of their names, since the wire keeps none."""
    return BankStats(
        memories=message.memory_count,
        memories_by_type=tuple(sorted(message.memory_counts_by_type.items())),
        documents=message.document_count,
        chunks=message.chunk_count,
        entities=message.entity_count,
        tags=message.tag_count,
        pending=message.pending_count,
    )
