"""The compose files, as Docker Compose itself reads them: who is reachable, who waits for whom, who knows a secret."""

import importlib.util
import json
import os
import shutil
import subprocess
from functools import cache
from pathlib import Path

import pytest
from store_servers import neo4j, opensearch
from store_servers.maven import pinned

from recallmesh.mesh import Part
from recallmesh.settings import load_settings

ROOT = Path(__file__).parents[2]
LOADER = ROOT / "tests" / "compose_loader"
STORES = ("neo4j", "opensearch", "postgres", "qdrant")
PARTS = tuple(Part)
OURS = (*PARTS, "door", "migrate", "identity")
SECRETS = {f"{store.upper()}_PASSWORD": f"of-{store}-alone" for store in ("postgres", "neo4j", "qdrant")}
ONCE = ("identity", "migrate")
OPENS = {"postgres": {"recall", "retain", "bank"}, "qdrant": {"semantic", "graph", "temporal"}, "neo4j": {"graph"}}


@pytest.fixture(scope="session")
def loader(tmp_path_factory):
    """Build what reads compose files; Go is not on every machine, and in CI it must be."""
    if shutil.which("go") is None and "CI" not in os.environ:
        pytest.skip("Go is needed to build Compose's own loader")
    built = tmp_path_factory.mktemp("loader") / "loader"
    told = subprocess.run(
        ["go", "build", "-o", built, "."],  # noqa: S607 - whichever Go there is
        cwd=LOADER,
        env={**os.environ, "CGO_ENABLED": "0", "GOFLAGS": "-mod=readonly", "GOWORK": "off"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert told.returncode == 0, told.stderr
    return built


@pytest.fixture(scope="session")
def composed(loader):
    @cache
    def read(name, **given):
        path = ROOT / "deploy" / f"compose{name}.yaml"
        told = subprocess.run(
            [loader, path], env={"PATH": os.environ["PATH"], **given}, capture_output=True, text=True, check=False
        )
        return json.loads(told.stdout) if told.returncode == 0 else told.stderr

    return read


@pytest.fixture
def mesh(composed):
    return composed("", **SECRETS)["services"]


def published(service):
    return [(port["host_ip"], port["target"]) for port in service.get("ports", ())]


def test_the_stores_alone_listen_on_loopback_are_watched_and_keep_their_data(composed):
    read = composed(".stores")
    assert sorted(read["services"]) == sorted(STORES)
    for name, service in read["services"].items():
        assert {host for host, _ in published(service)} == {"127.0.0.1"}
        assert service["healthcheck"]["test"]
        assert [volume["source"] for volume in service["volumes"]] == [name]
        assert name in read["volumes"]


def test_they_are_of_the_versions_that_tests_run(composed):
    tags = {name: one["image"].partition(":")[2] for name, one in composed(".stores")["services"].items()}
    assert tags["opensearch"] == pinned(opensearch.POM, "opensearch.version")
    assert pinned(neo4j.POM, "neo4j.version").startswith(tags["neo4j"].partition("-")[0])


def test_every_service_and_every_store_is_a_container_of_its_own(mesh):
    assert sorted(mesh) == sorted((*STORES, *OURS))
    assert {name: mesh[name]["command"] for name in PARTS} == {name: ["serve", name] for name in PARTS}


def test_the_door_alone_is_published_and_on_loopback(mesh):
    assert {name: published(one) for name, one in mesh.items() if "ports" in one} == {"door": [("127.0.0.1", 8080)]}


def test_no_store_is_on_a_network_that_leads_outside(composed):
    read = composed("", **SECRETS)
    outside = {name for name, network in read["networks"].items() if not network.get("internal")}
    assert outside == {"outside"}
    there = {name for name, one in read["services"].items() if outside & (one.get("networks") or {}).keys()}
    assert there == {"door", "retain"}
    assert all(set(read["services"][name]["networks"]) == {"stores"} for name in STORES)


@pytest.mark.parametrize("name", OURS)
def test_a_container_of_ours_can_do_nothing_but_its_work(mesh, name):
    one = mesh[name]
    assert one["read_only"] is True
    assert one["tmpfs"] == ["/tmp"]  # noqa: S108 - the container's own
    assert one["cap_drop"] == ["ALL"]
    assert one["security_opt"] == ["no-new-privileges:true"]
    assert "privileged" not in one


def test_the_embedded_one_can_do_nothing_but_its_work_and_is_published_on_loopback(composed):
    (one,) = composed(".embedded")["services"].values()
    assert one["command"] == ["serve", "all", "door"]
    assert one["read_only"] is True
    assert one["cap_drop"] == ["ALL"]
    assert published(one) == [("127.0.0.1", 7070), ("127.0.0.1", 8080)]
    assert [(volume["source"], volume["target"]) for volume in one["volumes"]] == [("data", "/data")]


@pytest.mark.parametrize("name", [name for name in OURS if name not in ONCE])
def test_what_stays_is_watched_and_may_finish_its_calls(mesh, name):
    settings = load_settings()
    assert mesh[name]["healthcheck"]["test"][:3] == ["CMD", "recallmesh", "health"]
    assert mesh[name]["restart"] == "unless-stopped"
    seconds = int(mesh[name]["stop_grace_period"].removesuffix("s"))
    assert seconds > settings.serve.drain_s + settings.serve.grace_s


def waits(services, name):
    """Return whom a service waits for, and for what, through all whom it waits for."""
    found = {}
    for other, how in services[name].get("depends_on", {}).items():
        found |= {other: how["condition"].removeprefix("service_")} | waits(services, other)
    return found


def test_the_stores_are_healthy_before_they_are_migrated_and_migrated_before_a_service_starts(mesh):
    assert waits(mesh, "migrate").items() >= dict.fromkeys((*STORES, "embedder"), "healthy").items()
    for name in set(PARTS) - {"embedder", "reranker"}:
        assert waits(mesh, name)["migrate"] == "completed_successfully"
    for name in (*PARTS, "door", "migrate"):
        assert waits(mesh, name)["identity"] == "completed_successfully"
    assert waits(mesh, "door").items() >= dict.fromkeys(("recall", "retain", "bank"), "healthy").items()


def test_a_secret_is_known_where_that_store_is_opened_and_nowhere_else(mesh):
    for store, opening in OPENS.items():
        secret = SECRETS[f"{store.upper()}_PASSWORD"]
        knows = {name for name, one in mesh.items() if secret in str(one["environment"])}
        assert knows == opening | {store, "migrate"}


def test_without_a_secret_nothing_starts_and_its_name_is_said(composed):
    for name in SECRETS:
        told = composed("", **{key: value for key, value in SECRETS.items() if key != name})
        assert f"required variable {name} is missing a value: set it in deploy/.env" in told


@pytest.mark.parametrize(
    ("file", "name"), [*(("", name) for name in OURS), (".embedded", "mesh")], ids=lambda one: one or "compose"
)
def test_what_a_container_is_set_to_are_settings_and_callers_are_asked_who_they_are(composed, monkeypatch, file, name):
    given = composed(file, **SECRETS)["services"][name]["environment"]
    for key, value in given.items():
        if value is not None:
            monkeypatch.setenv(key, value)
    settings = load_settings()
    assert str(settings.auth.keys) == "/data/keys.json"
    if name != "identity":
        assert settings.auth.mode == "on"
    if name in PARTS:
        addresses = {part: getattr(settings, part).address for part in PARTS}
        assert addresses == {part: f"dns:///{part}:7070" for part in PARTS}


@pytest.fixture(scope="session")
def images():
    """Return the module that builds images, which is a script."""
    spec = importlib.util.spec_from_file_location("deploy_images", ROOT / "deploy" / "images.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_images_that_are_built_are_those_that_compose_runs(images, composed):
    known = {image.name: image.extras for image in images.known_images().values()}
    assert set(known) == {"all", *PARTS, "door"}
    for file in ("", ".embedded"):
        for one in composed(file, **SECRETS)["services"].values():
            if "build" in one:
                name = one["image"].removeprefix("recallmesh/").removesuffix(":latest")
                assert one["build"]["args"] == {"EXTRAS": known[name]}
                assert one["build"]["dockerfile"] == "deploy/Dockerfile"


def test_one_name_is_one_set_of_extras(images):
    def service(extras):
        return {"image": "recallmesh/all:1", "build": {"args": {"EXTRAS": extras}}}

    with pytest.raises(ValueError, match="all is built with"):
        images.images_of([{"services": {"a": service("keyword"), "b": service("graph")}}])


def test_a_build_says_what_is_in_the_image_and_where_packages_come_from(images):
    image = images.Image("keyword", "keyword,opensearch")
    plain = images.build_words("docker", image, images.Options("1.2.3"), revision="abc")
    assert plain[:6] == ["docker", "build", "--file", "deploy/Dockerfile", "--tag", "recallmesh/keyword:1.2.3"]
    assert plain[6:] == [
        *("--build-arg", "EXTRAS=keyword,opensearch", "--build-arg", "VERSION=1.2.3", "--build-arg", "REVISION=abc"),
        ".",
    ]
    options = images.Options("1", base="debian:x", wheels="wheels", ca="own.pem", more=("--no-cache",))
    words = images.build_words("podman", image, options, revision="abc")
    assert words[-1] == "."
    told = " ".join(words)
    for said in (
        "--format docker",
        "BASE=debian:x",
        "--build-context wheels=wheels",
        "--secret id=ca,src=own.pem",
        "--no-cache",
    ):
        assert said in told


def test_an_image_that_there_is_not_is_refused(images, capsys):
    with pytest.raises(SystemExit):
        images.main(["build", "kitchen"])
    assert "no image kitchen; there are all, " in capsys.readouterr().err
