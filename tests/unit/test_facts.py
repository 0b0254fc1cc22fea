"""What makes facts is chosen in one place: the language model that the settings name, else rules."""

import sys

import pytest

from recallmesh.core.bank import ExtractionMode
from recallmesh.core.errors import InvalidArgument
from recallmesh.facts import load_extractor, open_language_model
from recallmesh.retain.settings import LlmSettings
from recallmesh.settings import Settings
from recallmesh.telemetry.metrics import Metrics

NAMED = Settings(llm=LlmSettings(url="http://127.0.0.1:1/v1", model="small-1", vision=True))


async def test_without_an_endpoint_rules_make_the_facts():
    async with open_language_model(Settings(), Metrics()) as model:
        assert model is None
    extractor = await load_extractor(Settings(), None, Metrics())
    assert extractor.fingerprint.startswith("local-")
    assert ExtractionMode.CUSTOM not in extractor.modes
    assert extractor.vision is False


async def test_the_model_that_is_named_makes_the_facts_and_is_asked_nothing_before():
    async with open_language_model(NAMED, Metrics()) as model:
        extractor = await load_extractor(NAMED, model, Metrics())
    assert extractor.fingerprint.startswith("llm-small-1-")
    assert ExtractionMode.CUSTOM in extractor.modes
    assert extractor.vision is True


async def test_an_endpoint_without_its_client_is_told_how_to_install_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "recallmesh.retain.openai", None)
    with pytest.raises(InvalidArgument, match=r"RECALLMESH_LLM__URL: .*pip install 'recallmesh\[llm\]'"):
        async with open_language_model(NAMED, Metrics()):
            pass
