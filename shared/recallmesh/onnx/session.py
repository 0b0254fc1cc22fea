"""One ONNX graph in memory."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import onnxruntime
from numpy.typing import NDArray
from onnxruntime.capi import onnxruntime_pybind11_state as native

from recallmesh.core.errors import FieldViolation, InvalidArgument, StoreUnavailable
from recallmesh.onnx.row import Row

CPU, CUDA = "CPUExecutionProvider", "CUDAExecutionProvider"
"""What the runtime calls those who compute."""

FAULTS: tuple[type[Exception], ...] = (
    native.Fail,
    native.InvalidArgument,
    native.InvalidGraph,
    native.InvalidProtobuf,
    native.NoModel,
    native.NoSuchFile,
    native.NotImplemented,
    native.RuntimeException,
)
"""What the runtime raises; its classes share no parent of their own."""

OF_EACH_TOKEN = 3
"""The dimensions of an output that tells of each token, not of each row alone."""


class OnnxSession:
    """Runs a graph; one row by itself gives the same numbers, bit for bit, from any thread.

    Of rows that are run together that cannot be said: dynamically quantised graphs scale activations by the whole
    tensor, so whatever else is in it, padding included, changes the result (ADR 0009).
    """

    def __init__(self, path: Path, device: str = "cpu") -> None:
        """Load the graph; takes part of a second, so not on the event loop.

        Raises:
            InvalidArgument: the device is not there.
            StoreUnavailable: the graph is broken.

        """
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1  # several runs at once scale better than one run on several threads
        options.inter_op_num_threads = 1
        options.enable_mem_pattern = False  # every text has another length: plans would pile up unused
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        try:
            self._session = onnxruntime.InferenceSession(str(path), options, providers=_providers(device))
        except FAULTS as error:
            raise StoreUnavailable(f"model {path.parent.name!r} cannot be loaded") from error
        if device != "cpu" and self._session.get_providers()[0] == CPU:  # the runtime takes the CPU without a word
            raise _missing(device, "no such device could be opened: the runtime's own lines above say why")
        self._inputs = frozenset(entry.name for entry in self._session.get_inputs())

    def run(self, rows: Sequence[Row], *, pad: int = 0) -> list[NDArray[np.float32]]:
        """Return the graph's first output for each row, that of padding left out; ``pad`` is what fills up short rows.

        Raises:
            StoreUnavailable: the graph refuses them.

        """
        lengths = [len(row.ids) for row in rows]
        shape = (len(rows), max(lengths))
        tokens, mask, types = np.full(shape, pad, np.int64), np.zeros(shape, np.int64), np.zeros(shape, np.int64)
        for place, (row, length) in enumerate(zip(rows, lengths, strict=True)):
            tokens[place, :length] = row.ids
            types[place, :length] = row.type_ids
            mask[place, :length] = 1
        feed = {"input_ids": tokens, "attention_mask": mask, "token_type_ids": types}
        try:
            output = self._session.run(None, {name: feed[name] for name in self._inputs & feed.keys()})[0]
        except FAULTS as error:
            raise StoreUnavailable("the model refused its input") from error
        found: NDArray[np.float32] = np.asarray(output, dtype=np.float32)
        if found.ndim < OF_EACH_TOKEN:
            return list(found)
        return [each[:length] for each, length in zip(found, lengths, strict=True)]


def _providers(device: str) -> list[str | tuple[str, dict[str, str]]]:
    kind, _, number = device.partition(":")
    if kind == "cpu":
        return [CPU]
    if kind != "cuda":
        raise _missing(device, "backend onnx computes on cpu and cuda")
    if CUDA not in (there := onnxruntime.get_available_providers()):
        said = f"this ONNX Runtime has {', '.join(there)} alone; with a GPU, install onnxruntime-gpu in its place"
        raise _missing(device, said)
    return [(CUDA, {"device_id": number or "0"}), CPU]


def _missing(device: str, why: str) -> InvalidArgument:
    return InvalidArgument(FieldViolation("device", f"{device!r} is not there: {why}"))
