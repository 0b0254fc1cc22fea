"""A tag test as an SQL condition on a memory row, true where ``core.tags.passes`` is."""

from typing import assert_never

from recallmesh.core.tags import TagAnd, TagLeaf, TagMode, TagNot, TagOr, TagTest

Condition = tuple[str, tuple[str | int, ...]]
"""SQL over a memory row named ``m``, and its parameters."""


def condition(test: TagTest) -> Condition:
    """Translate a tag test."""
    match test:
        case TagLeaf():
            return _leaf(test)
        case TagAnd(parts):
            return _joined(parts, " AND ", "1")
        case TagOr(parts):
            return _joined(parts, " OR ", "0")
        case TagNot(part):
            sql, values = condition(part)
            return f"NOT ({sql})", values
        case _:
            assert_never(test)


def _joined(parts: tuple[TagTest, ...], word: str, empty: str) -> Condition:
    if not parts:
        return empty, ()
    conditions = [condition(part) for part in parts]
    return f"({word.join(sql for sql, _ in conditions)})", tuple(v for _, values in conditions for v in values)


def _leaf(leaf: TagLeaf) -> Condition:
    tags = tuple(sorted(leaf.tags))
    if leaf.mode is TagMode.EXACT:
        sql, values = _holds_all(tags)
        return f"(m.tags = ? AND {sql})", (len(tags), *values)
    if not tags:
        return "1", ()
    match leaf.mode:
        case TagMode.ANY:
            sql, values = _holds_any(tags)
            return f"(m.tags = 0 OR {sql})", values
        case TagMode.ALL:
            sql, values = _holds_all(tags)
            return f"(m.tags = 0 OR {sql})", values
        case TagMode.ANY_STRICT:
            return _holds_any(tags)
        case TagMode.ALL_STRICT:
            return _holds_all(tags)
        case _:
            assert_never(leaf.mode)


def _holds_any(tags: tuple[str, ...]) -> Condition:
    # Only question marks are put into the text; the tags themselves travel as parameters.
    return f"EXISTS (SELECT 1 FROM tag t WHERE t.memory = m.row AND t.tag IN ({_marks(tags)}))", tags  # noqa: S608


def _holds_all(tags: tuple[str, ...]) -> Condition:
    if not tags:
        return "1", ()
    counted = f"SELECT count(*) FROM tag t WHERE t.memory = m.row AND t.tag IN ({_marks(tags)})"  # noqa: S608
    return f"({counted}) = ?", (*tags, len(tags))


def _marks(tags: tuple[str, ...]) -> str:
    return ", ".join("?" * len(tags))
