"""One ONNX graph in memory, run on one text at a time."""

from pathlib import Path

import numpy as np
import onnxruntime
from numpy.typing import NDArray
from onnxruntime.capi import onnxruntime_pybind11_state as native

from recallmesh.core.errors import StoreUnavailable

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


class OnnxSession:
    """Runs a graph; the same ids give the same numbers, bit for bit, from any thread.

    Each run holds one text and no padding: dynamically quantised graphs scale activations by the whole tensor,
    so whatever else is in it changes the result (ADR 0009).
    """

    def __init__(self, path: Path) -> None:
        """Load the graph; takes part of a second, so not on the event loop."""
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1  # several runs at once scale better than one run on several threads
        options.inter_op_num_threads = 1
        options.enable_mem_pattern = False  # every text has another length: plans would pile up unused
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        try:
            self._session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
        except FAULTS as error:
            raise StoreUnavailable(f"model {path.parent.name!r} cannot be loaded") from error
        self._inputs = frozenset(entry.name for entry in self._session.get_inputs())

    def run(self, ids: list[int], type_ids: list[int]) -> NDArray[np.float32]:
        """Return the graph's first output for one text, without the batch dimension."""
        tokens = np.array([ids], dtype=np.int64)
        feed = {
            "input_ids": tokens,
            "attention_mask": np.ones_like(tokens),
            "token_type_ids": np.array([type_ids], dtype=np.int64),
        }
        try:
            output = self._session.run(None, {name: feed[name] for name in self._inputs & feed.keys()})[0]
        except FAULTS as error:
            raise StoreUnavailable("the model refused its input") from error
        result: NDArray[np.float32] = np.asarray(output[0], dtype=np.float32)
        return result
