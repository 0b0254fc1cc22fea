# ruff: noqa: PLC0415 - a process has only the extras of the parts it hosts, and starts faster for what it does not load
"""Opens the embedder and the reranker in this process, from the settings: what runs their models, and where."""

import asyncio
import importlib
import random
from collections.abc import AsyncIterator, Iterator
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager, contextmanager

from recallmesh.core.encoder import Embedder, Reranker
from recallmesh.core.errors import FieldViolation, InvalidArgument
from recallmesh.core.time import system_clock
from recallmesh.embedder.cached import CachedEmbedder
from recallmesh.embedder.settings import ModelSettings
from recallmesh.extra import needing
from recallmesh.onnx.pool import Batching
from recallmesh.reranker.cached import CachedReranker
from recallmesh.settings import PREFIX, Settings
from recallmesh.telemetry.metrics import Metrics
from recallmesh.telemetry.model import ModelWatch

TORCH = "sentence-transformers"


@asynccontextmanager
async def open_embedder_here(
    settings: Settings, metrics: Metrics, *, following: bool = False
) -> AsyncIterator[Embedder]:
    """Open the bi-encoder; ``following``: the second one, while models are changed.

    Raises:
        InvalidArgument: what a setting names is not installed, or not there.
        StoreUnavailable: the model cannot be loaded, or its server does not answer.
        NotReady: its server refuses us.

    """
    section = f"{PREFIX}EMBEDDER__NEXT__" if following else f"{PREFIX}EMBEDDER__"
    model = settings.embedder.next if following else settings.embedder
    watch = ModelWatch("embedder_next" if following else "embedder", metrics)
    async with AsyncExitStack() as stack:
        with _settings_of(section):
            opening = await _embedder(settings, model, watch, f"{section}BACKEND")
            embedder = await stack.enter_async_context(opening)
        size = settings.embedder.cached_queries
        yield CachedEmbedder(embedder, size=size, watch=watch) if size else embedder


async def _embedder(
    settings: Settings, model: ModelSettings, watch: ModelWatch, setting: str
) -> AbstractAsyncContextManager[Embedder]:
    own = settings.embedder
    match model.backend:
        case "sentence_transformers":
            await _import_torch("recallmesh.embedder.sentence_transformers", setting)
            from recallmesh.embedder.sentence_transformers import open_torch_embedder

            return open_torch_embedder(
                model.source,
                device=model.device,
                query_prefix=model.query_prefix,
                passage_prefix=model.passage_prefix,
                dimensions=model.dimensions,
                batch_size=model.batch_size,
                threads=own.threads,
                queue=own.queue,
                watch=watch,
            )
        case "tei":
            with needing("tei", setting):
                from recallmesh.embedder.tei import open_tei_embedder

            return open_tei_embedder(
                model.url or "",
                api_key=model.api_key.get_secret_value(),
                model=model.model,
                query_prefix=model.query_prefix or "",
                passage_prefix=model.passage_prefix or "",
                batch_size=model.batch_size,
                in_flight=own.in_flight,
                queue=own.queue,
                timeout_s=own.timeout_s,
                watch=watch,
                now=system_clock,
                random=random.random,
            )
        case "openai":
            with needing("openai", setting):
                from recallmesh.embedder.openai import open_openai_embedder

            return open_openai_embedder(
                model.url or "",
                model.model,
                api_key=model.api_key.get_secret_value(),
                query_prefix=model.query_prefix or "",
                passage_prefix=model.passage_prefix or "",
                dimensions=model.dimensions,
                batch_size=model.batch_size,
                in_flight=own.in_flight,
                queue=own.queue,
                timeout_s=own.timeout_s,
                watch=watch,
                now=system_clock,
                random=random.random,
            )
        case _:
            from recallmesh.embedder.onnx import open_onnx_embedder

            return open_onnx_embedder(
                model.model_dir,
                device=model.device,
                threads=own.threads,
                queue=own.queue,
                batching=Batching(model.batch_size or 1, own.batch_wait_ms / 1000),
                watch=watch,
            )


@asynccontextmanager
async def open_reranker_here(settings: Settings, metrics: Metrics) -> AsyncIterator[Reranker]:
    """Open the cross-encoder.

    Raises:
        InvalidArgument: what a setting names is not installed, or not there.
        StoreUnavailable: the model cannot be loaded, or its server does not answer.
        NotReady: its server refuses us.

    """
    section = f"{PREFIX}RERANKER__"
    async with AsyncExitStack() as stack:
        watch = ModelWatch("reranker", metrics)
        with _settings_of(section):
            opening = await _reranker(settings, watch, f"{section}BACKEND")
            reranker = await stack.enter_async_context(opening)
        size = settings.reranker.cached_pairs
        yield CachedReranker(reranker, size=size, watch=watch) if size else reranker


async def _reranker(settings: Settings, watch: ModelWatch, setting: str) -> AbstractAsyncContextManager[Reranker]:
    own = settings.reranker
    logits = own.scores == "logits"
    match own.backend:
        case "sentence_transformers":
            await _import_torch("recallmesh.reranker.sentence_transformers", setting)
            from recallmesh.reranker.sentence_transformers import open_torch_reranker

            return open_torch_reranker(
                own.source,
                device=own.device,
                logits=logits,
                batch_size=own.batch_size,
                threads=own.threads,
                queue=own.queue,
                watch=watch,
            )
        case "tei":
            with needing("tei", setting):
                from recallmesh.reranker.tei import open_tei_reranker

            return open_tei_reranker(
                own.url or "",
                api_key=own.api_key.get_secret_value(),
                model=own.model,
                logits=logits,
                batch_size=own.batch_size,
                in_flight=own.in_flight,
                queue=own.queue,
                timeout_s=own.timeout_s,
                watch=watch,
                now=system_clock,
                random=random.random,
            )
        case _:
            from recallmesh.reranker.onnx import open_onnx_reranker

            return open_onnx_reranker(
                own.model_dir,
                device=own.device,
                threads=own.threads,
                queue=own.queue,
                batching=Batching(own.batch_size or 1, own.batch_wait_ms / 1000),
                watch=watch,
            )


async def _import_torch(module: str, setting: str) -> None:
    """Import an adapter to torch, which takes seconds: not on the event loop."""
    with needing(TORCH, setting):
        await asyncio.to_thread(importlib.import_module, module)


@contextmanager
def _settings_of(section: str) -> Iterator[None]:
    """Blame the setting where what an adapter was given is not there: it knows fields alone."""
    try:
        yield
    except InvalidArgument as error:
        raise InvalidArgument(*(_blamed(one, section) for one in error.violations)) from error


def _blamed(one: FieldViolation, section: str) -> FieldViolation:
    return one if one.field.startswith(PREFIX) else FieldViolation(section + one.field.upper(), one.description)
