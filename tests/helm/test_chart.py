"""The chart is whole: it lints, and what it renders is what Kubernetes takes."""

import kubernetes_validate
import pytest
import yaml
from rendering import BUNDLED, EXAMPLES, KUBERNETES, ROOT, VALUES, of_kind, pods

OTHERS = {"keda.sh", "gateway.networking.k8s.io", "monitoring.coreos.com", "cert-manager.io"}
"""Whose kinds are not of Kubernetes itself."""
PARTS = ["bank", "embedder", "graph", "keyword", "recall", "reranker", "retain", "semantic", "temporal"]
ARMS = ["graph", "keyword", "semantic", "temporal"]


@pytest.fixture(scope="module", params=EXAMPLES, ids=lambda path: path.stem)
def example(request):
    return request.param


def test_it_lints_as_it_is(helm):
    assert "0 chart(s) failed" in helm.lint()


def test_each_example_lints(helm, example):
    assert "0 chart(s) failed" in helm.lint(example)


@pytest.mark.parametrize("values", VALUES, ids=lambda path: path.stem)
def test_what_is_rendered_is_what_kubernetes_takes(helm, values):
    objects = helm.render(values)
    assert len(objects) >= 4
    for one in (one for one in objects if one["apiVersion"].partition("/")[0] not in OTHERS):
        kubernetes_validate.validate(one, KUBERNETES.rpartition(".")[0], strict=True)


def test_every_image_of_ours_is_one_that_is_built(helm):
    composed = yaml.safe_load((ROOT / "deploy" / "compose.yaml").read_text(encoding="utf-8"))["services"].values()
    built = {one["image"].partition(":")[0] for one in composed if "build" in one}
    everything = next(path for path in VALUES if path.stem == "everything")
    images = {spec["containers"][0]["image"] for spec in pods(helm.render(everything)).values()}
    named = {image.removeprefix("registry.example.com/").partition(":")[0] for image in images}
    assert named == built


def test_every_service_is_a_deployment_behind_a_headless_service_with_an_account_and_a_budget(helm):
    objects = helm.render({"stores": BUNDLED})
    names = [f"mesh-recallmesh-{part}" for part in PARTS]
    for kind in ("Deployment", "ServiceAccount", "PodDisruptionBudget"):
        assert sorted(of_kind(objects, kind)) == names
    services = of_kind(objects, "Service")
    assert {services[name]["spec"]["clusterIP"] for name in names} == {"None"}


def test_one_arm_is_scaled_without_another(helm):
    given = {"stores": BUNDLED, "arms": {"keyword": {"replicas": 5}}}
    deployments = of_kind(helm.render(given), "Deployment")
    replicas = {arm: deployments[f"mesh-recallmesh-{arm}"]["spec"]["replicas"] for arm in ARMS}
    assert replicas == {"graph": 2, "keyword": 5, "semantic": 2, "temporal": 2}


def test_what_is_scaled_by_its_load_has_no_number_of_its_own(helm):
    given = {"stores": BUNDLED, "arms": {"keyword": {"autoscaling": {"enabled": True, "maxReplicas": 7}}}}
    objects = helm.render(given)
    assert "replicas" not in of_kind(objects, "Deployment")["mesh-recallmesh-keyword"]["spec"]
    (scaler,) = of_kind(objects, "HorizontalPodAutoscaler").values()
    assert scaler["spec"]["scaleTargetRef"]["name"] == "mesh-recallmesh-keyword"
    assert (scaler["spec"]["minReplicas"], scaler["spec"]["maxReplicas"]) == (2, 7)


def test_a_rollout_takes_no_pod_away_before_another_is_ready(helm):
    for deployment in of_kind(helm.render({"stores": BUNDLED}), "Deployment").values():
        assert deployment["spec"]["strategy"]["rollingUpdate"] == {"maxUnavailable": 0, "maxSurge": 1}


@pytest.mark.parametrize("values", VALUES, ids=lambda path: path.stem)
def test_no_pod_of_ours_may_do_anything_but_its_work(helm, values):
    for name, spec in pods(helm.render(values)).items():
        assert (name, spec["automountServiceAccountToken"], spec["enableServiceLinks"]) == (name, False, False)
        assert spec["securityContext"]["runAsNonRoot"]
        assert spec["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
        for container in spec["containers"]:
            own = container["securityContext"]
            assert own["capabilities"] == {"drop": ["ALL"]}
            assert own["allowPrivilegeEscalation"] is False
            if name in (*PARTS, "mesh", "door", "mcp", "migrate", "verify", "backup"):
                assert own["readOnlyRootFilesystem"]
                assert spec["securityContext"]["runAsUser"] == 65532


@pytest.mark.parametrize(("settings", "seconds"), [({}, 32), ({"drain_s": 0.5, "grace_s": 60}, 71)])
def test_a_pod_gets_the_time_that_its_settings_promise_to_the_calls_in_hand(helm, settings, seconds):
    for spec in pods(helm.render({"mode": "embedded", "settings": {"serve": settings}})).values():
        assert spec["terminationGracePeriodSeconds"] == seconds


def test_a_pod_lives_by_another_health_name_than_it_is_ready_by(helm):
    (container,) = pods(helm.render({"mode": "embedded"}))["mesh"]["containers"]
    assert container["livenessProbe"]["grpc"] == {"port": 7070, "service": "recallmesh"}
    assert container["startupProbe"]["grpc"] == {"port": 7070, "service": "recallmesh"}
    assert container["readinessProbe"]["grpc"] == {"port": 7070}


def test_stores_of_ones_own_are_migrated_before_an_upgrade_and_bundled_ones_beside_it(helm):
    own = {
        "postgres": {"existingSecret": "ledger"},
        "qdrant": {"url": "https://qdrant:6334"},
        "opensearch": {"url": "https://opensearch:9200"},
        "neo4j": {"url": "neo4j+s://neo4j:7687"},
    }
    (before,) = of_kind(helm.render({"stores": own}), "Job").values()
    assert before["metadata"]["annotations"]["helm.sh/hook"] == "pre-install,pre-upgrade"
    (beside,) = of_kind(helm.render({"stores": BUNDLED}), "Job").values()
    assert "annotations" not in beside["metadata"]


def test_a_migration_beside_the_stores_has_another_name_when_it_is_another(helm):
    names = {
        name for tag in ("1", "2") for name in of_kind(helm.render({"stores": BUNDLED, "image": {"tag": tag}}), "Job")
    }
    assert len(names) == 2


def test_a_change_of_settings_rolls_the_pods(helm):
    told = {
        limit: pods_annotations(helm.render({"mode": "embedded", "settings": {"recall": {"rerank_limit": limit}}}))
        for limit in (50, 60)
    }
    assert told[50] != told[60]


def pods_annotations(objects):
    (stateful,) = of_kind(objects, "StatefulSet").values()
    return stateful["spec"]["template"]["metadata"]["annotations"]
