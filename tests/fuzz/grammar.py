# ruff: noqa: PLR0911 - one line for each kind of value
"""Requests that nobody would send, made of the protos' descriptors: every field of every message, and its extremes.

All chance is one ``random.Random``'s: a seed's, or one of hypothesis, which then makes what failed as small as it can.
"""

import math
from collections import defaultdict, deque
from collections.abc import Iterator, Sequence
from random import Random

from google.protobuf import message_factory
from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.message import Message

KEPT = 40
"""How many values of one name are remembered of the answers."""
DEPTH = 6
"""How deep messages are nested; what is deeper is made of bytes."""
NESTED = 150
"""Deeper than protobuf reads: 100."""
MANY = 1200
"""More than any list may have."""

INTEGERS = (0, 1, 2, 3, 10, -1, 100, 1000, 1001, 2**31 - 1, -(2**31), 2**31, 2**53 + 1, 2**63 - 1, -(2**63), 2**64 - 1)
FLOATS = (0.0, -0.0, 0.5, 1.0, -1.0, 1e-320, 1e308, -1e308, 1e16, math.inf, -math.inf, math.nan, 2.0**31, 3.7)
SECONDS = (
    0,
    1,
    -1,
    1_786_000_000,
    4_102_444_800,
    -62_135_596_800,
    -62_135_596_801,
    253_402_300_799,
    253_402_300_800,
    2**63 - 1,
    -(2**63),
)
NANOS = (0, 1, 999_999_999, 1_000_000_000, -1, -(2**31), 2**31 - 1)
FLOAT_MOST = 3.4e38
"""Beyond it a float of four bytes is infinite."""
ENUMS = (0, 1, 2, 3, 4, 99, -1, 2**31 - 1, -(2**31))
WORDS = (
    "who",
    "bakes",
    "Nadia",
    "bread",
    "May",
    "on 11 May",
    "last week",
    "Leo",
    "the dog",
    "before 2020",
    "mood:happy",
    "AND",
    "OR",
    "NOT",
    "*",
    '"',
    "name:",
    "(",
    "+-",
    "%",
    "_",
    "\\",
    "'; --",
    "${x}",
    "{{",
    "</b>",
    "..",
    "/",
    "日本",
    "מה",
    "ﷺ",
    "é",
    "e\u0301",
    "𝄞",
    "\u202e",
    "\ufeff",
    "\x00",
    "\x1b[2J",
    "\r\n",
    "\t",
    "🤦🏽‍♀️",
    "ß",
    "İ",
    "\ud7ff",
)
PLAIN = ("who bakes", "Nadia", "the dog", "on 11 May", "Leo: I adopted a dog yesterday.", "Vera plays the cello", "")
PLAIN_TAGS = ("family", "work:urgent", "mood:happy")
PLAIN_URLS = ("https://example.invalid/hook",)
PLAIN_BY_NAME = {
    "arm": ("semantic", "keyword", "graph", "temporal"),
    "arms": ("semantic", "keyword", "graph", "temporal"),
    "bank_uid": ("u1", "u1", "u2"),
    "strategy": ("link_expansion", "bfs", "mpfp", ""),
    "graph_strategy": ("link_expansion", "bfs", "mpfp"),
    "model": ("", "", "hashed-1"),
    "kind": ("person", "label", "place", ""),
    "memory_id": tuple(f"m{number}" for number in range(9)),
    "memory_ids": tuple(f"m{number}" for number in range(9)),
    "document_id": ("call-1", "call-2", ""),
    "request_id": tuple(f"r{number}" for number in range(99)),
    "key": ("who", "source", "semantic", "keyword", "graph"),
}
"""What is likely to be taken, so that calls get past the first refusal."""
PLAIN_INTEGERS = (0, 1, 2, 3, 10, 50)
PLAIN_FLOATS = (0.0, 0.1, 0.5, 1.0, 2.0)
PLAIN_SECONDS = (1_786_000_000, 1_778_000_000, 3600, 0)
WILDNESS = (0.0, 0.04, 0.04, 0.2, 1.0)
"""Which share of a call's values is odd; drawn anew for each call."""
DIMENSIONS = 384
VECTORS = tuple(tuple(1.0 if at == place else 0.01 for at in range(DIMENSIONS)) for place in range(5))
NAMES = ("diary", "shop", "b", "a" * 64, "a" * 300, "Diary", "no such", "..", "-", "", "é", "x/y", "diary ")
TAGS = ("family", "work:urgent", "", " ", "a" * 200, "é", "x:y:z", "family")
KEYS = ("who", "source", "", "k" * 300, "a.b", "\x00")
URLS = (
    "https://example.invalid/hook",
    "http://127.0.0.1/",
    "https://[::1]:0/",
    "file:///etc/passwd",
    "https://",
    "no url",
)
MEDIA = ("image/png", "image/gif", "text/html", "", "image/" + "x" * 300)
IMAGES = (
    b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x00\x01\x00\x00\x00\x01\x08\x06\x00\x00\x00\x1f\x15\xc4\x89",
    b"GIF89a\x01\x00\x01\x00\x00\x00\x00;",
    b"\x89PNG\r\n\x1a\n" + b"\xff" * 40,
    b"",
    b"\x00" * 5000,
)
METADATA = (
    ("x-request-id", "ok-1"),
    ("x-request-id", "a b"),
    ("x-request-id", "x" * 500),
    ("x-recallmesh-tenant", "default"),
    ("x-recallmesh-tenant", "nobody"),
    ("authorization", "Bearer x"),
    ("authorization", "Basic ="),
    ("authorization", ""),
    ("traceparent", "00-00-00-00"),
    ("traceparent", "zz"),
    ("tracestate", "," * 50),
    ("baggage", "=;,"),
    ("te", "trailers"),
    ("x-odd-bin", b"\x00\xff\xfe"),
    ("grpc-status-details-bin", b"\x08\x0d"),
    ("content-language", "~" * 200),
)


class Known:
    """What answers have held, so that some requests name what is there."""

    def __init__(self) -> None:
        self._values: dict[str, deque[str]] = defaultdict(lambda: deque(maxlen=KEPT))
        self._data: deque[bytes] = deque(maxlen=5)

    def learn(self, answer: Message) -> None:
        """Remember the ids and page tokens of an answer."""
        for field, value in answer.ListFields():
            values = value if field.is_repeated else (value,)
            if _is_map(field):
                continue
            if field.type == FieldDescriptor.TYPE_MESSAGE:
                for one in list(values)[:KEPT]:
                    self.learn(one)
            elif field.type == FieldDescriptor.TYPE_BYTES:
                self._data.extend(list(values)[:KEPT])
            elif field.type == FieldDescriptor.TYPE_STRING:
                self._values[self._name(field)].extend(list(values)[:KEPT])

    def of(self, field: FieldDescriptor, index: int) -> str | None:
        """Return one of the values that a field of this name may have; nothing where none is known."""
        values = self._values.get(_WANTED.get(field.name, field.name.removesuffix("s")))
        return values[index % len(values)] if values else None

    def data(self, index: int) -> bytes | None:
        """Return a piece of what was exported, most times nothing."""
        return self._data[index] if index < len(self._data) else None

    @staticmethod
    def _name(field: FieldDescriptor) -> str:
        if field.name == "id":
            return f"{field.containing_type.name.lower()}_id"
        return _WANTED.get(field.name, field.name.removesuffix("s"))


_WANTED = {
    "next_page_token": "page_token",
    "page_token": "page_token",
    "after_id": "event_id",
    "source_id": "memory_id",
    "seed_ids": "memory_id",
    "into_id": "entity_id",
    "from_id": "entity_id",
}


class Grammar:
    """Makes requests by chance."""

    def __init__(self, chance: Random, known: Known) -> None:
        self._chance = chance
        self._known = known
        self._wild = WILDNESS[chance.randrange(len(WILDNESS))]

    def message(self, descriptor: Descriptor, depth: int = 0) -> Message:
        """Make a message."""
        made = message_factory.GetMessageClass(descriptor)()
        if descriptor.full_name in ("google.protobuf.Timestamp", "google.protobuf.Duration"):
            odd = self._odd()
            made.seconds = self._pick(SECONDS if odd else PLAIN_SECONDS)
            made.nanos = self._pick(NANOS) if odd else 0
            return made
        for field in descriptor.fields:
            if self._leaves_out(field, depth):
                continue
            if _is_map(field):
                self._fill_map(made, field, depth)
            elif field.is_repeated:
                self._fill_list(made, field, depth)
            elif field.type == FieldDescriptor.TYPE_MESSAGE:
                getattr(made, field.name).CopyFrom(self.message(field.message_type, depth + 1))
            else:
                setattr(made, field.name, self._value(field))
        return made

    def body(self, message: Message) -> bytes:
        """Write a message: as it is for the most part, else as no writer would."""
        whole = message.SerializeToString()
        match self._chance.randrange(16) if self._wild else None:
            case 0:
                return whole[: self._chance.randrange(len(whole) + 1)]
            case 1:
                # A second one after the first: fields twice, and several of one oneof.
                return whole + self.message(message.DESCRIPTOR).SerializeToString()
            case 2 if whole:
                at = self._chance.randrange(len(whole))
                return whole[:at] + bytes([self._chance.randrange(256)]) + whole[at + 1 :]
            case 3:
                return whole + self._pick(
                    (b"\xf8\x07\x01", b"\x0a\x02\xff\xfe", b"\x0b", b"\xff" * 12, b"\x08" + b"\x80" * 11)
                )
            case 4:
                number = self._pick(message.DESCRIPTOR.fields).number if message.DESCRIPTOR.fields else 1
                return whole + nested(number, NESTED)
            case _:
                return whole

    def metadata(self) -> list[tuple[str, str | bytes]]:
        """Make what goes with a call."""
        return [self._pick(METADATA) for _ in range(self._chance.randrange(4))] if self._one_in(5) else []

    def _leaves_out(self, field: FieldDescriptor, depth: int) -> bool:
        if field.type == FieldDescriptor.TYPE_MESSAGE and depth >= DEPTH:
            return True
        if field.name in ("bank_id", "bank_uid", "arm"):
            return self._odd()
        # What names something is wanted by most calls; what says how is not.
        return not self._one_in(2 if depth == 0 or field.name.endswith(("id", "text", "content")) else 4)

    def _fill_list(self, made: Message, field: FieldDescriptor, depth: int) -> None:
        rows = getattr(made, field.name)
        size = self._pick((0, 1, 1, 1, 2, 3))
        if field.type == FieldDescriptor.TYPE_FLOAT and not self._odd():
            rows.extend(self._pick(VECTORS))
            return
        if field.type == FieldDescriptor.TYPE_MESSAGE:
            rows.extend(self.message(field.message_type, depth + 1) for _ in range(size))
            return
        rows.extend(self._value(field) for _ in range(size))
        if rows and self._odd() and self._one_in(10):
            rows.extend([rows[0]] * MANY)

    def _fill_map(self, made: Message, field: FieldDescriptor, depth: int) -> None:
        key, value = field.message_type.fields_by_name["key"], field.message_type.fields_by_name["value"]
        rows = getattr(made, field.name)
        for _ in range(self._pick((0, 1, 1, 2))):
            name = self._pick(KEYS if self._odd() else PLAIN_BY_NAME["key"]) if _is_text(key) else self._value(key)
            if value.type == FieldDescriptor.TYPE_MESSAGE:
                rows[name].CopyFrom(self.message(value.message_type, depth + 1))
            else:
                rows[name] = self._value(value)

    def _value(self, field: FieldDescriptor) -> object:
        odd = self._odd()
        match field.type:
            case FieldDescriptor.TYPE_STRING:
                return self._text(field) if odd else self._plain(field)
            case FieldDescriptor.TYPE_BYTES:
                return self._known.data(self._chance.randrange(KEPT)) or self._pick(IMAGES)
            case FieldDescriptor.TYPE_BOOL:
                return self._one_in(2)
            case FieldDescriptor.TYPE_ENUM:
                return self._pick(ENUMS) if odd else self._pick(field.enum_type.values).number
            case FieldDescriptor.TYPE_DOUBLE:
                return self._pick(FLOATS if odd else PLAIN_FLOATS)
            case FieldDescriptor.TYPE_FLOAT:
                value = self._pick(FLOATS if odd else PLAIN_FLOATS)
                return value if abs(value) < FLOAT_MOST else math.inf
            case _:
                low, high = _RANGES[field.type]
                return min(max(self._pick(INTEGERS if odd else PLAIN_INTEGERS), low), high)

    def _plain(self, field: FieldDescriptor) -> str:
        name, index = field.name, self._chance.randrange(KEPT)
        if name == "bank_id":
            return "diary"
        if name.endswith(("id", "ids")) and name != "request_id" and (found := self._known.of(field, index)):
            return found
        if name.endswith("token"):
            return self._known.of(field, index) or "" if self._one_in(3) else ""
        if name in PLAIN_BY_NAME:
            return self._pick(PLAIN_BY_NAME[name])
        if "tag" in name or name.endswith("_of"):
            return self._pick(PLAIN_TAGS)
        if "url" in name or "uri" in name:
            return self._pick(PLAIN_URLS)
        return "image/png" if name == "media_type" else self._pick(PLAIN)

    def _text(self, field: FieldDescriptor) -> str:
        name = field.name
        index = self._chance.randrange(KEPT)
        if name == "bank_id":
            return self._pick(NAMES)
        if name.endswith(("id", "ids", "token")) and self._chance.randrange(4):
            found = self._known.of(field, index)
            if found is not None:
                return self._mutated(found) if self._one_in(2) else found
        if "tag" in name or name.endswith("_of"):
            return self._pick(TAGS)
        if "url" in name or "uri" in name:
            return self._pick(URLS)
        if name == "media_type":
            return self._pick(MEDIA)
        if self._one_in(20):
            return self._pick(WORDS) * self._pick((500, 5000, 40_000))
        return " ".join(self._pick(WORDS) for _ in range(self._chance.randrange(5)))

    def _mutated(self, text: str) -> str:
        at = self._chance.randrange(len(text) + 1)
        return text[:at] + self._pick(("", "A", "é", "\x00", "=", "-")) + text[at + 1 :]

    def _pick(self, values: Sequence):
        return values[self._chance.randrange(len(values))]

    def _odd(self) -> bool:
        return self._chance.random() < self._wild

    def _one_in(self, count: int) -> bool:
        return not self._chance.randrange(count)


_RANGES = {
    FieldDescriptor.TYPE_INT32: (-(2**31), 2**31 - 1),
    FieldDescriptor.TYPE_SINT32: (-(2**31), 2**31 - 1),
    FieldDescriptor.TYPE_UINT32: (0, 2**32 - 1),
    FieldDescriptor.TYPE_FIXED32: (0, 2**32 - 1),
    FieldDescriptor.TYPE_SFIXED32: (-(2**31), 2**31 - 1),
    FieldDescriptor.TYPE_SFIXED64: (-(2**63), 2**63 - 1),
    FieldDescriptor.TYPE_INT64: (-(2**63), 2**63 - 1),
    FieldDescriptor.TYPE_UINT64: (0, 2**64 - 1),
    FieldDescriptor.TYPE_FIXED64: (0, 2**64 - 1),
}


def nested(number: int, depth: int) -> bytes:
    """Write a field that holds itself, so many times."""
    body = b""
    for _ in range(depth):
        tag, size = _varint(number << 3 | 2), _varint(len(body))
        body = tag + size + body
    return body


def _varint(value: int) -> bytes:
    written = bytearray()
    while value > 0x7F:
        written.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*written, value])


def _is_text(field: FieldDescriptor) -> bool:
    return field.type == FieldDescriptor.TYPE_STRING


def _is_map(field: FieldDescriptor) -> bool:
    return field.type == FieldDescriptor.TYPE_MESSAGE and field.message_type.GetOptions().map_entry


def smaller(message: Message) -> Iterator[Message]:
    """Yield the message without each of its fields, so that what failed can be made smaller."""
    for field, value in message.ListFields():
        less = type(message)()
        less.CopyFrom(message)
        less.ClearField(field.name)
        yield less
        if field.type == FieldDescriptor.TYPE_MESSAGE and not field.is_repeated:
            for inner in smaller(value):
                less = type(message)()
                less.CopyFrom(message)
                getattr(less, field.name).CopyFrom(inner)
                yield less
