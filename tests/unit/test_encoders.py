"""Which back end the settings open, and what is said where it cannot be."""

from importlib.util import find_spec

import pytest
from encoder_server import EncoderServer, LengthReranker, LetterEmbedder, open_encoder_server, tei_url

from recallmesh.core.encoder import EmbedKind
from recallmesh.core.errors import FieldViolation, InvalidArgument, StoreUnavailable
from recallmesh.embedder.settings import EmbedderSettings, NextModelSettings
from recallmesh.encoders import open_embedder_here, open_reranker_here
from recallmesh.reranker.settings import RerankerSettings
from recallmesh.settings import Settings
from recallmesh.telemetry.metrics import Metrics


async def refusal(opening):
    with pytest.raises(InvalidArgument) as caught:
        async with opening:
            pass
    [violation] = caught.value.violations
    return violation


@pytest.mark.skipif(find_spec("torch") is not None, reason="torch is here")
@pytest.mark.parametrize("part", ["embedder", "reranker", "next"])
async def test_a_back_end_whose_client_is_not_installed_says_how_to_get_it(part):
    own = {"backend": "sentence_transformers", "model": "m"}
    match part:
        case "embedder":
            opening = open_embedder_here(Settings(embedder=EmbedderSettings(**own)), Metrics())
        case "next":
            settings = Settings(embedder=EmbedderSettings(next=NextModelSettings(**own)))
            opening = open_embedder_here(settings, Metrics(), following=True)
        case _:
            opening = open_reranker_here(Settings(reranker=RerankerSettings(**own)), Metrics())
    found = await refusal(opening)
    name = "EMBEDDER__NEXT" if part == "next" else part.upper()
    assert found.field == f"RECALLMESH_{name}__BACKEND"
    assert "pip install 'recallmesh[sentence-transformers]'" in found.description


@pytest.mark.parametrize("device", ["cuda", "cuda:3", "mps"])
async def test_a_device_that_is_not_there_is_an_error_and_not_the_processor(device):
    found = await refusal(open_embedder_here(Settings(embedder=EmbedderSettings(device=device)), Metrics()))
    assert found.field == "RECALLMESH_EMBEDDER__DEVICE"
    assert f"{device!r} is not there" in found.description
    assert ("onnxruntime-gpu" if "cuda" in device else "cpu and cuda") in found.description
    found = await refusal(open_reranker_here(Settings(reranker=RerankerSettings(device=device)), Metrics()))
    assert found.field == "RECALLMESH_RERANKER__DEVICE"


@pytest.mark.parametrize("backend", ["tei", "openai"])
async def test_settings_open_a_served_embedder_and_metrics_tell_of_it(backend):
    behind, metrics = LetterEmbedder(), Metrics()
    async with open_encoder_server(EncoderServer(behind)) as endpoint:
        url = endpoint.url if backend == "openai" else tei_url(endpoint)
        more = {"model": "small-1"} if backend == "openai" else {}
        own = EmbedderSettings(backend=backend, url=url, api_key="k", batch_size=2, passage_prefix="p: ", **more)
        async with open_embedder_here(Settings(embedder=own), metrics) as embedder:
            behind.batches.clear()
            await embedder.embed(("a", "b", "c"), EmbedKind.PASSAGE)
            assert sorted(behind.batches) == [("p: a", "p: b"), ("p: c",)]
            for _ in range(2):
                await embedder.embed(("where",), EmbedKind.QUERY)
            assert behind.batches[2:] == [("where",)]
    count = metrics.registry.get_sample_value("recallmesh_model_run_seconds_count", {"part": "embedder"})
    assert count is not None
    assert count >= 3


async def test_settings_open_a_served_reranker():
    async with open_encoder_server(EncoderServer(reranker=LengthReranker())) as endpoint:
        own = RerankerSettings(backend="tei", url=tei_url(endpoint), batch_size=2)
        async with open_reranker_here(Settings(reranker=own), Metrics()) as reranker:
            assert await reranker.rerank("q", ("a", "bbb")) == (-19.5, -17.5)
            assert (await reranker.info()).logits


async def test_a_server_that_is_away_is_an_error_of_its_state_and_not_of_the_settings():
    own = EmbedderSettings(backend="tei", url="http://127.0.0.1:9")
    with pytest.raises(StoreUnavailable, match="does not answer"):
        async with open_embedder_here(Settings(embedder=own), Metrics()):
            pass


async def test_what_fails_while_it_is_open_is_not_blamed_on_its_settings():
    async with open_encoder_server(EncoderServer(LetterEmbedder())) as endpoint:
        own = EmbedderSettings(backend="tei", url=tei_url(endpoint))
        with pytest.raises(InvalidArgument, match=r"^listen: "):
            async with open_embedder_here(Settings(embedder=own), Metrics()):
                raise InvalidArgument(FieldViolation("listen", "is no address"))
