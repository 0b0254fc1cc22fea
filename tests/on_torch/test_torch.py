"""The models on torch, beside what else runs the same weights."""

import json
import shutil
import warnings

import pytest
import torch
from safetensors.torch import load_file, save_file
from sentence_transformers import SentenceTransformer
from torch_models import minilm
from widened import widened_embedder, widened_reranker

from recallmesh.core.encoder import EmbedKind
from recallmesh.core.errors import InvalidArgument, NotReady
from recallmesh.embedder.card import BGE_SMALL_EN
from recallmesh.embedder.onnx import open_onnx_embedder
from recallmesh.embedder.sentence_transformers import open_torch_embedder
from recallmesh.encoding.torch import check_device
from recallmesh.onnx.pool import UNWATCHED
from recallmesh.reranker.onnx import open_onnx_reranker
from recallmesh.reranker.sentence_transformers import open_torch_reranker

TEXTS = (
    "Bea moved to Trondheim in May.",
    "The invoice 10.7/x.y was paid twice.",
    "a",
    "Hören wir das Konzert am Samstag? " * 9,
    "東京で寿司を食べた。",
    "CVE-2031-4411 affects every build before the last; patch it, then restart the workers one by one.",
)
QUERY = "Where is the spare key hidden?"
PAIRS = (
    "I lost my keys again yesterday, so annoying.",
    "The spare key is hidden under the blue flowerpot by the shed.",
    "The orchestra plays on Thursday.",
    "He keeps all of his things hidden.",
)


def cosine(one, other):
    return sum(a * b for a, b in zip(one, other, strict=True))


class TokenVectors(torch.nn.Module):
    """What a graph of a bi-encoder has: each token's vector, before they are pooled."""

    def __init__(self, bert):
        super().__init__()
        self.bert = bert

    def forward(self, input_ids, attention_mask, token_type_ids):
        return self.bert(
            input_ids=input_ids, attention_mask=attention_mask, token_type_ids=token_type_ids
        ).last_hidden_state


def export(model: SentenceTransformer, folder, card):
    """Write a model's graph and what else ONNX Runtime's embedder reads."""
    ids = torch.tensor([[101, 2023, 2003, 102]])
    given = (ids, torch.ones_like(ids), torch.zeros_like(ids))
    names = ["input_ids", "attention_mask", "token_type_ids"]
    batch, length = torch.export.Dim("batch"), torch.export.Dim("length", max=512)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the exporter's own, of names of axes
        torch.onnx.export(
            TokenVectors(model[0].auto_model).eval(),
            given,
            folder / "model.onnx",
            input_names=names,
            output_names=["last_hidden_state"],
            dynamic_shapes={name: {0: batch, 1: length} for name in names},
            external_data=False,
            dynamo=True,
            verbose=False,
        )
    shutil.copy(minilm() / "tokenizer.json", folder)
    (folder / "recallmesh.json").write_text(json.dumps(card))


@pytest.fixture(scope="module")
def exported(tmp_path_factory):
    """all-MiniLM-L6-v2 as a graph, made here of the same weights."""
    folder = tmp_path_factory.mktemp("minilm")
    card = {"name": "minilm", "pooling": "mean", "max_tokens": 256, "query_prefix": "query: "}
    export(SentenceTransformer(str(minilm()), device="cpu"), folder, card)
    return folder


@pytest.mark.parametrize("kind", EmbedKind)
async def test_a_graph_and_torch_give_the_same_vectors_of_the_same_weights(exported, kind):
    async with (
        open_onnx_embedder(exported, threads=2) as onnx,
        open_torch_embedder(str(minilm()), query_prefix="query: ", watch=UNWATCHED) as torched,
    ):
        one, two = await onnx.embed(TEXTS, kind), await torched.embed(TEXTS, kind)
        assert min(map(cosine, one, two)) > 0.9999
        told, measured = await onnx.info(), await torched.info()
        assert told.cosine_mean == pytest.approx(measured.cosine_mean, abs=1e-3)
        assert told.cosine_high == pytest.approx(measured.cosine_high, abs=1e-3)
        assert (told.dimensions, told.max_tokens) == (measured.dimensions, measured.max_tokens) == (384, 256)


@pytest.mark.parametrize("kind", EmbedKind)
async def test_the_packaged_model_gives_nearly_the_vectors_of_its_weights_in_floats(kind):
    """What is missing is the loss of computing in int8."""
    async with (
        open_onnx_embedder(threads=2) as onnx,
        open_torch_embedder(
            str(widened_embedder()), query_prefix=BGE_SMALL_EN.query_prefix, watch=UNWATCHED
        ) as torched,
    ):
        one, two = await onnx.embed(TEXTS, kind), await torched.embed(TEXTS, kind)
        assert min(map(cosine, one, two)) > 0.98


async def test_the_packaged_reranker_orders_as_its_weights_in_floats():
    async with (
        open_onnx_reranker(threads=2) as onnx,
        open_torch_reranker(str(widened_reranker()), watch=UNWATCHED) as torched,
    ):
        one, two = await onnx.rerank(QUERY, PAIRS), await torched.rerank(QUERY, PAIRS)
        assert sorted(PAIRS, key=dict(zip(PAIRS, one, strict=True)).get) == sorted(
            PAIRS, key=dict(zip(PAIRS, two, strict=True)).get
        )
        assert one == pytest.approx(two, abs=1.5)


async def test_scores_are_raw_whatever_the_model_would_make_of_them():
    async with open_torch_reranker(str(widened_reranker()), watch=UNWATCHED) as reranker:
        assert (await reranker.info()).logits
        scores = await reranker.rerank(QUERY, PAIRS)
        assert max(scores) > 1
        assert min(scores) < 0
    with pytest.raises(NotReady, match="RECALLMESH_RERANKER__SCORES=logits"):
        async with open_torch_reranker(str(widened_reranker()), logits=False, watch=UNWATCHED) as reranker:
            await reranker.rerank(QUERY, PAIRS)


async def test_weights_dimensions_and_prefixes_tell_models_apart(tmp_path):
    shutil.copytree(minilm(), tmp_path / "model")
    fingerprints = []
    for source, own in (
        (minilm(), {}),
        (tmp_path / "model", {}),
        (minilm(), {"query_prefix": "query: "}),
        (minilm(), {"passage_prefix": "query: "}),
        (minilm(), {"dimensions": 128}),
        (widened_embedder(), {}),
    ):
        async with open_torch_embedder(str(source), watch=UNWATCHED, **own) as embedder:
            info = await embedder.info()
            fingerprints.append(info.fingerprint)
            assert info.dimensions == own.get("dimensions", 384)
            assert -0.2 < info.cosine_mean < info.cosine_high < 1
    assert fingerprints[0] == fingerprints[1]
    assert len(set(fingerprints)) == 5


async def test_prompts_of_the_model_itself_are_used_and_settings_win(tmp_path):
    folder = tmp_path / "prompted"
    shutil.copytree(minilm(), folder)
    path = folder / "config_sentence_transformers.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"prompts": {"query": "query: ", "document": "text: "}}))
    async with (
        open_torch_embedder(str(minilm()), query_prefix="query: ", passage_prefix="text: ", watch=UNWATCHED) as set_so,
        open_torch_embedder(str(folder), watch=UNWATCHED) as own,
        open_torch_embedder(str(folder), query_prefix="", passage_prefix="", watch=UNWATCHED) as without,
        open_torch_embedder(str(minilm()), watch=UNWATCHED) as plain,
    ):
        for kind in EmbedKind:
            assert await own.embed(TEXTS, kind) == await set_so.embed(TEXTS, kind)
            assert await without.embed(TEXTS, kind) == await plain.embed(TEXTS, kind)
            assert await own.embed(TEXTS, kind) != await plain.embed(TEXTS, kind)


@pytest.mark.parametrize("opening", [open_torch_embedder, open_torch_reranker])
async def test_what_is_no_model_is_named(opening, tmp_path, monkeypatch):
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    (tmp_path / "empty").mkdir()
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "config.json").write_text("{")
    (tmp_path / "weightless").mkdir()
    shutil.copy(minilm() / "config.json", tmp_path / "weightless")
    for source in ("empty", "broken", "weightless", "missing"):
        with pytest.raises(NotReady, match=source):
            async with opening(str(tmp_path / source), watch=UNWATCHED):
                pass
    with pytest.raises(NotReady, match=r"'no-one/no-model' cannot be loaded.*hub"):
        async with opening("no-one/no-model", watch=UNWATCHED):
            pass


async def test_a_model_of_another_kind_is_no_reranker():
    with pytest.raises(NotReady, match="is no cross-encoder but BertModel"):
        async with open_torch_reranker(str(minilm()), watch=UNWATCHED):
            pass


async def test_a_model_that_says_several_things_is_no_reranker(tmp_path):
    folder = tmp_path / "three"
    shutil.copytree(widened_reranker(), folder)
    path = folder / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"num_labels": 3}))
    tensors = load_file(folder / "model.safetensors")
    heads = {name: tensor for name, tensor in tensors.items() if name.startswith("classifier")}
    tensors |= {name: torch.cat([tensor] * 3) for name, tensor in heads.items()}
    save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(NotReady, match="3 things"):
        async with open_torch_reranker(str(folder), watch=UNWATCHED):
            pass


@pytest.mark.parametrize("device", ["cuda", "cuda:7", "mps", "xpu"])
def test_a_device_that_is_not_there_is_said_not_to_be(device):
    if device == "cuda" and torch.cuda.is_available():
        pytest.skip("it is there")
    with pytest.raises(InvalidArgument) as caught:
        check_device(device)
    [violation] = caught.value.violations
    assert violation.field == "device"
    assert f"{device!r} is not there" in violation.description
    assert "torch 2" in violation.description


async def test_batches_are_watched_as_those_of_any_model():
    class Watch:
        batches = 0

        def queued(self, _waiting):
            pass

        def ran(self, _together):
            pass

        def done(self, _waited_s, _ran_s):
            self.batches += 1

    watch = Watch()
    async with open_torch_embedder(str(minilm()), batch_size=4, watch=watch) as embedder:
        before = watch.batches
        await embedder.embed(tuple(f"text {number}" for number in range(10)), EmbedKind.PASSAGE)
        assert watch.batches - before == 3
