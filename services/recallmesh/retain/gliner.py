"""Names by a GLiNER model in ONNX form, run by fast-gliner without torch."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, Protocol

from recallmesh.core.errors import NotReady, StoreUnavailable
from recallmesh.retain.extraction import FoundName

# What the model is asked for, in words that it was trained with.
KINDS: Mapping[str, str] = MappingProxyType(
    {"person": "person", "organization": "organisation", "location": "place", "product": "product"}
)
_LEAST_SCORE = 0.5


class Spans(Protocol):
    """What of a GLiNER runtime is used."""

    def predict_entities(self, input_text: list[str], labels: list[str]) -> list[list[dict[str, Any]]]:
        """Return each text's spans: ``text``, ``label``, ``score``, ``start``."""
        ...


class GlinerNameFinder:
    """Finds names with a GLiNER model; what it believes to less than one half is left out."""

    def __init__(self, model: Spans, name: str) -> None:
        """Take a loaded model and what it is called."""
        self._model = model
        self.fingerprint = f"gliner-{name}"

    def find(self, texts: Sequence[str]) -> tuple[tuple[FoundName, ...], ...]:
        """Return each text's names in order."""
        if not texts:
            return ()
        try:
            found = self._model.predict_entities(list(texts), list(KINDS))
        except (RuntimeError, ValueError) as error:
            raise StoreUnavailable("the GLiNER model failed") from error
        return tuple(
            tuple(
                FoundName(span["text"].strip(), KINDS[span["label"]])
                for span in sorted(spans, key=lambda one: int(one["start"]))
                if span["score"] >= _LEAST_SCORE
            )
            for spans in found
        )


def load_gliner(folder: Path) -> GlinerNameFinder:
    """Load a model from a folder with ``tokenizer.json``, ``gliner_config.json`` and one ONNX file; nothing is fetched.

    Raises:
        NotReady: the folder is not there, or holds no such model.

    """
    from fast_gliner import FastGLiNER  # noqa: PLC0415 - an extra that keeps no company with the models of others

    if not folder.is_dir():
        raise NotReady(f"there is no folder {folder} with a GLiNER model")
    try:
        return GlinerNameFinder(FastGLiNER.from_pretrained(str(folder)), folder.name)
    except (OSError, RuntimeError, ValueError) as error:
        raise NotReady(f"the folder {folder} holds no GLiNER model in ONNX form") from error
