"""Torch, as far as it is asked itself: which devices there are, and what a model's weights are."""

import hashlib

import torch

from recallmesh.core.errors import FieldViolation, InvalidArgument


def check_device(device: str) -> None:
    """Return if torch can compute on a device: ``cpu``, ``cuda``, ``cuda:1``, ``mps``, ``xpu``.

    Raises:
        InvalidArgument: it cannot here; says what there is.

    """
    kind, _, number = device.partition(":")
    count = {
        "cpu": lambda: 1,
        "cuda": torch.cuda.device_count,
        "mps": lambda: int(torch.backends.mps.is_available()),
        "xpu": lambda: torch.xpu.device_count() if torch.xpu.is_available() else 0,
    }[kind]()
    if int(number or 0) < count:
        return
    made_for = torch.version.cuda or torch.version.hip or "the CPU alone"
    there = f"only {count} of {kind}" if count else f"none of {kind}"
    said = f"{device!r} is not there: torch {torch.__version__}, made for {made_for}, finds {there}"
    raise InvalidArgument(FieldViolation("device", said))


def weights(model: torch.nn.Module) -> str:
    """Return a hash of all numbers of a model; reading them takes about a second a gigabyte."""
    total = hashlib.sha256()
    for name, tensor in sorted(model.state_dict().items()):
        total.update(f"{name} {tensor.dtype} {tuple(tensor.shape)}".encode())
        total.update(tensor.detach().cpu().contiguous().reshape(-1).view(torch.uint8).numpy().data)
    return total.hexdigest()
