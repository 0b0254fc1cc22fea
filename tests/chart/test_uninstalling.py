"""The chart is taken away: what it made is gone, but for what bundled stores keep memories in, and the keys to it."""

import pytest

from chart.kubernetes import APIS, eventually
from chart.release import BUNDLED, STORES

pytestmark = [pytest.mark.chart, pytest.mark.timeout(300)]
OF_THE_CLUSTER = {
    "apiservices",
    "customresourcedefinitions",
    "namespaces",
    "nodes",
    "persistentvolumes",
    "priorityclasses",
}
NOT_OURS = {"configmaps": {"kube-root-ca.crt"}, "serviceaccounts": {"default"}}
"""What Kubernetes itself puts into every namespace."""
VALUES = {"stores": BUNDLED, "defaults": {"replicas": 1}}


def left(release):
    """Return by kind the names of what is in a release's namespace; what happened there is told on."""
    kinds = sorted(APIS.keys() - OF_THE_CLUSTER - {"events"})
    found = {
        kind: {one["metadata"]["name"] for one in release.api.list(kind, release.namespace)} - NOT_OURS.get(kind, set())
        for kind in kinds
    }
    return {kind: names for kind, names in found.items() if names}


def test_nothing_is_left_of_a_release(release):
    release.install({"stores": STORES, "door": {"enabled": True}})
    assert {"deployments", "networkpolicies", "secrets"} <= left(release).keys()
    release.uninstall()
    eventually(lambda: left(release) == {})


def test_of_bundled_stores_the_volumes_and_their_passwords_are_left_and_fit_again(release):
    release.volumes(len(STORES))
    release.install(VALUES)
    secret = release.api.get("secrets", release.object("stores"), release.namespace)["data"]
    release.uninstall()
    claims = {f"data-{release.object(store)}-0" for store in STORES}
    kept = {"persistentvolumeclaims": claims, "secrets": {release.object("stores")}}
    eventually(lambda: left(release) == kept)
    release.install(VALUES)
    assert release.api.get("secrets", release.object("stores"), release.namespace)["data"] == secret


def test_the_embedded_mesh_leaves_its_volume(release):
    release.volumes(1)
    release.install({"mode": "embedded"})
    assert [pod["status"]["phase"] for pod in release.pods("mesh")] == ["Running"]
    release.uninstall()
    eventually(lambda: left(release) == {"persistentvolumeclaims": {"data-rm-recallmesh-0"}})
