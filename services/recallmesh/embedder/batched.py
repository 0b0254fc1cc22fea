"""The embedder over whatever takes texts in batches: a server, or a runtime that computes several at once."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Protocol

from recallmesh.core.arm import Vector
from recallmesh.core.encoder import EmbedderInfo, EmbedKind
from recallmesh.core.errors import StoreUnavailable
from recallmesh.embedder.calibration import SAMPLE, background
from recallmesh.encoding.batch import Batches, in_batches
from recallmesh.onnx.files import fingerprint
from recallmesh.onnx.text import well_formed

CHARACTERS_PER_TOKEN = 64
"""A text is cut at so many characters for each token of the window: far above what any language needs."""
NOTHING = " "
"""What stands for an empty text, which servers refuse; to a tokenizer it is the same."""


class VectorSource(Protocol):
    """Makes vectors of batches of texts; they need not be of unit length."""

    async def vectors(self, batches: Batches, kind: EmbedKind) -> Sequence[Sequence[Vector]]:
        """Return the vectors of each batch, in order; queries may go ahead of passages.

        Raises:
            StoreUnavailable: the model does not answer, or not as it should.
            NotReady: the model refuses us.
            Overloaded: too much waits for it.
            ArmTimeout: the deadline of the call in hand passed.

        """
        ...

    async def check(self) -> None:
        """Return if the model can be asked."""
        ...


@dataclass(frozen=True, slots=True)
class Reading:
    """How texts are given to a model: what stands before them, the window in tokens, the size of a batch."""

    query_prefix: str
    passage_prefix: str
    max_tokens: int
    batch_size: int

    def text(self, text: str, kind: EmbedKind) -> str:
        """Return a text as the model is given it."""
        prefix = self.query_prefix if kind is EmbedKind.QUERY else self.passage_prefix
        return well_formed(prefix + text[: self.max_tokens * CHARACTERS_PER_TOKEN]) or NOTHING


class BatchedEmbedder:
    """Embeds texts in batches of a set size; equal texts of a call once."""

    def __init__(self, source: VectorSource, reading: Reading, info: EmbedderInfo) -> None:
        """Ask this source; ``info`` is what it is."""
        self._source = source
        self._reading = reading
        self._info = info

    async def info(self) -> EmbedderInfo:
        """Tell what the model is."""
        return self._info

    async def embed(self, texts: tuple[str, ...], kind: EmbedKind) -> tuple[Vector, ...]:
        """Return one vector a text, in order; longer texts are truncated to the model's window."""
        given = tuple(self._reading.text(text, kind) for text in texts)
        distinct = tuple(dict.fromkeys(given))
        found = dict(zip(distinct, await embedded(self._source, self._reading, distinct, kind), strict=True))
        wrong = {len(vector) for vector in found.values()} - {self._info.dimensions}
        if wrong:
            raise StoreUnavailable(f"the model makes vectors of {wrong.pop()} dimensions, not {self._info.dimensions}")
        return tuple(found[text] for text in given)

    async def check(self) -> None:
        """Return if the model can be asked."""
        await self._source.check()


async def embedded(
    source: VectorSource, reading: Reading, texts: tuple[str, ...], kind: EmbedKind
) -> tuple[Vector, ...]:
    """Return the vectors of texts as the model is given them, in order."""
    return await in_batches(partial(source.vectors, kind=kind), texts, reading.batch_size)


async def open_batched(
    source: VectorSource, reading: Reading, *, name: str, identity: Sequence[str], dimensions: int | None = None
) -> BatchedEmbedder:
    """Make an embedder over a source: asks it once, which warms it up, and measures what is unrelated to it.

    ``identity`` is what decides its numbers besides how it is given texts.

    Raises:
        StoreUnavailable: the source does not answer, or its vectors have not the ``dimensions`` that were asked for.

    """
    sample = tuple(reading.text(text, EmbedKind.PASSAGE) for text in SAMPLE)
    vectors = await embedded(source, reading, sample, EmbedKind.PASSAGE)
    sizes = {len(vector) for vector in vectors}
    if len(sizes) != 1:
        raise StoreUnavailable("the model makes vectors of different sizes")
    size = sizes.pop()
    if dimensions is not None and size != dimensions:
        raise StoreUnavailable(f"the model makes vectors of {size} dimensions, not {dimensions} as the settings say")
    mean, high = background(vectors)
    meaning = (*identity, reading.query_prefix, reading.passage_prefix, str(reading.max_tokens), str(size))
    info = EmbedderInfo(
        name=name,
        fingerprint=fingerprint(name, *meaning),
        dimensions=size,
        max_tokens=reading.max_tokens,
        cosine_mean=mean,
        cosine_high=high,
    )
    return BatchedEmbedder(source, reading, info)
