"""The OpenAPI document says of every public call what it does, and is valid."""

import json
from importlib.resources import files

import pytest
from openapi_spec_validator import OpenAPIV31SpecValidator

from recallmesh.rpc.gateway import BANK, READING, RECALL, RETAIN, services

DOCUMENT = json.loads(files("recallmesh.v1").joinpath("openapi.json").read_text("utf-8"))
METHODS = {
    f"/{service.full_name}/{method.name}": method
    for service in services((*RECALL, *RETAIN, *BANK))
    for method in service.methods
}
READS = {
    "BankService": "ExportBank GetBank GetBankStats GetEffectiveConfig ListBanks ListEvents ListSecurityEvents "
    "ListWebhooks VerifyBank WatchEvents",
    "DocumentService": "GetAttachment GetChunk GetDocument ListChunks ListDocuments",
    "EntityService": "ExplainEntity GetEntity ListEntities",
    "MemoryService": "GetMemory GetMemoryHistory ListMemories ListTags",
    "OperationService": "GetOperation ListOperations WatchOperation",
    "RecallService": "Recall RecallStream ResolveTuning",
}
"""What changes nothing. A new method that begins like one of them has to be thought about, and written here."""


def test_it_is_valid():
    assert list(OpenAPIV31SpecValidator(DOCUMENT).iter_errors()) == []


def test_every_public_call_is_in_it_and_nothing_else():
    assert set(DOCUMENT["paths"]) == set(METHODS)


def test_only_what_changes_nothing_is_asked_by_get():
    by_get = {path for path, verbs in DOCUMENT["paths"].items() if "get" in verbs}
    assert by_get == {f"/recallmesh.v1.{name}/{call}" for name, calls in READS.items() for call in calls.split()}
    assert by_get == {path for path in METHODS if path.rpartition("/")[2].startswith(READING)}


def test_every_call_message_field_and_value_is_described():
    silent = [path for path, verbs in DOCUMENT["paths"].items() for verb in verbs.values() if not verb["description"]]
    for name, schema in DOCUMENT["components"]["schemas"].items():
        silent += [] if schema["description"] else [name]
        if name != "Problem":
            fields = schema.get("properties", {}).items()
            silent += [f"{name}.{field}" for field, said in fields if not said["description"]]
    assert silent == []


def test_comments_come_from_the_protos():
    recall = DOCUMENT["components"]["schemas"]["RecallRequest"]["properties"]
    assert (
        recall["maxTokens"]["description"]
        == "The most tokens of memory text, in [0, 1,000,000]. Absent: 4096. 0: no memories."
    )
    assert recall["queryTime"] == {
        "type": "string",
        "format": "date-time",
        "description": "The asker's now. Absent: the service's.",
    }
    ask = DOCUMENT["paths"]["/recallmesh.v1.RecallService/Recall"]["post"]
    assert ask["summary"] == "Searches by every arm, fuses, reranks, scores and packs"


def test_streams_are_told_as_what_they_are():
    stream = DOCUMENT["paths"]["/recallmesh.v1.RecallService/RecallStream"]["post"]
    assert list(stream["responses"]["200"]["content"]) == ["text/event-stream"]
    bulk = DOCUMENT["paths"]["/recallmesh.v1.RetainService/RetainBulk"]["post"]
    assert list(bulk["requestBody"]["content"]) == ["application/x-ndjson"]
    assert {"RetainBulkRequest", "RetainBulkResponse", "RecallStreamResponse"} <= set(DOCUMENT["components"]["schemas"])


@pytest.mark.parametrize("reason", ["BANK_NOT_FOUND", "OVERLOADED", "DEFENSE_BLOCKED"])
def test_the_reasons_of_problems_are_told_without_their_prefix(reason):
    assert reason in DOCUMENT["components"]["schemas"]["Reason"]["examples"]
