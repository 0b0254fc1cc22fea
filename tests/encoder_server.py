"""A server of encoders on loopback: speaks the protocols of TEI and of OpenAI's embeddings over models of ours."""

import json
import math
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from endpoint import Act, Endpoint, open_endpoint, sends

from recallmesh.core.encoder import Embedder, EmbedKind, Reranker

NAME = "BAAI/bge-small-en-v1.5"
PAYLOAD_BYTES = 2_000_000
"""The largest request that TEI takes by default."""


@dataclass
class EncoderServer:
    """What answers, by these models; ``most`` is how many texts one request may have, ``key`` what it asks for."""

    embedder: Embedder | None = None
    reranker: Reranker | None = None
    most: int = 32
    key: str = ""
    name: str = NAME
    more: dict = field(default_factory=dict)

    @property
    def info(self) -> dict:
        kind = "reranker" if self.embedder is None else "embedding"
        said = {"pooling": "cls"} if kind == "embedding" else {"id2label": {"0": "LABEL_0"}, "label2id": {"LABEL_0": 0}}
        return {
            "model_id": self.name,
            "model_sha": None,
            "model_dtype": "float32",
            "model_type": {kind: said},
            "max_concurrent_requests": 512,
            "max_input_length": 512,
            "max_batch_tokens": 16384,
            "max_batch_requests": None,
            "max_client_batch_size": self.most,
            "auto_truncate": False,
            "tokenization_workers": 2,
            "version": "1.8.2",
            **self.more,
        }

    async def __call__(self, asked, writer) -> None:
        await (await self._answer(asked))(asked, writer)

    async def _answer(self, asked) -> Act:
        if self.key and asked.headers.get("authorization") != f"bearer {self.key.lower()}":
            return sends(b"", 401)
        match asked.path:
            case "/health":
                return sends(b"")
            case "/info":
                return sends(self.info)
            case "/embed" | "/rerank" | "/v1/embeddings":
                if len(json.dumps(asked.body)) > PAYLOAD_BYTES:
                    return sends(b"Failed to buffer the request body: length limit exceeded", 413)
                return await getattr(self, f"_{asked.path.rpartition('/')[2]}")(asked.body)
        return sends(b"", 404)

    async def _embed(self, body) -> Act:
        texts = [body["inputs"]] if isinstance(body["inputs"], str) else body["inputs"]
        if refused := self._refused(texts, "inputs"):
            return refused
        if self.embedder is None:
            return complains("model is not an embedding model", "Backend", 424)
        assert body["truncate"], "a text beyond the window would be refused"
        return sends(await self._vectors(texts))

    async def _embeddings(self, body) -> Act:
        assert body["encoding_format"] == "float"
        texts = [body["input"]] if isinstance(body["input"], str) else body["input"]
        if len(texts) > self.most or not all(texts):
            error = {"message": "'$.input' is too long" if all(texts) else "'$.input' is empty", "type": "invalid"}
            return sends({"error": error}, 400)
        rows = [
            {"object": "embedding", "index": index, "embedding": vector}
            for index, vector in enumerate(await self._vectors(texts))
        ]
        usage = {"prompt_tokens": 1, "total_tokens": 1}
        # An order is promised by the index alone.
        return sends({"object": "list", "data": rows[::-1], "model": self.name, "usage": usage})

    async def _rerank(self, body) -> Act:
        if refused := self._refused(body["texts"], "texts"):
            return refused
        if self.reranker is None:
            return complains("model is not a re-ranker model", "Backend", 424)
        scores = await self.reranker.rerank(body["query"], tuple(body["texts"]))
        if not body["raw_scores"]:
            scores = [1 / (1 + math.exp(-score)) for score in scores]
        ranks = [{"index": index, "score": single(score)} for index, score in enumerate(scores)]
        return sends(sorted(ranks, key=lambda rank: -rank["score"]))

    def _refused(self, texts, what) -> Act | None:
        if not all(texts):
            return complains(f"Input validation error: `{what}` cannot be empty", "Empty", 400)
        if len(texts) > self.most:
            return complains(f"batch size {len(texts)} > maximum allowed batch size {self.most}", "Validation", 413)
        return None

    async def _vectors(self, texts) -> list[list[float]]:
        vectors = await self.embedder.embed(tuple(texts), EmbedKind.PASSAGE)
        return [[single(value) for value in vector] for vector in vectors]


class LetterEmbedder:
    """Embeds a text by its letters: another text, another direction."""

    def __init__(self):
        self.batches = []

    async def embed(self, texts, _kind):
        self.batches.append(texts)
        return tuple(tuple(3.0 * (1 + text.count(letter)) for letter in "abcdefgh") for text in texts)


class LengthReranker:
    """Scores a text by how long it is, raw."""

    def __init__(self):
        self.batches = []

    async def rerank(self, _query, texts):
        self.batches.append(texts)
        return tuple(len(text) - 20.5 for text in texts)


def single(value: float) -> float:
    """Write a number of 32 bits as the servers do: by as few digits as tell it apart."""
    return float(f"{value:.9g}")


def complains(message: str, kind: str, status: int) -> Act:
    return sends({"error": message, "error_type": kind}, status)


@asynccontextmanager
async def open_encoder_server(server: EncoderServer, *script: Act) -> AsyncIterator[Endpoint]:
    """Open it, at ``url`` for OpenAI's protocol and at ``tei`` for TEI's; acts of the script come first."""
    async with open_endpoint(*script, always=server) as endpoint:
        yield endpoint


def tei_url(endpoint: Endpoint) -> str:
    return endpoint.url.removesuffix("/v1")
