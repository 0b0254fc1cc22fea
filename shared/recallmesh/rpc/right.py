"""Which right each method of the mesh asks for: the one table of it, held against the protos by a test."""

from collections.abc import Mapping

from recallmesh.core.principal import Right

PACKAGE = "recallmesh.v1"

_RECALL, _RETAIN, _ADMIN, _MESH = Right.RECALL, Right.RETAIN, Right.ADMIN, Right.MESH

TABLE: Mapping[str, Mapping[Right, tuple[str, ...]]] = {
    "RecallService": {_RECALL: ("Recall", "RecallStream", "ResolveTuning")},
    "RetainService": {_RETAIN: ("Retain", "RetainBulk", "RetainStream")},
    "BankService": {
        _RECALL: ("GetBank", "ListBanks", "GetBankStats", "GetEffectiveConfig", "ListEvents", "WatchEvents"),
        _RETAIN: ("Consolidate",),
        _ADMIN: (
            "CreateBank",
            "UpdateBank",
            "DeleteBank",
            # An export has what was invalidated too; an import brings what no defense has seen.
            "ExportBank",
            "ImportBank",
            "VerifyBank",
            "RepairBank",
            "ListSecurityEvents",
            "CreateWebhook",
            "ListWebhooks",
            "DeleteWebhook",
        ),
    },
    "DocumentService": {
        _RECALL: ("GetDocument", "ListDocuments", "GetChunk", "ListChunks", "GetAttachment"),
        _RETAIN: ("DeleteDocument", "ReprocessDocument"),
    },
    "MemoryService": {
        _RECALL: ("GetMemory", "ListMemories", "ListTags", "GetMemoryHistory"),
        _RETAIN: ("UpdateMemory", "InvalidateMemory", "RestoreMemory", "DeleteMemory"),
    },
    "EntityService": {
        _RECALL: ("GetEntity", "ListEntities", "ExplainEntity"),
        _RETAIN: ("MergeEntities", "SplitEntity", "AddEntityAlias"),
    },
    # What goes on after a call that writes; who only reads has none.
    "OperationService": {
        _RETAIN: ("GetOperation", "ListOperations", "WatchOperation", "CancelOperation", "RetryOperation"),
    },
    "ArmService": {_MESH: ("Search", "Index", "Remove", "DropBank", "ListIndexed")},
    "VectorService": {_MESH: ("SearchVectors", "ListVectors")},
    "EmbedderService": {_MESH: ("GetEmbedderInfo", "Embed")},
    "RerankerService": {_MESH: ("GetRerankerInfo", "Rerank")},
}
"""By service and right, the methods."""

RIGHTS: Mapping[str, Right] = {
    f"/{PACKAGE}.{service}/{method}": right
    for service, rights in TABLE.items()
    for right, methods in rights.items()
    for method in methods
}
"""The right that a method asks for, by its path: ``/recallmesh.v1.RecallService/Recall``."""


def right_of(path: str) -> Right:
    """Return the right that a method asks for; one that the table lacks is nobody's but the mesh's."""
    return RIGHTS.get(path, Right.MESH)


def is_internal(path: str) -> bool:
    """Tell whether a method is the mesh's own."""
    return RIGHTS.get(path) is Right.MESH


def fills(path: str) -> bool:
    """Tell whether what a method is sent fills banks: its size counts for what a tenant may retain."""
    return right_of(path) is Right.RETAIN or path == f"/{PACKAGE}.BankService/ImportBank"
