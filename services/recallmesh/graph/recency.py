"""How recent a memory is, for the order in which an entity's memories are followed."""

from recallmesh.core.arm import IndexEntry


def recency_of(entry: IndexEntry) -> float:
    """Tell when the memory was told, else when it happened, as seconds; what has no time comes last."""
    if entry.mentioned is not None:
        return entry.mentioned.timestamp()
    return entry.occurred.window.end.timestamp() if entry.occurred is not None else 0.0
