# ruff: noqa: PLC0415 - a process has only the extras of the parts it hosts, and starts faster for what it does not load
"""Opens what makes facts and observations, from the settings: rules, a model of names or not, or a language model."""

import asyncio
import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from recallmesh.core.time import system_clock
from recallmesh.extra import needing
from recallmesh.retain.extraction import Extractor
from recallmesh.retain.finder import NameFinder
from recallmesh.retain.language import LanguageModel
from recallmesh.retain.observation import ObservationWriter
from recallmesh.settings import Settings
from recallmesh.telemetry.metrics import Metrics


@asynccontextmanager
async def open_language_model(settings: Settings, metrics: Metrics) -> AsyncIterator[LanguageModel | None]:
    """Open the language model that the settings name; nothing where they name none.

    Raises:
        InvalidArgument: the settings name one, and its client is not installed.

    """
    own = settings.llm
    if own.url is None:
        yield None
        return
    from recallmesh.retain.observed import ObservedLanguageModel

    with needing("llm", "RECALLMESH_LLM__URL"):
        from recallmesh.retain.openai import open_openai_model
    async with open_openai_model(
        own.url,
        own.model,
        api_key=own.api_key.get_secret_value(),
        vision=own.vision,
        timeout_s=own.timeout_s,
        in_flight=own.in_flight,
        reply_tokens=own.reply_tokens,
        now=system_clock,
        random=random.random,
    ) as model:
        yield ObservedLanguageModel(model, metrics)


async def load_extractor(settings: Settings, model: LanguageModel | None, metrics: Metrics) -> Extractor:
    """Make what makes the facts: the language model where there is one, else rules and the model of names that is set.

    Raises:
        InvalidArgument: the extra of a model of names is not installed.
        NotReady: that model is not there.

    """
    from recallmesh.retain.llm import LlmExtractor
    from recallmesh.retain.local import LocalExtractor
    from recallmesh.retain.observed import ObservedExtractor
    from recallmesh.when.reader import GrammarTimeReader

    if model is None:
        names = await asyncio.to_thread(load_names, settings.retain.names, settings.retain.names_model)
        return ObservedExtractor(LocalExtractor(GrammarTimeReader(), names), metrics)
    return ObservedExtractor(LlmExtractor(model, call_tokens=settings.llm.call_tokens), metrics)


def observation_writer(settings: Settings, model: LanguageModel | None) -> ObservationWriter:
    """Make what writes observations: the language model where there is one, else the choice of the best fact."""
    from recallmesh.retain.chronicle import Chronicler
    from recallmesh.retain.observation import BestFact

    return BestFact() if model is None else Chronicler(model, call_tokens=settings.llm.call_tokens)


def load_names(names: str, model: str) -> NameFinder | None:
    """Load the model that finds names, if one is set; it takes seconds.

    Raises:
        InvalidArgument: its extra is not installed.
        NotReady: the model is not there.

    """
    with needing(names, "RECALLMESH_RETAIN__NAMES", names):
        match names:
            case "spacy":
                from recallmesh.retain.spacy import load_spacy

                return load_spacy(model)
            case "gliner":
                from recallmesh.retain.gliner import load_gliner

                return load_gliner(Path(model))
            case _:
                return None
