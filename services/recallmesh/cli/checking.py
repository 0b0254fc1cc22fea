"""``recallmesh check-config``: errors, warnings with what to do, and what differs from the defaults."""

import argparse
import sys
from collections.abc import Iterator
from typing import Any

from pydantic import BaseModel, SecretStr

from recallmesh.cli.places import folder
from recallmesh.cli.screen import print_table
from recallmesh.settings import PREFIX, Settings, load_settings


async def run(words: argparse.Namespace) -> int:
    """Read the settings, warn, and show them."""
    settings = load_settings(data=folder(words.data))
    rows = [
        (name, shown(value), "" if value == default else f"default: {shown(default)}")
        for name, value, default in walk(settings, Settings.model_construct())
        if words.all or value != default
    ]
    if rows:
        print_table(("setting", "value", ""), rows)
    else:
        print("all settings have their defaults; --all shows them")
    for message, explanation in warnings(settings):
        print(f"warning: {message}\n  {explanation}", file=sys.stderr)
    return 0


def walk(model: BaseModel, defaults: BaseModel, prefix: str = PREFIX) -> Iterator[tuple[str, Any, Any]]:
    """Yield every setting's variable, value and default."""
    for field in type(model).model_fields:
        value, default = getattr(model, field), getattr(defaults, field)
        if isinstance(value, BaseModel):
            yield from walk(value, default, f"{prefix}{field.upper()}__")
        else:
            yield f"{prefix}{field.upper()}", value, default


def shown(value: object) -> str:
    """Write a value as a person reads it; secrets are never shown."""
    if value is None:
        return "-"
    if isinstance(value, SecretStr):
        return "(secret)"
    return str(value)


def warnings(settings: Settings) -> Iterator[tuple[str, str]]:
    """Yield what is allowed but unlikely to be wanted, each with why and what to do."""
    if settings.reranker.backend == "none" and settings.reranker.address is None:
        yield (
            "no cross-encoder reads the best candidates",
            "Answers keep the order of the fusion. RECALLMESH_RERANKER__BACKEND=onnx turns it on.",
        )
    if settings.graph.address is None and settings.semantic.address is not None:
        yield (
            "the graph arm runs here, the vectors elsewhere",
            "Its seeds and semantic links cost a call each. Give RECALLMESH_GRAPH__ADDRESS, or run both in one place.",
        )
    if settings.server.deadline_s > settings.server.deadline_cap_s:
        yield (
            "the default deadline is longer than the longest allowed",
            "Calls without a deadline get RECALLMESH_SERVER__DEADLINE_CAP_S. Lower RECALLMESH_SERVER__DEADLINE_S.",
        )
    if settings.recall.timeout_s > settings.server.deadline_cap_s:
        yield (
            "recall may take longer than a call is allowed to",
            "RECALLMESH_RECALL__TIMEOUT_S should be below RECALLMESH_SERVER__DEADLINE_CAP_S.",
        )
