"""What pods read as their settings is what the mesh has, and none is refused by it."""

import pytest
from pydantic import BaseModel
from rendering import BUNDLED, CHART, VALUES, environment, pods

from recallmesh.serve import check_listen
from recallmesh.settings import Settings, load_settings


def loaded(monkeypatch, variables):
    """Return the settings that these variables make."""
    with monkeypatch.context() as patched:
        for name, value in variables.items():
            assert isinstance(value, str)
            patched.setenv(name, value)
        return load_settings()


@pytest.mark.parametrize("values", VALUES, ids=lambda path: path.stem)
def test_every_setting_of_every_pod_is_one(helm, monkeypatch, values):
    objects = helm.render(values)
    ours = {name: spec for name, spec in pods(objects).items() if "recallmesh/" in spec["containers"][0]["image"]}
    assert ours
    for spec in ours.values():
        settings = loaded(monkeypatch, environment(objects, spec))
        if spec["containers"][0].get("args", [""])[0] == "serve":
            check_listen(settings.serve.listen, exposed=settings.auth.mode == "on")


def test_settings_are_given_as_they_are_written(helm, monkeypatch):
    given = {
        "log_level": "warning",
        "recall": {"rerank_limit": 50, "arms": ["keyword", "semantic"], "boosts": {"keyword": "high"}},
        "auth": {"jwt": {"jwks": "https://issuer/keys", "issuer": "https://issuer", "audience": "mesh"}},
        "llm": {"url": "http://llm:8000/v1", "model": "small", "call_tokens": 2_000_000},
    }
    objects = helm.render({"mode": "embedded", "settings": given})
    settings = loaded(monkeypatch, environment(objects, pods(objects)["mesh"]))
    assert settings.log_level == "warning"
    assert settings.recall.rerank_limit == 50
    assert set(settings.recall.arms) == {"keyword", "semantic"}
    assert settings.recall.boosts == {"keyword": "high"}
    assert settings.llm.call_tokens == 2_000_000
    assert settings.auth.jwt.audience == "mesh"


def test_every_setting_within_a_setting_is_given_by_itself():
    nested = {
        f"{section}.{field}"
        for section, info in Settings.model_fields.items()
        if isinstance(info.annotation, type) and issubclass(info.annotation, BaseModel)
        for field, own in info.annotation.model_fields.items()
        if isinstance(own.annotation, type) and issubclass(own.annotation, BaseModel)
    }
    told = (CHART / "templates" / "_settings.tpl").read_text(encoding="utf-8")
    assert nested
    assert all(f'"{name}"' in told for name in nested)


def test_a_model_computes_on_as_many_threads_as_it_asks_for_processors_unless_it_is_told(helm):
    def threads(settings):
        spec = pods(helm.render({"stores": BUNDLED, "settings": settings}))["reranker"]
        sources = [one.get("valueFrom", {}) for one in spec["containers"][0]["env"]]
        return [one["resourceFieldRef"]["resource"] for one in sources if "resourceFieldRef" in one]

    assert threads({}) == ["requests.cpu"]
    assert threads({"reranker": {"threads": 3}}) == []


def test_each_pod_has_the_secrets_of_its_own_stores_alone(helm):
    found = pods(helm.render({"stores": BUNDLED}))
    wanted = {
        "keyword": set(),
        "semantic": {"qdrant-api-key"},
        "graph": {"qdrant-api-key", "neo4j-password"},
        "temporal": {"qdrant-api-key"},
        "recall": {"postgres-password"},
        "embedder": set(),
    }
    for part, keys in wanted.items():
        env = found[part]["containers"][0].get("env", ())
        assert {
            one["valueFrom"]["secretKeyRef"]["key"] for one in env if "secretKeyRef" in one.get("valueFrom", {})
        } == (keys)


def test_a_migration_asks_the_model_itself_which_vectors_are_wanted(helm, monkeypatch):
    objects = helm.render({"stores": BUNDLED})
    settings = loaded(monkeypatch, environment(objects, pods(objects)["migrate"]))
    assert settings.embedder.address is None
    assert settings.semantic.qdrant_url == "http://mesh-recallmesh-qdrant:6334"
