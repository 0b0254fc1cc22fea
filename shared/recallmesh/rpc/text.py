"""Answers as JSON text: the protos' own JSON, one object a line, every field named as in the protos."""

import json
from collections.abc import Iterable, Mapping
from typing import Any

from google.protobuf.json_format import MessageToDict
from google.protobuf.message import Message

from recallmesh.core.bank import Bank, BankStats
from recallmesh.core.comparison import IndexComparison
from recallmesh.core.consolidation import MemoryVersion
from recallmesh.core.defense import SecurityEvent
from recallmesh.core.document import Chunk, Document
from recallmesh.core.entity import Entity, TagCount
from recallmesh.core.event import Event, Webhook
from recallmesh.core.export import Imported
from recallmesh.core.memory import Memory
from recallmesh.core.operation import Operation
from recallmesh.core.recall import RecallAnswer, RecallProgress
from recallmesh.core.resolution import EntityExplanation
from recallmesh.core.retain import RetainAnswer, RetainedItem
from recallmesh.core.tuning import EffectiveTuning
from recallmesh.rpc.codec.bank import bank_to_pb, stats_to_pb
from recallmesh.rpc.codec.comparison import comparison_to_pb
from recallmesh.rpc.codec.defense import decision_to_pb
from recallmesh.rpc.codec.document import chunk_to_pb, document_to_pb
from recallmesh.rpc.codec.entity import entity_to_pb
from recallmesh.rpc.codec.event import event_to_pb, webhook_to_pb
from recallmesh.rpc.codec.memory import memory_to_pb, version_to_pb
from recallmesh.rpc.codec.operation import operation_to_pb
from recallmesh.rpc.codec.recall import answer_to_pb, progress_to_pb
from recallmesh.rpc.codec.resolution import explanation_to_pb
from recallmesh.rpc.codec.retain import retained_to_pb
from recallmesh.rpc.codec.tag import tag_count_to_pb
from recallmesh.rpc.codec.tuning import effective_to_pb
from recallmesh.v1.bank_service_pb2 import ImportBankResponse


def recall_answer_json(answer: RecallAnswer) -> str:
    """Return a ``RecallResponse`` as JSON."""
    return _text(_plain(answer_to_pb(answer)))


def recall_progress_json(progress: RecallProgress) -> str:
    """Return a ``RecallStreamResponse`` as JSON."""
    return _text(_plain(progress_to_pb(progress)))


def retain_answer_json(answer: RetainAnswer) -> str:
    """Return a ``RetainResponse`` as JSON."""
    return _text(_plain(retained_to_pb(answer)))


def retained_item_json(item: RetainedItem) -> str:
    """Return one ``RetainedItem`` of a ``RetainResponse`` as JSON."""
    return _text(_plain(retained_to_pb(RetainAnswer(items=(item,))).items[0]))


def bank_json(bank: Bank) -> str:
    """Return a ``Bank`` as JSON."""
    return _text(_plain(bank_to_pb(bank)))


def banks_json(banks: Iterable[Bank]) -> str:
    """Return banks as JSON, below ``banks``."""
    return _text({"banks": [_plain(bank_to_pb(bank)) for bank in banks]})


def stats_json(bank: Bank, stats: BankStats) -> str:
    """Return a bank and what it holds as JSON, below ``bank`` and ``stats``."""
    return _text({"bank": _plain(bank_to_pb(bank)), "stats": _plain(stats_to_pb(stats))})


def imported_json(imported: Imported) -> str:
    """Return what was imported as JSON."""
    return _text(_plain(ImportBankResponse(document_count=imported.documents, memory_count=imported.memories)))


def comparisons_json(found: Mapping[str, Iterable[IndexComparison]]) -> str:
    """Return banks' indexes against the ledger as JSON, below ``banks``."""
    banks = [{"bank_id": bank, "arms": [_plain(comparison_to_pb(one)) for one in arms]} for bank, arms in found.items()]
    return _text({"banks": banks})


def effective_json(bank: Bank, effective: EffectiveTuning) -> str:
    """Return a bank and what is in force for its recalls as JSON, below ``bank`` and ``recall``."""
    return _text({"bank": _plain(bank_to_pb(bank)), "recall": _plain(effective_to_pb(effective))})


def document_json(document: Document) -> str:
    """Return a ``Document`` as JSON."""
    return _text(_plain(document_to_pb(document)))


def whole_document_json(document: Document, chunks: Iterable[Chunk]) -> str:
    """Return a document and its chunks as JSON, below ``document`` and ``chunks``."""
    rows = [_plain(chunk_to_pb(chunk)) for chunk in chunks]
    return _text({"document": _plain(document_to_pb(document)), "chunks": rows})


def memory_json(memory: Memory) -> str:
    """Return a ``Memory`` as JSON."""
    return _text(_plain(memory_to_pb(memory)))


def version_json(version: MemoryVersion) -> str:
    """Return a ``MemoryVersion`` as JSON."""
    return _text(_plain(version_to_pb(version)))


def tag_json(row: TagCount) -> str:
    """Return a ``TagCount`` as JSON."""
    return _text(_plain(tag_count_to_pb(row)))


def operation_json(operation: Operation) -> str:
    """Return an ``Operation`` as JSON."""
    return _text(_plain(operation_to_pb(operation)))


def event_json(event: Event) -> str:
    """Return an ``Event`` as JSON."""
    return _text(_plain(event_to_pb(event)))


def decision_json(decision: SecurityEvent) -> str:
    """Return a ``SecurityEvent`` as JSON."""
    return _text(_plain(decision_to_pb(decision)))


def webhook_json(webhook: Webhook) -> str:
    """Return a ``Webhook`` as JSON."""
    return _text(_plain(webhook_to_pb(webhook)))


def webhooks_json(webhooks: Iterable[Webhook]) -> str:
    """Return webhooks as JSON, below ``webhooks``."""
    return _text({"webhooks": [_plain(webhook_to_pb(webhook)) for webhook in webhooks]})


def entity_json(entity: Entity, memories: Iterable[Memory] = ()) -> str:
    """Return an entity as JSON, and memories that mention it, below ``entity`` and ``memories``."""
    told = [_plain(memory_to_pb(memory)) for memory in memories]
    return _text({"entity": _plain(entity_to_pb(entity)), **({"memories": told} if told else {})})


def entities_json(entities: Iterable[Entity]) -> str:
    """Return entities as JSON, below ``entities``."""
    return _text({"entities": [_plain(entity_to_pb(entity)) for entity in entities]})


def split_json(entity: Entity, new: Entity) -> str:
    """Return a ``SplitEntityResponse`` as JSON."""
    return _text({"entity": _plain(entity_to_pb(entity)), "new_entity": _plain(entity_to_pb(new))})


def explanation_json(explanation: EntityExplanation) -> str:
    """Return an ``ExplainEntityResponse`` as JSON."""
    return _text(_plain(explanation_to_pb(explanation)))


def _plain(message: Message) -> dict[str, Any]:
    """Read a message as JSON's own types; what cannot be absent is there even when it is empty or zero."""
    return MessageToDict(message, preserving_proto_field_name=True, always_print_fields_with_no_presence=True)


def _text(value: dict[str, Any]) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
