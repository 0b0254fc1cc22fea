"""The cluster that the chart is tried on: one for the whole run; tests are kept apart by their namespaces."""

from itertools import count

import pytest
from store_servers.server import Missing

from chart.__main__ import ROOT, say
from chart.cluster import Cluster, open_cluster
from chart.go import source
from chart.kinds import define_kinds
from chart.metrics import open_metrics
from chart.programmes import Workshop
from chart.release import Release


@pytest.fixture(scope="session")
def programmes():
    """Where the programmes are; what takes ten minutes to build is not built by a test."""
    try:
        found = Workshop(ROOT, say).find()
    except Missing as missing:
        pytest.skip(str(missing))
    if found is None:
        pytest.skip("the control plane is not built: `make chart-test` builds it, and runs these")
    return found


@pytest.fixture(scope="session")
def cluster(programmes, tmp_path_factory):
    """One cluster, with the kinds that the chart may use."""
    kwok = source("sigs.k8s.io/kwok")
    with open_cluster(tmp_path_factory.mktemp("cluster"), programmes, kwok) as running:
        define_kinds(running.api)
        yield running


@pytest.fixture(scope="session")
def load(cluster):
    """What pods use, as the autoscaler is told."""
    with open_metrics(cluster) as said:
        yield said


@pytest.fixture(scope="session")
def numbers():
    return count(1)


@pytest.fixture
def release(cluster, programmes, numbers):
    """A release in a namespace of the test's own, not yet installed; its pods are gone afterwards."""
    made = Release(cluster, programmes["helm"], "rm", f"test-{next(numbers)}")
    made.open_namespace()
    yield made
    made.close_namespace()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):  # noqa: ARG001 - pytest names them
    report = yield
    if report.failed:
        for value in getattr(item, "funcargs", {}).values():
            if isinstance(value, Cluster):
                report.sections += [(f"log of {name}", said) for name, said in value.logs() if said]
    return report
