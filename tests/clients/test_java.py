"""The client in Java: built by Maven, run against a mesh."""

import os

import pytest
from clients.tour import Client, run_against_nobody, run_tour

JAVA = Client(
    "java",
    tools=("mvn", "java"),
    build=(("mvn", "-B", "-q", "-ntp", "package"),),
    command=("java", "-cp", os.pathsep.join(("target/classes", "target/lib/*")), "io.recallmesh.tour.Tour"),
)
pytestmark = [pytest.mark.clients, pytest.mark.timeout(900)]


async def test_the_tour_in_java_does_all_that_a_client_has_to(served):
    await run_tour(JAVA, served)


async def test_the_tour_in_java_says_when_there_is_no_mesh():
    await run_against_nobody(JAVA)
