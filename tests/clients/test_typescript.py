"""The client in TypeScript: built by its own tools, run against a mesh."""

import pytest
from clients.tour import Client, run_against_nobody, run_tour

TYPESCRIPT = Client(
    "typescript",
    tools=("node", "npm"),
    build=(("npm", "test"),),
    command=("node", "dist/tour/tour.js"),
)
pytestmark = [pytest.mark.clients, pytest.mark.timeout(900)]


async def test_the_tour_in_typescript_does_all_that_a_client_has_to(served):
    await run_tour(TYPESCRIPT, served)


async def test_the_tour_in_typescript_says_when_there_is_no_mesh():
    await run_against_nobody(TYPESCRIPT)
