"""The stores by compose: reachable from this machine alone, watched, kept, and of the versions that tests run."""

from pathlib import Path

import pytest
import yaml
from store_servers import neo4j, opensearch
from store_servers.maven import pinned

FILE = Path(__file__).parents[2] / "deploy" / "compose.stores.yaml"
COMPOSE = yaml.safe_load(FILE.read_text(encoding="utf-8"))
SERVICES = COMPOSE["services"]


def test_there_are_the_four_stores():
    assert sorted(SERVICES) == ["neo4j", "opensearch", "postgres", "qdrant"]


@pytest.mark.parametrize("name", sorted(SERVICES))
def test_each_listens_on_loopback_is_watched_and_keeps_its_data(name):
    service = SERVICES[name]
    assert all(port.startswith("127.0.0.1:") for port in service["ports"])
    assert service["healthcheck"]["test"]
    assert [volume.partition(":")[0] for volume in service["volumes"]] == [name]
    assert name in COMPOSE["volumes"]


def test_they_are_of_the_versions_that_tests_run():
    tags = {name: service["image"].partition(":")[2] for name, service in SERVICES.items()}
    assert tags["opensearch"] == pinned(opensearch.POM, "opensearch.version")
    assert pinned(neo4j.POM, "neo4j.version").startswith(tags["neo4j"].partition("-")[0])
