"""The packaged int8 models with their weights as floats, for torch: no model hub is needed for a real cross-encoder."""

import functools
import json
import shutil
import tempfile
from pathlib import Path

import onnx
import torch
from onnx import numpy_helper
from safetensors.torch import save_file

from recallmesh.embedder.onnx import PACKAGED as EMBEDDER
from recallmesh.onnx.files import ModelFiles, model_files
from recallmesh.reranker.onnx import PACKAGED as RERANKER

ENDINGS = {"weight": "_quantized", "scale": "_scale", "zero": "_zero_point"}
BERT = {
    "model_type": "bert",
    "hidden_act": "gelu",
    "hidden_size": 384,
    "intermediate_size": 1536,
    "layer_norm_eps": 1e-12,
    "max_position_embeddings": 512,
    "num_attention_heads": 12,
    "num_hidden_layers": 12,
    "type_vocab_size": 2,
    "vocab_size": 30522,
}


@functools.cache
def widened_reranker() -> Path:
    """Return a folder with the packaged cross-encoder as transformers keep one."""
    return _folder(RERANKER, {**BERT, "architectures": ["BertForSequenceClassification"], "num_labels": 1})


@functools.cache
def widened_embedder() -> Path:
    """Return a folder with the packaged bi-encoder as sentence-transformers keep one."""
    folder = _folder(EMBEDDER, {**BERT, "architectures": ["BertModel"]})
    modules = [
        {"idx": 0, "name": "0", "path": "", "type": "sentence_transformers.models.Transformer"},
        {"idx": 1, "name": "1", "path": "1_Pooling", "type": "sentence_transformers.models.Pooling"},
    ]
    (folder / "modules.json").write_text(json.dumps(modules))
    (folder / "sentence_bert_config.json").write_text(json.dumps({"max_seq_length": 512, "do_lower_case": True}))
    (folder / "1_Pooling").mkdir()
    pooling = {"word_embedding_dimension": 384, "pooling_mode_cls_token": True, "pooling_mode_mean_tokens": False}
    (folder / "1_Pooling" / "config.json").write_text(json.dumps(pooling))
    return folder


def weights(path: Path) -> dict[str, torch.Tensor]:
    """Return a graph's weights by the names that they have in torch."""
    graph = onnx.load(path).graph
    held = {one.name: torch.from_numpy(numpy_helper.to_array(one).copy()) for one in graph.initializer}
    found = {name: tensor for name, tensor in held.items() if name.endswith((".weight", ".bias"))}
    for name in held:
        if name.endswith(ENDINGS["weight"]) and ".weight" in name:
            tensor = _wide(held, name)
            # What torch multiplies by, the graph has turned; what it looks up, not.
            found[name.removesuffix(ENDINGS["weight"])] = tensor if "embeddings" in name else tensor.T.contiguous()
    for node in graph.node:
        if node.op_type == "MatMulInteger" and node.input[1].startswith("onnx::"):
            name = node.name.removesuffix("/MatMul_quant").strip("/").replace("/", ".")
            found[f"{name}.weight"] = _wide(held, node.input[1]).T.contiguous()
    return found


def _wide(held: dict[str, torch.Tensor], name: str) -> torch.Tensor:
    stem = name.removesuffix(ENDINGS["weight"])
    return (held[name].float() - held[stem + ENDINGS["zero"]].float()) * held[stem + ENDINGS["scale"]]


def _folder(packaged: str, config: dict) -> Path:
    files: ModelFiles = model_files(None, packaged=packaged)
    folder = Path(tempfile.mkdtemp(prefix=f"{packaged}-"))
    save_file(weights(files.model), folder / "model.safetensors", metadata={"format": "pt"})
    (folder / "config.json").write_text(json.dumps(config))
    for path in files.directory.iterdir():
        if path.name.startswith(("tokenizer", "vocab", "special_tokens")):
            shutil.copy(path, folder)
    return folder
