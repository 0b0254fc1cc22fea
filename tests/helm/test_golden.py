"""What the chart renders is what it rendered before; `make chart-golden` renews that, for the eye to read."""

import difflib
import os
from pathlib import Path

import pytest
from rendering import BUNDLED, CHART

HERE = Path(__file__).parent
CASES = {
    "embedded": CHART / "examples" / "embedded.yaml",
    "bundled": CHART / "examples" / "bundled.yaml",
    "everything": HERE / "values" / "everything.yaml",
}
RENEW = "RECALLMESH_TEST_RENEW"


@pytest.mark.parametrize("name", sorted(CASES))
def test_it_renders_as_it_did(helm, name):
    # Passwords and keys that would be made anew each time are given, or kept elsewhere.
    given = {"stores": BUNDLED} if name == "bundled" else {}
    made = helm.print(CASES[name], {**given, "auth": {"existingSecret": "callers"}})
    golden = HERE / "golden" / f"{name}.yaml"
    if os.environ.get(RENEW):
        golden.write_text(made, encoding="utf-8")
    kept = golden.read_text(encoding="utf-8")
    if made != kept:
        lines = difflib.unified_diff(kept.splitlines(), made.splitlines(), "as it was", "as it is", lineterm="", n=4)
        pytest.fail("\n".join(("as it should be? make chart-golden", *lines)), pytrace=False)
