"""What cannot work is refused when it is rendered, by its name and with what to do."""

import pytest
from rendering import BUNDLED, Refused


def without(store, **given):
    return {name: own for name, own in BUNDLED.items() if name != store} | ({store: given} if given else {})


@pytest.mark.parametrize("store", sorted(BUNDLED))
def test_a_store_that_is_not_there(helm, store):
    with pytest.raises(Refused, match=rf"stores\.{store}: .* Set stores\.{store}\.url to a server"):
        helm.render({"stores": without(store)})


def test_more_pods_of_an_arm_without_the_server_that_they_would_share(helm):
    with pytest.raises(Refused, match=r"stores\.opensearch: needed by arms\.keyword, .* one process only"):
        helm.render({"stores": without("opensearch"), "arms": {"keyword": {"replicas": 3}}})


def test_a_store_that_is_bundled_and_elsewhere(helm):
    given = without("qdrant", bundled=True, url="https://qdrant:6334")
    with pytest.raises(Refused, match=r"stores\.qdrant: either bundled or url"):
        helm.render({"stores": given})


def test_a_password_in_an_address(helm):
    given = without("postgres", url="postgresql://me:secret@postgres/recallmesh")
    with pytest.raises(Refused, match=r"stores\.postgres\.url: has a password") as refused:
        helm.render({"stores": given})
    assert "secret@" not in str(refused.value)


def test_a_store_for_the_mesh_that_has_its_own(helm):
    with pytest.raises(Refused, match=r"stores\.neo4j: mode is embedded"):
        helm.render({"mode": "embedded", "stores": {"neo4j": {"bundled": True}}})


def test_fewer_pods_at_most_than_at_least(helm):
    scaling = {"enabled": True, "minReplicas": 4, "maxReplicas": 3}
    with pytest.raises(Refused, match=r"graph\.autoscaling: minReplicas is 4"):
        helm.render({"stores": BUNDLED, "arms": {"graph": {"autoscaling": scaling}}})


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"arms": {"keyword": {"replica": 3}}}, r"/arms/keyword.*'replica' not allowed"),
        ({"arms": {"vector": {"replicas": 3}}}, r"/arms.*'vector' not allowed"),
        ({"arms": {"keyword": {"enabled": False}}}, r"/arms/keyword.*'enabled' not allowed"),
        ({"recall": {"replicas": "three"}}, r"/recall/replicas.*got string, want integer"),
        ({"mod": "embedded"}, r"'mod' not allowed"),
        ({"mode": "single"}, r"/mode.*distributed"),
        ({"stores": {"postgres": {"url": "postgres"}}}, r"/stores/postgres/url"),
        ({"defaults": {"pdb": {"maxUnavailable": "one"}}}, r"/defaults/pdb/maxUnavailable"),
        ({"reranker": {"autoscaling": {"cpus": 70}}}, r"/reranker/autoscaling.*'cpus' not allowed"),
    ],
)
def test_a_value_that_is_mistyped(helm, given, told):
    with pytest.raises(Refused, match=f"(?s){told}"):
        helm.render({"stores": BUNDLED, **given})


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"recall": {"rerank_limt": 50}}, r"/settings/recall.*'rerank_limt' not allowed"),
        ({"recall": {"rrf_k": "sixty"}}, r"/settings/recall/rrf_k.*want integer"),
        ({"log_level": "chatty"}, r"/settings/log_level"),
        ({"keyword": {"b": 2}}, r"/settings/keyword/b.*maximum"),
    ],
)
def test_a_setting_that_is_none(helm, settings, told):
    with pytest.raises(Refused, match=f"(?s){told}"):
        helm.render({"mode": "embedded", "settings": settings})


@pytest.mark.parametrize(
    "settings",
    [
        {"llm": {"api_key": "secret"}},
        {"keyword": {"opensearch_password": "secret"}},
        {"ledger": {"url": "sqlite:////data/ledger.db"}},
        {"keyword": {"address": "keyword:7070"}},
        {"serve": {"listen": "127.0.0.1:7070"}},
    ],
)
def test_a_setting_that_is_secret_or_that_the_chart_makes_itself(helm, settings):
    ((section, fields),) = settings.items()
    with pytest.raises(Refused, match=rf"/settings/{section}.*{next(iter(fields))}"):
        helm.render({"mode": "embedded", "settings": settings})
