"""The client in Rust: built by its own tools, run against a mesh."""

import pytest
from clients.tour import Client, run_against_nobody, run_tour

RUST = Client(
    "rust",
    tools=("cargo",),
    build=(
        ("cargo", "build", "--locked", "--quiet", "--example", "tour"),
        ("cargo", "test", "--locked", "--test", "calls"),
    ),
    command=("target/debug/examples/tour",),
)
pytestmark = [pytest.mark.clients, pytest.mark.timeout(900)]


async def test_the_tour_in_rust_does_all_that_a_client_has_to(served):
    await run_tour(RUST, served)


async def test_the_tour_in_rust_says_when_there_is_no_mesh():
    await run_against_nobody(RUST)
