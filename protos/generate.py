# ruff: noqa: INP001, T201 - a script, no package
"""Writes shared/recallmesh/v1 from the protos: messages, services and their types. ``--check`` compares instead."""

import sys
import tempfile
from importlib.resources import files
from pathlib import Path

from grpc_tools import protoc

ROOT = Path(__file__).resolve().parent.parent
PROTOS = ROOT / "protos"
OUT = ROOT / "shared"
PLACE = Path("recallmesh") / "v1"
KINDS = ("__init__.py", "*_pb2.py", "*_pb2.pyi", "*_pb2_grpc.py", "*_pb2_grpc.pyi")
MARKER = '"""Generated from protos/recallmesh/v1 by protos/generate.py; never edited."""\n'


def generate(out: Path) -> int:
    """Generate everything below a folder; what no proto makes any more is deleted."""
    place = out / PLACE
    place.mkdir(parents=True, exist_ok=True)
    for old in generated(place):
        old.unlink()
    (place / "__init__.py").write_text(MARKER, encoding="utf-8")
    plugins = Path(sys.executable).parent
    services = sorted(str(path) for path in (PROTOS / PLACE).glob("*_service.proto"))
    nouns = sorted(str(path) for path in (PROTOS / PLACE).glob("*.proto") if str(path) not in services)
    shared = [
        "protoc",
        f"--proto_path={PROTOS}",
        f"--proto_path={files('grpc_tools') / '_proto'}",
        # google/rpc and google/type, whose sources googleapis-common-protos carries in site-packages.
        f"--proto_path={Path(protoc.__file__).parent.parent}",
        f"--plugin=protoc-gen-mypy={plugins / 'protoc-gen-mypy'}",
        f"--plugin=protoc-gen-mypy_grpc={plugins / 'protoc-gen-mypy_grpc'}",
        f"--python_out={out}",
        f"--mypy_out=quiet:{out}",
    ]
    # Concrete servicers: a method without an implementation answers UNIMPLEMENTED.
    grpc = [f"--grpc_python_out={out}", f"--mypy_grpc_out=quiet,generate_concrete_servicer_stubs:{out}"]
    return int(protoc.main([*shared, *nouns]) or protoc.main([*shared, *grpc, *services]))


def generated(place: Path) -> list[Path]:
    """Return the generated files of a folder."""
    return sorted(path for kind in KINDS for path in place.glob(kind))


def check() -> int:
    """Generate beside and name every file that differs from what is there."""
    with tempfile.TemporaryDirectory() as beside:
        status = generate(Path(beside))
        wanted = {path.name: path.read_bytes() for path in generated(Path(beside) / PLACE)}
    there = {path.name: path.read_bytes() for path in generated(OUT / PLACE)}
    stale = sorted(name for name in wanted | there if wanted.get(name) != there.get(name))
    for name in stale:
        print(f"{OUT.name}/{PLACE}/{name} is not what the protos make: run make gen")
    return status or bool(stale)


if __name__ == "__main__":
    sys.exit(check() if sys.argv[1:] == ["--check"] else generate(OUT))
