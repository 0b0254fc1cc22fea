"""``python -m recallmesh.cli.reference``: the pages under docs/ that are made from the code they describe."""

import argparse
import ast
import inspect
import json
import sys
import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass
from enum import Enum
from pathlib import Path
from types import ModuleType, NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel, SecretStr
from pydantic.fields import FieldInfo

from recallmesh.cli.guide import table, tuning_page
from recallmesh.core import limits
from recallmesh.settings import PREFIX, Settings, default_data
from recallmesh.telemetry.metrics import Described, Metrics

DOCS = Path(__file__).parents[3] / "docs"
MADE = "<!-- Made by `make gen` from the code; not to be edited. -->"
DATA = "~/.local/share/recallmesh"
"""How the default folder is written: without the home of whoever makes the page."""

SETTINGS = """\
# Settings

Every setting is an environment variable; one that is not set has its default. `recallmesh check-config` checks them
and shows what differs; an unknown `RECALLMESH_…` name is refused, and so is a value out of its range.
Lists and tables are written as JSON: `RECALLMESH_RECALL__ARMS='["semantic","keyword"]'`. One entry of a table may also
be set alone: `RECALLMESH_RECALL__BUDGET_HITS__LOW=50`.
"""
LIMITS = """\
# Limits

A request beyond one of these is refused with `INVALID_ARGUMENT`, and the error names the field and the limit.
They are the same in every mode and cannot be set.
"""
METRICS = """\
# Metrics

What a process tells Prometheus on `RECALLMESH_SERVE__METRICS_PORT`. No label has a bank, a tenant or a caller in it:
each has as many values as the code has names. How to read them: [observability.md](observability.md).
"""
UNITS = {"_seconds": "seconds", "_tokens": "tokens", "_hits": "hits", "_texts": "texts or pairs", "_info": ""}
"""What a metric is measured in, by the end of its name; the others count."""
PROCESS = """
`process_…` (processor seconds, resident bytes, open files, start time) are Prometheus' own, of the same process.
"""
WORDS = {str: "text", int: "whole number", float: "number", bool: "true or false", Path: "path", SecretStr: "secret"}
BOUNDS = {"gt": "> {}", "ge": "≥ {}", "lt": "< {}", "le": "≤ {}", "pattern": "matches `{}`"}


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the pages, or with ``--check`` tell whether they are as they would be written; returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m recallmesh.cli.reference", description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; fail if a page is not up to date")
    parser.add_argument("--docs", type=Path, default=DOCS, help="the folder of the pages")
    words = parser.parse_args(arguments)
    made = {
        "settings.md": settings_page(),
        "limits.md": limits_page(),
        "tuning.md": tuning_page(MADE),
        "metrics.md": metrics_page(),
    }
    pages = {words.docs / name: page for name, page in made.items()}
    stale = [path for path, page in pages.items() if not path.exists() or path.read_text(encoding="utf-8") != page]
    for path in stale:
        if words.check:
            print(f"{path.name} is not what the code says\n  write it anew: make gen", file=sys.stderr)
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(pages[path], encoding="utf-8")
    return int(words.check and bool(stale))


def settings_page() -> str:
    """Return the page of settings, a table for each part."""
    parts = [MADE, SETTINGS, "## The process\n", table(_rows(Settings, PREFIX))]
    for title, kind, prefix in _sections(Settings, PREFIX):
        about = inspect.cleandoc(kind.__doc__ or "")
        parts += [f"## {title}\n\n{about}\n", table(_rows(kind, prefix))]
    return "\n".join(parts)


def _sections(model: type[BaseModel], prefix: str) -> Iterator[tuple[str, type[BaseModel], str]]:
    """Yield the parts of the settings, each followed by its own: a title, the model, what its variables begin with."""
    for name, info in model.model_fields.items():
        kind = info.annotation
        if isinstance(kind, type) and issubclass(kind, BaseModel):
            inner = f"{prefix}{name.upper()}__"
            title = inner.removeprefix(PREFIX).removesuffix("__").replace("__", ", ").lower()
            yield title[0].upper() + title[1:], kind, inner
            yield from _sections(kind, inner)


def limits_page() -> str:
    """Return the page of limits."""
    notes = docstrings(limits)
    rows = [(f"`{name}`", f"{getattr(limits, name):,}", note) for name, note in notes.items()]
    return "\n".join((MADE, LIMITS, table((("limit", "value", "meaning"), *rows))))


def metrics_page() -> str:
    """Return the page of metrics."""
    rows = [
        (f"`{one.name}`", one.kind, _unit(one), ", ".join(f"`{label}`" for label in one.labels), one.meaning)
        for one in sorted(Metrics().described, key=lambda one: one.name)
    ]
    return "\n".join((MADE, METRICS, table((("metric", "type", "unit", "labels", "meaning"), *rows)), PROCESS.lstrip()))


def _unit(metric: Described) -> str:
    name = metric.name.removesuffix("_total")
    return next((unit for end, unit in UNITS.items() if name.endswith(end)), "1")


def docstrings(owner: type | ModuleType) -> dict[str, str]:
    """Return what stands below each field of a class, or constant of a module, in their order; empty for nothing.

    What a class has of our own classes comes first, and is its own where it says it anew.
    """
    found: dict[str, str] = {}
    for parent in reversed(owner.__mro__[1:]) if isinstance(owner, type) else ():
        if parent.__module__.partition(".")[0] == "recallmesh":
            found |= docstrings(parent)
    tree = ast.parse(textwrap.dedent(inspect.getsource(owner)))
    body = tree.body[0].body if isinstance(tree.body[0], ast.ClassDef) else tree.body
    for node, following in zip(body, [*body[1:], None], strict=True):
        match node:
            case ast.AnnAssign(target=ast.Name(id=name)) | ast.Assign(targets=[ast.Name(id=name)]):
                found[name] = ""
            case _:
                continue
        match following:
            case ast.Expr(value=ast.Constant(value=str(note))):
                found[name] = " ".join(note.split())
    return found


def _rows(model: type[BaseModel], prefix: str) -> Iterator[tuple[str, ...]]:
    yield ("variable", "value", "default", "meaning")
    notes = docstrings(model)
    for name, info in model.model_fields.items():
        if isinstance(info.annotation, type) and issubclass(info.annotation, BaseModel):
            continue
        yield (f"`{prefix}{name.upper()}`", _kind(info), _default(info), notes[name].replace("``", "`"))


def _kind(info: FieldInfo) -> str:
    """Write a field's type and range."""
    return ", ".join((_name(info.annotation), *_bounds(info.metadata)))


def _bounds(metadata: Iterable[Any]) -> Iterator[str]:
    for constraint in metadata:
        for bound, text in BOUNDS.items():
            value = getattr(constraint, bound, None)
            if value is not None:
                yield text.format(f"{value:g}" if isinstance(value, float) else value)


def _name(kind: Any) -> str:  # noqa: ANN401, PLR0911 - a type expression has no narrower type; one line for each kind
    origin, inner = get_origin(kind), get_args(kind)
    if origin in {Union, UnionType}:
        return " or ".join(_name(one) for one in inner if one is not NoneType)
    if origin is Annotated:
        return ", ".join((_name(inner[0]), *_bounds(_flat(inner[1:]))))
    if origin is Literal:
        return " or ".join(f"`{one}`" for one in inner)
    if origin is dict:
        return f"JSON object: {_name(inner[0])} → {_name(inner[1])}"
    if origin is not None:
        return f"JSON list of {_name(inner[0])}"
    if isinstance(kind, type) and issubclass(kind, Enum):
        return " or ".join(f"`{one.value}`" for one in kind)
    if is_dataclass(kind):
        return f"JSON object with {', '.join(f'`{one.name}`' for one in fields(kind))}"
    return WORDS[kind]


def _flat(metadata: Iterable[Any]) -> Iterator[Any]:
    """Yield the constraints; pydantic keeps some of them inside a field's own."""
    for one in metadata:
        yield from one.metadata if isinstance(one, FieldInfo) else (one,)


def _default(info: FieldInfo) -> str:
    value = info.get_default(call_default_factory=True, validated_data={})
    if value is None:
        return ""
    if value == default_data():
        return f"`{DATA}`"
    written = _plain(value)
    return f"`{written}`" if written else "empty"


def _plain(value: Any) -> str:  # noqa: ANN401 - any default
    """Write a default as it would be set."""
    if is_dataclass(value) and not isinstance(value, type):
        value = {one.name: getattr(value, one.name) for one in fields(value) if getattr(value, one.name) is not None}
    if isinstance(value, frozenset):
        return json.dumps(sorted(value))
    if isinstance(value, Mapping):
        return json.dumps(dict(value))
    if isinstance(value, bool):
        return str(value).lower()
    return f"{value:g}" if isinstance(value, float) else str(value)


if __name__ == "__main__":
    sys.exit(main())
