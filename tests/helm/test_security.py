"""Who may call whom: each pod has what it needs to know callers by, and no more."""

import json
import re

import pytest
from rendering import BUNDLED, Refused, of_kind, pods

from recallmesh.core.principal import CALLERS_RIGHTS
from recallmesh.identity.api_key import hash_of, id_in
from recallmesh.identity.key_file import read_keys
from recallmesh.identity.mesh_key import read_mesh_keys
from recallmesh.mesh import PUBLIC

DISTRIBUTED = {"stores": BUNDLED, "door": {"enabled": True}, "mcp": {"enabled": True}}
HTTP = {"door", "mcp"}


def mounted(spec):
    """Return which keys of which Secrets a pod has as files."""
    volumes = {one["name"]: one["secret"] for one in spec.get("volumes", ()) if "secret" in one}
    (container,) = spec["containers"]
    return {
        (secret["secretName"], item["key"])
        for one in container["volumeMounts"]
        if (secret := volumes.get(one["name"]))
        for item in secret.get("items", [{"key": "*"}])
    }


@pytest.fixture(scope="module")
def found(helm):
    return pods(helm.render(DISTRIBUTED))


def test_every_service_of_the_mesh_has_the_meshs_own_key_and_no_door_does(found):
    for part, spec in found.items():
        if spec["containers"][0].get("args", [""])[0] not in ("serve", "mcp"):
            continue
        has = ("mesh-recallmesh-auth", "mesh-key") in mounted(spec)
        assert (part, has) == (part, part not in HTTP)


def test_only_the_public_services_have_the_hashes_of_callers_keys(found):
    having = {part for part, spec in found.items() if ("mesh-recallmesh-auth", "keys.json") in mounted(spec)}
    assert having == {part.value for part in PUBLIC}


def test_nobody_has_the_first_key_itself(found):
    assert not any(key in ("first-key", "*") for spec in found.values() for _, key in mounted(spec))


def test_the_keys_that_the_chart_makes_are_such_as_the_mesh_takes(helm):
    secret = of_kind(helm.render({"mode": "embedded", "auth": {"tenant": "acme"}}), "Secret")["mesh-recallmesh-auth"]
    told = secret["stringData"]
    (mesh,) = read_mesh_keys(told["mesh-key"].encode())
    assert mesh.startswith("rmmesh_")
    rows = read_keys(told["keys.json"].encode()).rows
    row = rows[id_in(told["first-key"])]
    assert row.hash == hash_of(told["first-key"])
    assert (row.tenant, row.rights, row.banks) == ("acme", frozenset(CALLERS_RIGHTS), None)


def test_two_meshes_have_different_keys(helm):
    made = {line for _ in range(2) for line in helm.print({"mode": "embedded"}).splitlines() if "rmmesh_" in line}
    assert len(made) == 2


def test_a_secret_of_ones_own_takes_the_place_of_the_charts(helm):
    objects = helm.render({**DISTRIBUTED, "auth": {"existingSecret": "callers"}})
    assert "mesh-recallmesh-auth" not in of_kind(objects, "Secret")
    assert ("callers", "keys.json") in mounted(pods(objects)["recall"])


def test_nothing_secret_is_in_what_everybody_may_read(helm):
    objects = helm.render(DISTRIBUTED)
    secrets = {
        value
        for secret in of_kind(objects, "Secret").values()
        for name, value in secret.get("stringData", {}).items()
        if name != "keys.json"
    }
    told = json.dumps([one for one in objects if one["kind"] != "Secret"])
    assert len(secrets) >= 5
    assert [value for value in secrets if value in told] == []


CERTIFIED = {"tls": {"existingSecret": "certificates", "serverName": "mesh"}}


def test_with_certificates_everything_is_encrypted_and_probed_where_it_is_not(helm):
    objects = helm.render({**DISTRIBUTED, **CERTIFIED})
    told = of_kind(objects, "ConfigMap")["mesh-recallmesh"]["data"]
    assert told["RECALLMESH_TLS__CERTIFICATE"] == "/etc/recallmesh/tls/tls.crt"
    assert told["RECALLMESH_TLS__SERVER_NAME"] == "mesh"
    for part, spec in pods(objects).items():
        (container,) = spec["containers"]
        if part not in {*HTTP, "migrate", *BUNDLED}:
            assert ("certificates", "*") in mounted(spec)
            for probe in ("startupProbe", "livenessProbe", "readinessProbe"):
                assert container[probe]["grpc"]["port"] == int(told["RECALLMESH_SERVE__HEALTH_PORT"])
    assert pods(objects)["door"]["containers"][0]["readinessProbe"]["httpGet"]["scheme"] == "HTTPS"


@pytest.mark.parametrize(
    ("mutual", "asking"),
    [
        ("none", set()),
        ("internal", {"semantic", "keyword", "graph", "temporal", "embedder", "reranker"}),
        (
            "all",
            {"semantic", "keyword", "graph", "temporal", "embedder", "reranker", "recall", "retain", "bank"},
        ),
    ],
)
def test_who_has_to_have_a_certificate_to_call(helm, mutual, asking):
    objects = helm.render({**DISTRIBUTED, "tls": {**CERTIFIED["tls"], "mutual": mutual}})
    found = {
        part
        for part, spec in pods(objects).items()
        if any(one["name"] == "RECALLMESH_TLS__CLIENT_CA" for one in spec["containers"][0].get("env", ()))
    }
    assert found == asking
    told = of_kind(objects, "ConfigMap")["mesh-recallmesh"]["data"]
    assert ("RECALLMESH_TLS__CLIENT_CERTIFICATE" in told) == (mutual != "none")


def test_a_certificate_names_every_service_as_it_is_called(helm):
    manager = {"enabled": True, "issuerRef": {"name": "mesh", "kind": "Issuer"}}
    objects = helm.render({**DISTRIBUTED, "tls": {"certManager": manager}})
    (certificate,) = of_kind(objects, "Certificate").values()
    told = of_kind(objects, "ConfigMap")["mesh-recallmesh"]["data"]
    called = {re.fullmatch(r"dns:///(.+):7070", value)[1] for name, value in told.items() if name.endswith("__ADDRESS")}
    assert len(called) == 9
    assert called <= set(certificate["spec"]["dnsNames"])
    assert certificate["spec"]["secretName"] in {secret for secret, _ in mounted(pods(objects)["keyword"])}


@pytest.mark.parametrize(
    ("tls", "told"),
    [
        ({"existingSecret": "a", "certManager": {"enabled": True, "issuerRef": {"name": "b"}}}, r"tls: either"),
        ({"certManager": {"enabled": True}}, r"tls\.certManager\.issuerRef: names no issuer"),
        ({"mutual": "yes"}, r"/tls/mutual"),
    ],
)
def test_certificates_that_cannot_be(helm, tls, told):
    with pytest.raises(Refused, match=told):
        helm.render({"mode": "embedded", "tls": tls})


def test_a_mesh_that_nobody_could_call_is_refused(helm):
    with pytest.raises(Refused, match=r"auth\.keys: nobody could call"):
        helm.render({"mode": "embedded", "auth": {"keys": False}})


def test_tokens_take_the_place_of_keys(helm):
    jwt = {"jwks": "https://issuer:8443/keys", "issuer": "https://issuer", "audience": "mesh"}
    objects = helm.render({**DISTRIBUTED, "auth": {"keys": False}, "settings": {"auth": {"jwt": jwt}}})
    assert not any(key == "keys.json" for spec in pods(objects).values() for _, key in mounted(spec))
    policies = of_kind(objects, "NetworkPolicy")
    asking = {
        name.removeprefix("mesh-recallmesh-")
        for name, policy in policies.items()
        if any({"port": 8443} in rule.get("ports", ()) for rule in policy["spec"]["egress"])
    }
    assert asking == {part.value for part in PUBLIC}


def test_servers_of_models_are_reached_by_those_who_have_them_alone_and_the_migration_has_the_key(helm):
    settings = {
        "embedder": {"backend": "tei", "url": "http://tei.models:8081"},
        "reranker": {"backend": "tei", "url": "https://rerank.models:8444"},
    }
    key = {"name": "RECALLMESH_EMBEDDER__API_KEY", "valueFrom": {"secretKeyRef": {"name": "tei", "key": "key"}}}
    objects = helm.render({**DISTRIBUTED, "settings": settings, "embedder": {"extraEnv": [key]}})
    reaching = {
        port: {
            name.removeprefix("mesh-recallmesh-")
            for name, policy in of_kind(objects, "NetworkPolicy").items()
            if any({"port": port} in rule.get("ports", ()) for rule in policy["spec"]["egress"])
        }
        for port in (8081, 8444)
    }
    assert reaching == {8081: {"embedder"}, 8444: {"reranker"}}
    having = {name for name, spec in pods(objects).items() if key in spec["containers"][0].get("env", ())}
    assert having == {"embedder", "migrate"}


def test_tools_for_agents_are_a_service_of_their_own(helm):
    with pytest.raises(Refused, match=r"mcp\.enabled: .* mode to distributed"):
        helm.render({"mode": "embedded", "mcp": {"enabled": True}})
    spec = pods(helm.render({**DISTRIBUTED, "mcp": {"enabled": True, "banks": ["diary"], "readOnly": True}}))["mcp"]
    words = spec["containers"][0]["args"]
    assert words[:2] == ["mcp", "--listen=0.0.0.0:8081"]
    assert {"--host=mesh-recallmesh-mcp", "--bank=diary", "--read-only"} <= set(words)
