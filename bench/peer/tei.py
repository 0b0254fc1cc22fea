"""``python -m bench.peer.tei PORT``: the packaged models behind the HTTP interface of Text Embeddings Inference.

The peer has no models of its own without a hub; it asks such a server. Texts are run in batches sorted by length, which
is the fastest way to run these models on a CPU; this mesh runs them one by one (ADR 9). Nothing is remembered.
"""

import asyncio
import json
import math
import os
import sys
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import onnxruntime
import uvicorn
from numpy.typing import NDArray
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from tokenizers import Encoding

from recallmesh.embedder.onnx import PACKAGED as BI_ENCODER
from recallmesh.onnx.files import model_files
from recallmesh.onnx.tokenizer import load_tokenizer
from recallmesh.reranker.onnx import PACKAGED as CROSS_ENCODER

BATCH = 32
MOST_TOKENS = 512


class Model:
    """A graph, its tokenizer and a thread that runs it."""

    def __init__(self, name: str) -> None:
        files = model_files(None, packaged=name)
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = len(os.sched_getaffinity(0))
        options.inter_op_num_threads = 1
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        self._session = onnxruntime.InferenceSession(str(files.model), options, providers=["CPUExecutionProvider"])
        self._inputs = {entry.name for entry in self._session.get_inputs()}
        self._tokenizer = load_tokenizer(files.tokenizer)
        self._tokenizer.enable_truncation(MOST_TOKENS)
        self.thread = ThreadPoolExecutor(1)

    def run(self, texts: list[Any]) -> list[NDArray[np.float32]]:
        """Return the graph's first output for each text, or pair of texts."""
        read = self._tokenizer.encode_batch(texts)
        order = sorted(range(len(read)), key=lambda place: len(read[place].ids))
        found: dict[int, NDArray[np.float32]] = {}
        for first in range(0, len(order), BATCH):
            places = order[first : first + BATCH]
            found.update(zip(places, self._batch([read[place] for place in places]), strict=True))
        return [found[place] for place in range(len(texts))]

    def _batch(self, read: list[Encoding]) -> NDArray[np.float32]:
        longest = max(len(each.ids) for each in read)
        columns = {name: np.zeros((len(read), longest), np.int64) for name in self._inputs}
        for row, each in enumerate(read):
            told = {"input_ids": each.ids, "attention_mask": each.attention_mask, "token_type_ids": each.type_ids}
            for name, column in columns.items():
                column[row, : len(each.ids)] = told[name]
        output: NDArray[np.float32] = self._session.run(None, columns)[0]
        return output


def embed(model: Model, asked: dict[str, Any]) -> list[list[float]]:
    """Answer ``/embed``: vectors of unit length, of the first token."""
    texts = [asked["inputs"]] if isinstance(asked["inputs"], str) else asked["inputs"]
    vectors = np.stack([output[0] for output in model.run(texts)])
    if asked.get("normalize", True):
        vectors /= np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)
    rows: list[list[float]] = vectors.tolist()
    return rows


def rerank(model: Model, asked: dict[str, Any]) -> list[dict[str, float]]:
    """Answer ``/rerank``: scores, the highest first, as probabilities unless raw ones are asked for."""
    raw = [float(output[0]) for output in model.run([(asked["query"], text) for text in asked["texts"]])]
    scores = raw if asked.get("raw_scores") else [1 / (1 + math.exp(-score)) for score in raw]
    return [{"index": place, "score": scores[place]} for place in sorted(range(len(raw)), key=lambda n: -raw[n])]


def application() -> Starlette:
    """Return the server with both models loaded."""
    embedder, reranker = Model(BI_ENCODER), Model(CROSS_ENCODER)

    async def info(_: Request) -> Response:
        return _json({"model_id": f"{BI_ENCODER}+{CROSS_ENCODER}", "max_input_length": MOST_TOKENS})

    async def health(_: Request) -> Response:
        return Response("ok")

    async def embedding(request: Request) -> Response:
        asked, loop = json.loads(await request.body()), asyncio.get_running_loop()
        return _json(await loop.run_in_executor(embedder.thread, embed, embedder, asked))

    async def reranking(request: Request) -> Response:
        asked, loop = json.loads(await request.body()), asyncio.get_running_loop()
        return _json(await loop.run_in_executor(reranker.thread, rerank, reranker, asked))

    return Starlette(
        routes=[
            Route("/info", info),
            Route("/health", health),
            Route("/embed", embedding, methods=["POST"]),
            Route("/rerank", reranking, methods=["POST"]),
        ]
    )


def _json(content: object) -> Response:
    return Response(json.dumps(content), media_type="application/json")


if __name__ == "__main__":
    uvicorn.run(application(), host="127.0.0.1", port=int(sys.argv[1]), log_level="warning", access_log=False)
