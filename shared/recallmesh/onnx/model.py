"""A model ready to be run: its graph, its tokenizer, and the hash that identifies both."""

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING

from recallmesh.core.errors import StoreUnavailable
from recallmesh.onnx.files import ModelFiles

if TYPE_CHECKING:
    from tokenizers import Tokenizer

    from recallmesh.onnx.session import OnnxSession


@dataclass(frozen=True, slots=True)
class OnnxModel:
    """What the adapters run; both parts may be used from several threads at once."""

    session: "OnnxSession"
    tokenizer: "Tokenizer"
    digest: str
    pad: int = 0
    """The token that fills up what is shorter than its batch."""


async def load_model(files: ModelFiles, device: str = "cpu") -> OnnxModel:
    """Load a model off the event loop, to compute on a device: ``cpu``, ``cuda`` or one of several as ``cuda:1``.

    Raises:
        InvalidArgument: the device is not there.
        StoreUnavailable: a file is broken, or the runtime is not installed.

    """
    return await asyncio.to_thread(_load, files, device)


def _load(files: ModelFiles, device: str) -> OnnxModel:
    try:
        # The runtime takes most of a second to import: here it does so off the event loop, and only where it is used.
        from recallmesh.onnx.session import OnnxSession  # noqa: PLC0415
        from recallmesh.onnx.tokenizer import load_tokenizer, padding  # noqa: PLC0415
    except ModuleNotFoundError as error:
        raise StoreUnavailable(f"{error.name} is not installed: install recallmesh[onnx]") from error
    tokenizer = load_tokenizer(files.tokenizer)
    return OnnxModel(OnnxSession(files.model, device), tokenizer, files.digest(), padding(tokenizer))
