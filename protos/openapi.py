# ruff: noqa: INP001, T201 - a script, no package
"""Writes shared/recallmesh/v1/openapi.json from the protos and their comments. ``--check`` compares instead.

The descriptors in the generated code have no comments; so the document is made here and not when it is asked for.
"""

import json
import re
import sys
import tempfile
import textwrap
from collections.abc import Iterator, Mapping
from importlib.resources import files
from pathlib import Path
from typing import Any

from google.protobuf.descriptor_pb2 import (
    DescriptorProto,
    EnumDescriptorProto,
    FieldDescriptorProto,
    FileDescriptorSet,
    MethodDescriptorProto,
)
from grpc_tools import protoc  # type: ignore[import-untyped]

from recallmesh.core.limits import JSON_BYTES, MESSAGE_BYTES
from recallmesh.rpc.gateway import BANK, READING, RECALL, RETAIN, services

Schema = dict[str, Any]

ROOT = Path(__file__).resolve().parent.parent
PROTOS = ROOT / "protos"
OUT = ROOT / "shared" / "recallmesh" / "v1" / "openapi.json"
PACKAGE = "recallmesh.v1"
SERVICE_PATH, MESSAGE_PATH, ENUM_PATH = 6, 4, 5
"""The numbers of a file's services, messages and enums, as the paths of source info have them."""
INNER = 2
"""The number of a service's methods, a message's fields and an enum's values."""
REASON = "ErrorReason"
PREFIX = "ERROR_REASON_"
REFERENCE = re.compile(r'#/components/schemas/(\w+)"|`(\w+)`')
ABOUT = """\
The public services of recallmesh over HTTP, with the JSON mapping of protobuf: names are `camelCase` (`snake_case` is
understood too), 64-bit numbers are texts, times are RFC 3339, durations are seconds such as `7200s`, bytes are base64.
A field that there is not is refused, by its name. `null` is as if the field were not there.

Every call is a POST of a JSON object to its path in gRPC. What only reads may be asked by GET: each field is a
parameter, what is no plain value is written as JSON. Streams of answers are server-sent events, streams of requests are
a JSON object a line.
"""
SCALARS: Mapping[int, Schema] = {
    FieldDescriptorProto.TYPE_STRING: {"type": "string"},
    FieldDescriptorProto.TYPE_BYTES: {"type": "string", "contentEncoding": "base64"},
    FieldDescriptorProto.TYPE_BOOL: {"type": "boolean"},
    FieldDescriptorProto.TYPE_INT32: {"type": "integer", "format": "int32"},
    FieldDescriptorProto.TYPE_UINT32: {"type": "integer", "format": "uint32"},
    FieldDescriptorProto.TYPE_INT64: {"type": "string", "format": "int64"},
    FieldDescriptorProto.TYPE_UINT64: {"type": "string", "format": "uint64"},
    FieldDescriptorProto.TYPE_FLOAT: {"type": "number", "format": "float"},
    FieldDescriptorProto.TYPE_DOUBLE: {"type": "number", "format": "double"},
}
WELL_KNOWN: Mapping[str, Schema] = {
    "google.protobuf.Timestamp": {"type": "string", "format": "date-time"},
    "google.protobuf.Duration": {"type": "string", "pattern": r"^-?[0-9]+(\.[0-9]{1,9})?s$", "examples": ["7200s"]},
    "google.protobuf.Struct": {"type": "object"},
}
HEADERS: Mapping[str, Schema] = {
    "RequestId": {
        "name": "x-request-id",
        "in": "header",
        "description": "A name for this request, which the logs of every service have. Absent: one is made.",
        "schema": {"type": "string", "pattern": "^[A-Za-z0-9._:/+=-]{1,128}$"},
    },
    "Timeout": {
        "name": "x-request-timeout-ms",
        "in": "header",
        "description": "How many milliseconds the call may take. Absent: the server's default.",
        "schema": {"type": "integer", "minimum": 1, "maximum": 999999999},
    },
    "Tenant": {
        "name": "x-recallmesh-tenant",
        "in": "header",
        "description": "The tenant that the caller takes itself for; another than the credential's is refused.",
        "schema": {"type": "string"},
    },
}
EVENTS = """\
Server-sent events. Each answer is an event of the default type, whose data is a `{answer}`. The last event is
`end`, or `problem`, whose data is a `Problem`. A comment comes when there is nothing else to send for a while.
"""
PROBLEM: Schema = {
    "type": "object",
    "description": "What is wrong, as RFC 9457 has it. What is HTTP's own has the type `about:blank` and no reason.",
    "required": ["type", "title", "status", "detail", "requestId"],
    "properties": {
        "type": {"type": "string", "format": "uri-reference", "examples": ["urn:recallmesh:error:BANK_NOT_FOUND"]},
        "title": {"type": "string", "description": "The kind of problem, in words."},
        "status": {"type": "integer", "description": "The HTTP status."},
        "detail": {"type": "string", "description": "What is wrong this time, in words."},
        "code": {"type": "string", "description": "The gRPC status code.", "examples": ["NOT_FOUND"]},
        "reason": {"$ref": "#/components/schemas/Reason"},
        "requestId": {"type": "string", "description": "What the logs know the request by."},
        "metadata": {
            "type": "object",
            "additionalProperties": {"type": "string"},
            "description": "What a program may need to know, such as the bank's id.",
        },
        "violations": {
            "type": "array",
            "description": "What was refused.",
            "items": {
                "type": "object",
                "required": ["field", "description"],
                "properties": {
                    "field": {
                        "type": "string",
                        "description": "The field's path.",
                        "examples": ["items[3].documentId"],
                    },
                    "description": {"type": "string"},
                },
            },
        },
        "retryDelay": {
            "type": "string",
            "description": "How long to wait before it is asked again; `retry-after` has it in whole seconds.",
            "examples": ["0.5s"],
        },
    },
}


class Contract:
    """The protos with their comments: what there is, by its name within the package."""

    def __init__(self, described: FileDescriptorSet) -> None:
        """Read the files of the package."""
        self.messages: dict[str, DescriptorProto] = {}
        self.enums: dict[str, EnumDescriptorProto] = {}
        self.methods: dict[str, MethodDescriptorProto] = {}
        self.comments: dict[str, str] = {}
        for file in described.file:
            if file.package != PACKAGE:
                continue
            said = {tuple(at.path): prose(at.leading_comments) for at in file.source_code_info.location}
            for place, service in enumerate(file.service):
                self._note(said, (SERVICE_PATH, place), service.name, service.method)
                self.methods |= {f"{service.name}.{one.name}": one for one in service.method}
            for place, message in enumerate(file.message_type):
                self._note(said, (MESSAGE_PATH, place), message.name, message.field)
                self.messages[message.name] = message
            for place, enum in enumerate(file.enum_type):
                self._note(said, (ENUM_PATH, place), enum.name, enum.value)
                self.enums[enum.name] = enum

    def _note(self, said: Mapping[tuple[int, ...], str], path: tuple[int, ...], name: str, inner: Any) -> None:  # noqa: ANN401
        self.comments[name] = said.get(path, "")
        for place, one in enumerate(inner):
            self.comments[f"{name}.{one.name}"] = said.get((*path, INNER, place), "")


def prose(comment: str) -> str:
    """Return a comment's text without the space before each line."""
    return textwrap.dedent(comment).strip()


def described() -> FileDescriptorSet:
    """Have protoc read the protos, comments and all."""
    with tempfile.TemporaryDirectory() as folder:
        made = Path(folder) / "protos.pb"
        protos = sorted(str(path) for path in (PROTOS / "recallmesh" / "v1").glob("*.proto"))
        status = protoc.main(
            [
                "protoc",
                f"--proto_path={PROTOS}",
                f"--proto_path={files('grpc_tools') / '_proto'}",
                f"--proto_path={Path(protoc.__file__).parent.parent}",
                "--include_source_info",
                f"--descriptor_set_out={made}",
                *protos,
            ]
        )
        if status:
            sys.exit(int(status))
        return FileDescriptorSet.FromString(made.read_bytes())


def document(contract: Contract) -> Schema:
    """Return the OpenAPI document of the public services."""
    public = sorted(service.name for service in services((*RECALL, *RETAIN, *BANK)))
    paths = {}
    for name, method in contract.methods.items():
        service, _, call = name.partition(".")
        if service in public:
            paths[f"/{PACKAGE}.{service}/{call}"] = dict(_operations(contract, service, method))
    needed = sorted(_reached(contract, paths))
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "recallmesh",
            "version": PACKAGE.rpartition(".")[2],
            "description": ABOUT,
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "servers": [{"url": "/"}],
        "tags": [{"name": name, "description": contract.comments[name]} for name in public],
        "paths": paths,
        "components": {
            "parameters": dict(HEADERS),
            "responses": {
                "Problem": {
                    "description": "What is wrong.",
                    "content": {"application/problem+json": {"schema": _ref("Problem")}},
                }
            },
            "schemas": {name: _schema(contract, name) for name in needed}
            | {"Problem": PROBLEM, "Reason": _reasons(contract)},
        },
    }


def _operations(contract: Contract, service: str, method: MethodDescriptorProto) -> Iterator[tuple[str, Schema]]:
    asked, answer = _short(method.input_type), _short(method.output_type)
    told: Schema = {"application/json": {"schema": _ref(answer)}}
    if method.server_streaming:
        told = {"text/event-stream": {"schema": {"type": "string", "description": EVENTS.format(answer=answer)}}}
    about = contract.comments[f"{service}.{method.name}"]
    common: Schema = {
        "tags": [service],
        "summary": about.replace("\n", " ").partition(". ")[0].rstrip("."),
        "description": about,
        "responses": {
            "200": {"description": _first(contract.comments[answer]), "content": told},
            "default": {"$ref": "#/components/responses/Problem"},
        },
    }
    headers = [{"$ref": f"#/components/parameters/{name}"} for name in HEADERS]
    if method.name.startswith(READING) and not method.client_streaming:
        fields = [_parameter(contract, asked, field) for field in contract.messages[asked].field]
        yield "get", common | {"operationId": f"{service}_{method.name}_get", "parameters": headers + fields}
    kind = "application/x-ndjson" if method.client_streaming else "application/json"
    schema: Schema = _ref(asked)
    if method.client_streaming:
        schema = {
            "type": "string",
            "description": f"A `{asked}` a line, each of at most {JSON_BYTES:,} bytes, {MESSAGE_BYTES:,} as protobuf.",
        }
    body = {"required": True, "content": {kind: {"schema": schema}}}
    yield "post", common | {"operationId": f"{service}_{method.name}", "parameters": headers, "requestBody": body}


def _parameter(contract: Contract, message: str, field: FieldDescriptorProto) -> Schema:
    told: Schema = {
        "name": field.json_name,
        "in": "query",
        "description": contract.comments[f"{message}.{field.name}"],
    }
    schema = _field(contract, field)
    inner = schema.get("items", schema)
    if "$ref" in inner and inner["$ref"].rpartition("/")[2] not in contract.enums:
        return told | {"content": {"application/json": {"schema": schema}}}
    return told | {"schema": schema}


def _schema(contract: Contract, name: str) -> Schema:
    if name in contract.enums:
        return _enum(contract, name)
    message = contract.messages[name]
    about = contract.comments[name]
    groups: dict[str, list[str]] = {}
    for field in message.field:
        if field.HasField("oneof_index") and not field.proto3_optional:
            groups.setdefault(message.oneof_decl[field.oneof_index].name, []).append(field.json_name)
    for names in groups.values():
        about += f"\n\nAt most one of {', '.join(f'`{one}`' for one in names)}."
    properties = {field.json_name: _told(contract, name, field) for field in message.field}
    return {"type": "object", "description": about, "properties": properties}


def _told(contract: Contract, message: str, field: FieldDescriptorProto) -> Schema:
    return _field(contract, field) | {"description": contract.comments[f"{message}.{field.name}"]}


def _field(contract: Contract, field: FieldDescriptorProto) -> Schema:
    repeated = field.label == FieldDescriptorProto.LABEL_REPEATED
    if field.type in (FieldDescriptorProto.TYPE_MESSAGE, FieldDescriptorProto.TYPE_ENUM):
        full = field.type_name.removeprefix(".")
        entry = _entry(contract, full)
        if entry is not None:
            return {"type": "object", "additionalProperties": _field(contract, entry.field[1])}
        value = dict(WELL_KNOWN[full]) if full in WELL_KNOWN else _ref(_short(full))
    else:
        value = dict(SCALARS[field.type])
    return {"type": "array", "items": value} if repeated else value


def _entry(contract: Contract, full: str) -> DescriptorProto | None:
    """Return the message that a map's entries are of, nothing where it is no map."""
    owner, _, name = full.removeprefix(f"{PACKAGE}.").rpartition(".")
    nested = contract.messages[owner].nested_type if owner in contract.messages else ()
    return next((one for one in nested if one.name == name and one.options.map_entry), None)


def _enum(contract: Contract, name: str) -> Schema:
    values = contract.enums[name].value
    lines = [f"- `{one.name}`: {_flat(contract.comments[f'{name}.{one.name}'])}" for one in values]
    about = "\n".join((contract.comments[name], "", *lines))
    return {"type": "string", "description": about, "enum": [one.name for one in values]}


def _reasons(contract: Contract) -> Schema:
    """Return the reasons as errors have them: without the prefix, and without the example below each."""
    values = [one for one in contract.enums[REASON].value if one.number]
    lines = [
        f"- `{one.name.removeprefix(PREFIX)}`: {_first(contract.comments[f'{REASON}.{one.name}'])}" for one in values
    ]
    about = "\n".join(("Why a call failed. More may be added.", "", *lines))
    return {"type": "string", "description": about, "examples": [one.name.removeprefix(PREFIX) for one in values]}


def _reached(contract: Contract, inside: object) -> set[str]:
    """Return the names of all that is referred to, from here or by what is."""
    found: set[str] = set()
    waiting = _named(inside)
    while waiting:
        name = waiting.pop()
        if name not in found and (name in contract.messages or name in contract.enums):
            found.add(name)
            waiting |= _named(_schema(contract, name)) - found
    return found


def _named(inside: object) -> set[str]:
    """Return the names that are referred to: as schemas, or in the words about a stream."""
    return {found[1] or found[2] for found in REFERENCE.finditer(json.dumps(inside))}


def _short(full: str) -> str:
    return full.removeprefix(".").removeprefix(f"{PACKAGE}.")


def _ref(name: str) -> Schema:
    return {"$ref": f"#/components/schemas/{name}"}


def _flat(text: str) -> str:
    return " ".join(text.split())


def _first(text: str) -> str:
    """Return a comment's first paragraph on one line."""
    return _flat(text.partition("\n\n")[0])


def written() -> str:
    """Return the document as it stands in its file."""
    return json.dumps(document(Contract(described())), indent=1, ensure_ascii=False) + "\n"


def main(arguments: list[str]) -> int:
    """Write the document, or tell whether it is as it would be written; returns the exit code."""
    made = written()
    if arguments != ["--check"]:
        OUT.write_text(made, encoding="utf-8")
        return 0
    stale = not OUT.exists() or OUT.read_text(encoding="utf-8") != made
    if stale:
        print(f"{OUT.relative_to(ROOT)} is not what the protos make: run make gen", file=sys.stderr)
    return int(stale)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
