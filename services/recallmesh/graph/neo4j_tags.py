"""A tag test as a Cypher condition on a memory named ``m``, true where ``core.tags.passes`` is."""

from typing import assert_never

from recallmesh.core.tags import TagAnd, TagLeaf, TagMode, TagNot, TagOr, TagTest

_TRUE, _FALSE = "m.tags IS NOT NULL", "m.tags IS NULL"
"""Of whatever a test is asked of. The words themselves the server would work out, and then find no use for an index."""
Condition = tuple[str, dict[str, object]]
"""Cypher over a memory named ``m``, and its parameters."""


def condition(test: TagTest) -> Condition:
    """Translate a tag test. Tests of one shape have one text, so that the server plans it once."""
    values: dict[str, object] = {}
    text = _translated(test, values)
    return "true" if text == _TRUE else text, values


def _translated(test: TagTest, values: dict[str, object]) -> str:
    match test:
        case TagLeaf():
            return _leaf(test, values)
        case TagAnd(parts):
            return _joined(parts, values, " AND ", _TRUE)
        case TagOr(parts):
            return _joined(parts, values, " OR ", _FALSE)
        case TagNot(part):
            return f"NOT ({_translated(part, values)})"
        case _:
            assert_never(test)


def _joined(parts: tuple[TagTest, ...], values: dict[str, object], word: str, empty: str) -> str:
    return f"({word.join(_translated(part, values) for part in parts)})" if parts else empty


def _leaf(leaf: TagLeaf, values: dict[str, object]) -> str:
    tags = sorted(leaf.tags)
    if not tags:
        return "size(m.tags) = 0" if leaf.mode is TagMode.EXACT else _TRUE
    # Only the parameter's name is put into the text; the tags themselves travel as values.
    name = f"tags{len(values)}"
    values[name] = tags
    holds_any, holds_all = f"any(t IN ${name} WHERE t IN m.tags)", f"all(t IN ${name} WHERE t IN m.tags)"
    match leaf.mode:
        case TagMode.EXACT:
            return f"(size(m.tags) = size(${name}) AND {holds_all})"
        case TagMode.ANY:
            return f"(size(m.tags) = 0 OR {holds_any})"
        case TagMode.ALL:
            return f"(size(m.tags) = 0 OR {holds_all})"
        case TagMode.ANY_STRICT:
            return holds_any
        case TagMode.ALL_STRICT:
            return holds_all
        case _:
            assert_never(leaf.mode)
