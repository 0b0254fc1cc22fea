"""The images that tests run, built once."""

import os

import pytest

from images.podman import missing, open_engine

ASKED = os.environ.get("RECALLMESH_TEST_IMAGES", "")
"""Which images: ``few`` or ``all``, as `make images-test` says."""
PARTS = ("embedder", "reranker", "semantic", "keyword", "graph", "temporal", "recall", "retain", "bank")
BUILT = {"": (), "few": ("keyword", "all"), "all": ("all", *PARTS, "door")}[ASKED]


@pytest.fixture(scope="session")
def engine(tmp_path_factory):
    """Podman with the images in it, whose versions are ``test``; only where somebody asked for them.

    Where nothing can run containers the tests are left out; in CI that is a failure.
    """
    if not ASKED:
        pytest.skip("make images-test runs it, which takes minutes")
    if reason := missing():
        (pytest.fail if "CI" in os.environ else pytest.skip)(reason)
    with open_engine(tmp_path_factory.mktemp("engine")) as opened:
        opened.build(BUILT)
        yield opened


def pytest_generate_tests(metafunc):
    """Run what takes an image for each that is built; nothing is built where nobody asked."""
    if "image" in metafunc.fixturenames:
        metafunc.parametrize("image", BUILT or ("none",))
