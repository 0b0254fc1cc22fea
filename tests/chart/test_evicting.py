"""Nodes are drained: of each part one pod may leave, and the next once the first is replaced."""

import pytest

from chart.kubernetes import Refused, eventually
from chart.release import STORES

pytestmark = [pytest.mark.chart, pytest.mark.timeout(300)]


@pytest.fixture
def doors(cluster):
    """What closes all nodes to new pods, and opens them again."""
    names = [node["metadata"]["name"] for node in cluster.api.list("nodes")]

    def close(*, closed=True):
        for name in names:
            cluster.api.patch("nodes", name, {"spec": {"unschedulable": closed}})

    yield close
    close(closed=False)


def test_the_second_pod_may_not_leave_before_the_first_is_replaced(release, doors):
    release.install({"stores": STORES})
    for part in release.deployments():
        eventually(lambda part=part: allowed(release, part) == 1)
    doors()
    for part in release.deployments():
        first, second = (pod["metadata"]["name"] for pod in release.pods(part))
        release.api.evict(first, release.namespace)
        with pytest.raises(Refused) as refused:
            release.api.evict(second, release.namespace)
        assert (refused.value.code, refused.value.reason) == (429, "TooManyRequests"), part
        assert "disruption budget" in str(refused.value)
    doors(closed=False)
    for part in release.deployments():
        eventually(lambda part=part: allowed(release, part) == 1)
    second = release.pods("keyword")[0]["metadata"]["name"]
    release.api.evict(second, release.namespace)


def allowed(release, part):
    """Return how many pods of a part may leave now."""
    budget = release.api.get("poddisruptionbudgets", release.object(part), release.namespace)
    return budget.get("status", {}).get("disruptionsAllowed")
