"""Where results go: one JSON a run, with the shape of the machine and the commit."""

import json
import os
import platform
import shutil
import subprocess
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent / "results"


def machine_shape() -> dict[str, Any]:
    """Say what the figures were measured on, without naming the machine."""
    flags = ""
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        lines = cpuinfo.read_text(encoding="utf-8").splitlines()
        flags = next((line for line in lines if line.startswith("flags")), "")
    pages = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return {
        "cores": os.cpu_count(),
        "memory_gib": round(pages / 2**30),
        "architecture": platform.machine(),
        "vnni": "vnni" in flags,
        "python": platform.python_version(),
        "load_1m": round(os.getloadavg()[0], 1),
    }


def commit() -> str:
    """Return the commit that is measured, marked when the tree differs from it."""
    git = shutil.which("git")
    if git is None:
        return "unknown"
    asked = subprocess.run([git, "describe", "--always", "--dirty"], check=False, capture_output=True, text=True)
    return asked.stdout.strip() or "unknown"


def write_result(name: str, figures: dict[str, Any]) -> Path:
    """Write a run's figures; returns the file."""
    FOLDER.mkdir(exist_ok=True)
    path = FOLDER / f"{name}.json"
    whole = {"measured": f"{datetime.now(UTC):%Y-%m-%d}", "commit": commit(), "machine": machine_shape(), **figures}
    path.write_text(json.dumps(whole, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    return path
