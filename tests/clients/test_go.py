"""The client in Go: built by its own tools, run against a mesh."""

import pytest
from clients.tour import Client, run_against_nobody, run_tour

GO = Client(
    "go",
    tools=("go",),
    build=(("go", "vet", ".", "./cmd/..."), ("go", "test", "."), ("go", "build", "-o", "bin/tour", "./cmd/tour")),
    command=("bin/tour",),
)
pytestmark = [pytest.mark.clients, pytest.mark.timeout(900)]


async def test_the_tour_in_go_does_all_that_a_client_has_to(served):
    await run_tour(GO, served)


async def test_the_tour_in_go_says_when_there_is_no_mesh():
    await run_against_nobody(GO)
