"""A batch of nodes that is stored at once."""

from collections.abc import Iterable

from recallmesh.graph.store import Node


def newest(nodes: Iterable[Node]) -> tuple[Node, ...]:
    """Return each memory once, by its id, in its newest version; of equal ones the last."""
    held: dict[str, Node] = {}
    for node in nodes:
        other = held.get(node.entry.memory_id)
        if other is None or other.entry.version <= node.entry.version:
            held[node.entry.memory_id] = node
    return tuple(held[memory_id] for memory_id in sorted(held))
