"""The shape of the code: small rooms with names of their own."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
MODULES = [
    path
    for top in ("services", "shared")
    for path in sorted((ROOT / top).rglob("*.py"))
    if "v1" not in path.relative_to(ROOT).parts
]
DRAWERS = re.compile(r"(utils?|helpers?|common|misc|manager|engine|base|impl)\.py")


def test_there_are_modules_to_look_at() -> None:
    assert len(MODULES) > 50


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(ROOT)))
def test_no_module_is_longer_than_400_lines(path: Path) -> None:
    assert len(path.read_text(encoding="utf-8").splitlines()) <= 400


def test_no_module_is_a_drawer() -> None:
    assert [path for path in MODULES if DRAWERS.fullmatch(path.name)] == []


def test_the_namespace_has_no_init() -> None:
    assert not (ROOT / "services/recallmesh/__init__.py").exists()
    assert not (ROOT / "shared/recallmesh/__init__.py").exists()


def test_every_package_says_what_it_is_for() -> None:
    silent = [
        path
        for path in MODULES
        if path.name == "__init__.py" and not path.read_text(encoding="utf-8").startswith('"""')
    ]
    assert silent == []


def test_broad_except_stands_in_two_places_only() -> None:
    found = {
        str(path.relative_to(ROOT))
        for path in MODULES
        if re.search(r"except (Base)?Exception\b", path.read_text(encoding="utf-8"))
    }
    assert found == {"shared/recallmesh/telemetry/guard.py", "shared/recallmesh/rpc/interceptor.py"}


def test_only_the_faces_import_the_composition_root() -> None:
    # import-linter takes packages alone as roots; these are modules of the namespace.
    faces = {
        "services/recallmesh/mesh.py",
        "services/recallmesh/serve.py",
        "services/recallmesh/doorway.py",
        "services/recallmesh/parts.py",
        "services/recallmesh/encoders.py",
        "services/recallmesh/facts.py",
        "services/recallmesh/retaining.py",
        "services/recallmesh/stores.py",
        "services/recallmesh/building.py",
        "services/recallmesh/part.py",
    }
    importing = {
        str(path.relative_to(ROOT))
        for path in MODULES
        if re.search(
            r"^\s*(from|import) recallmesh\.(mesh|parts|serve|settings)\b", path.read_text("utf-8"), re.MULTILINE
        )
    }
    assert {path for path in importing - faces if not path.startswith("services/recallmesh/cli/")} == set()


def test_the_command_line_imports_no_heavy_client() -> None:
    script = (
        "import sys, recallmesh.cli;"
        "heavy = {'grpc', 'onnxruntime', 'numpy', 'sqlalchemy', 'qdrant_edge', 'rich', 'pydantic'} & set(sys.modules);"
        "print(sorted(heavy))"
    )
    printed = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True)
    assert printed.stdout.strip() == "[]"
