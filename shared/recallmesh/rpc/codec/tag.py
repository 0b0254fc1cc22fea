"""Tag tests on the wire, bounded in depth and number so that no request can exhaust the stack."""

from typing import assert_never

from recallmesh.core.entity import TagCount
from recallmesh.core.errors import FieldViolation, InvalidArgument
from recallmesh.core.tags import EVERYTHING, TagAnd, TagLeaf, TagMode, TagNot, TagOr, TagTest
from recallmesh.rpc.codec.enums import TAG_MODE
from recallmesh.v1 import tag_pb2

DEPTH = 16
"""Levels of a test: deeper than anyone writes, far from protobuf's own limit of 100 messages within one another."""
TESTS = 256


def tag_test_to_pb(test: TagTest) -> tag_pb2.TagTest | None:
    """Write a test; nothing for the one that passes everything."""
    return None if test == EVERYTHING else _write(test, DEPTH)


def _write(test: TagTest, depth: int) -> tag_pb2.TagTest:
    if depth == 0:
        raise InvalidArgument(FieldViolation("tags", f"is more than {DEPTH} levels deep"))
    match test:
        case TagLeaf(tags, mode):
            return tag_pb2.TagTest(leaf=tag_pb2.TagLeaf(tags=sorted(tags), mode=TAG_MODE.to_pb(mode)))
        case TagAnd(parts):
            return tag_pb2.TagTest(all_of=tag_pb2.TagGroup(parts=[_write(part, depth - 1) for part in parts]))
        case TagOr(parts):
            return tag_pb2.TagTest(any_of=tag_pb2.TagGroup(parts=[_write(part, depth - 1) for part in parts]))
        case TagNot(part):
            return tag_pb2.TagTest(none_of=_write(part, depth - 1))
        case _:
            assert_never(test)


def tag_test_from_pb(message: tag_pb2.TagTest, field: str = "tags") -> TagTest:
    """Read a caller's test.

    Raises:
        InvalidArgument: it is deeper than ``DEPTH``, has more parts than ``TESTS`` or an unknown mode.

    """
    return _Reader(field).read(message, field, DEPTH)


class _Reader:
    """Reads one test and counts its parts."""

    def __init__(self, field: str) -> None:
        self._field = field
        self._left = TESTS

    def read(self, message: tag_pb2.TagTest, path: str, depth: int) -> TagTest:
        self._left -= 1
        if depth == 0 or self._left < 0:
            reason = f"is more than {DEPTH} levels deep or has more than {TESTS} tests"
            raise InvalidArgument(FieldViolation(self._field, reason))
        match message.WhichOneof("test"):
            case None:
                return EVERYTHING
            case "leaf":
                mode = TAG_MODE.at_door(message.leaf.mode, f"{path}.leaf.mode", default=TagMode.ANY)
                return TagLeaf(frozenset(message.leaf.tags), mode)
            case "all_of":
                return TagAnd(self._parts(message.all_of, f"{path}.all_of", depth))
            case "any_of":
                return TagOr(self._parts(message.any_of, f"{path}.any_of", depth))
            case "none_of":
                return TagNot(self.read(message.none_of, f"{path}.none_of", depth - 1))

    def _parts(self, group: tag_pb2.TagGroup, path: str, depth: int) -> tuple[TagTest, ...]:
        return tuple(self.read(part, f"{path}.parts[{n}]", depth - 1) for n, part in enumerate(group.parts))


def tag_count_to_pb(count: TagCount) -> tag_pb2.TagCount:
    """Write a tag and its count."""
    return tag_pb2.TagCount(tag=count.tag, memory_count=count.memory_count)


def tag_count_from_pb(message: tag_pb2.TagCount) -> TagCount:
    """Read a tag and its count."""
    return TagCount(message.tag, message.memory_count)
