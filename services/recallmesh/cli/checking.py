"""``recallmesh check-config``: errors, warnings with what to do, and what differs from the defaults."""

import argparse
import re
import sys
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

from pydantic import BaseModel, SecretStr

from recallmesh.cli.address import folder
from recallmesh.cli.screen import console, print_table
from recallmesh.settings import PREFIX, Settings, load_settings

LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})
"""Hosts to which nothing goes over a network."""
PASSWORD = re.compile(r"(://[^/@:?]*:).*(?=@)|([?&]\w*password=)[^&]*")
"""The password in a URL, where it belongs (and all that may be it, with marks in it that should be written with %) and
among what follows the question mark."""


async def run(words: argparse.Namespace) -> int:
    """Read the settings, warn, and show them."""
    settings = load_settings(data=folder(words.data))
    rows = [
        (name, shown(value), "" if value == default else shown(default))
        for name, value, default in walk(settings, Settings.model_construct())
        if words.all or value != default
    ]
    if rows:
        print_table(console(), ("setting", "value", "default"), rows, folding=frozenset({1, 2}))
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
    return PASSWORD.sub(lambda found: f"{found[1] or found[2]}(secret)", str(value))


def warnings(settings: Settings) -> Iterator[tuple[str, str]]:
    """Yield what is allowed but unlikely to be wanted, each with why and what to do."""
    return ((message, explanation) for wrong, message, explanation in _oddities(settings) if wrong)


def _oddities(settings: Settings) -> Iterator[tuple[bool, str, str]]:
    yield (
        settings.reranker.backend == "none" and settings.reranker.address is None,
        "no cross-encoder reads the best candidates",
        "Answers keep the order of the fusion. RECALLMESH_RERANKER__BACKEND=onnx turns it on.",
    )
    yield (
        not settings.recall.reranking,
        "recall does not ask the cross-encoder",
        "Answers keep the order of the fusion. RECALLMESH_RECALL__RERANKING=true turns it on.",
    )
    yield (
        settings.graph.address is None
        and settings.semantic.address is not None
        and settings.semantic.qdrant_url is None,
        "the graph arm runs here, the vectors elsewhere",
        "Its seeds and semantic links cost a call each. Give RECALLMESH_GRAPH__ADDRESS, or run both in one place.",
    )
    yield (
        settings.serve.deadline_s > settings.serve.deadline_cap_s,
        "the default deadline is longer than the longest allowed",
        "Calls without a deadline get RECALLMESH_SERVE__DEADLINE_CAP_S. Lower RECALLMESH_SERVE__DEADLINE_S.",
    )
    yield (
        settings.recall.timeout_s > settings.serve.deadline_cap_s,
        "recall may take longer than a call is allowed to",
        "RECALLMESH_RECALL__TIMEOUT_S should be below RECALLMESH_SERVE__DEADLINE_CAP_S.",
    )
    yield (
        not settings.recall.embed_share < settings.recall.arms_share < settings.recall.rerank_share,
        "the stages of a recall end in the wrong order",
        "RECALLMESH_RECALL__EMBED_SHARE, RECALLMESH_RECALL__ARMS_SHARE, RECALLMESH_RECALL__RERANK_SHARE should grow.",
    )
    yield from _model_oddities(settings)
    yield from _llm_oddities(settings)
    yield from _door_oddities(settings)
    yield from _auth_oddities(settings)
    yield (
        settings.retain.arm_timeout_s >= settings.retain.timeout_s,
        "retain waits for an arm as long as the whole call may take",
        "A slow arm fails the call instead of being left to the outbox. Lower RECALLMESH_RETAIN__ARM_TIMEOUT_S.",
    )


def _model_oddities(settings: Settings) -> Iterator[tuple[bool, str, str]]:
    found = (
        ("EMBEDDER", settings.embedder.url, settings.embedder.api_key),
        ("EMBEDDER__NEXT", settings.embedder.next.url, settings.embedder.next.api_key),
        ("RERANKER", settings.reranker.url, settings.reranker.api_key),
    )
    for name, url, key in found:
        yield (
            (url or "").startswith("http://")
            and bool(key.get_secret_value())
            and urlsplit(url or "").hostname not in LOOPBACK,
            f"the key of the {name.partition('_')[0].lower()}'s server goes over the network unencrypted",
            f"Whoever is on the way can read it, and the memories. {PREFIX}{name}__URL should begin with https://.",
        )


def _llm_oddities(settings: Settings) -> Iterator[tuple[bool, str, str]]:
    own = settings.llm
    host = urlsplit(own.url or "").hostname or ""
    yield (
        own.url is None and own != type(own)(),
        "a language model is set up, and no endpoint of it",
        "Facts are made by rules. RECALLMESH_LLM__URL says where the model is.",
    )
    yield (
        (own.url or "").startswith("http://") and bool(own.api_key.get_secret_value()) and host not in LOOPBACK,
        "the language model's key goes over the network unencrypted",
        "Whoever is on the way can read it, and the memories. RECALLMESH_LLM__URL should begin with https://.",
    )
    yield (
        own.url is not None and own.timeout_s >= settings.retain.timeout_s,
        "one answer of the language model may take as long as the whole call of retain",
        "A slow answer fails the call and is not asked for again. Raise RECALLMESH_RETAIN__TIMEOUT_S above it.",
    )


def _door_oddities(settings: Settings) -> Iterator[tuple[bool, str, str]]:
    own = settings.door
    yield (
        own.exposed and settings.auth.mode == "off" and own.listen.rpartition(":")[0].strip("[]") not in LOOPBACK,
        "others can reach the JSON door, and nobody is asked who they are",
        "Whoever reaches it reads and writes every bank: it belongs behind a proxy that asks.",
    )
    yield (
        "*" in own.hosts and not own.exposed,
        "the JSON door may be called by any name",
        "A web page can give its own name the door's address. RECALLMESH_DOOR__HOSTS should name those that are yours.",
    )
    yield (
        "*" in own.cors_origins,
        "the pages of any web site may use the JSON door",
        "Any page that a browser shows can read and write every bank. RECALLMESH_DOOR__CORS_ORIGINS should name yours.",
    )


def _auth_oddities(settings: Settings) -> Iterator[tuple[bool, str, str]]:
    own, listen = settings.auth, settings.serve.listen.rpartition(":")[0].strip("[]")
    says = own.keys is not None or own.jwt.jwks is not None or own.mesh_key is not None or own.mesh_key_file is not None
    yield (
        own.mode == "off" and says,
        "it is said who may call, and nobody is asked",
        "Whoever reaches the process reads and writes every bank. RECALLMESH_AUTH__MODE=on asks.",
    )
    yield (
        own.mode == "on" and settings.tls.certificate is None and listen not in LOOPBACK,
        "callers' keys go over the network unencrypted",
        "Whoever is on the way can read them, and the memories. RECALLMESH_TLS__CERTIFICATE encrypts, or a proxy does.",
    )
    yield (
        settings.tls.certificate is not None and settings.tls.calling is None and any(_elsewhere(settings)),
        "this process serves by TLS, and calls the other services without",
        "Those with the same settings do not answer. RECALLMESH_TLS__CA names whose certificates they have.",
    )
    yield (
        own.mode == "on" and own.mesh_key is None and own.mesh_key_file is None and any(_elsewhere(settings)),
        "parts of the mesh are elsewhere, and this process has no key for them",
        "They refuse it if they ask. RECALLMESH_AUTH__MESH_KEY is the same for every process of a mesh.",
    )


def _elsewhere(settings: Settings) -> Iterator[bool]:
    return (getattr(getattr(settings, field), "address", None) is not None for field in Settings.model_fields)
