"""Jobs at set times reach what their commands open, and one that could not work is refused."""

import pytest
from rendering import BUNDLED, Refused, environment, of_kind, pods

from recallmesh.cli.parser import build_parser
from recallmesh.parts import INDEXING_ARMS
from recallmesh.settings import load_settings

UPKEEP = {"verify": {"enabled": True}, "backup": {"enabled": True, "claim": "backups"}}


@pytest.fixture(scope="module")
def objects(helm):
    return helm.render({"stores": BUNDLED, "upkeep": UPKEEP})


def admitted(objects, name):
    policy = of_kind(objects, "NetworkPolicy")[f"mesh-recallmesh-{name}"]
    return {
        peer["podSelector"]["matchLabels"]["app.kubernetes.io/component"]
        for rule in policy["spec"]["ingress"]
        for peer in rule.get("from", ())
        if "podSelector" in peer
    }


def test_indexes_are_verified_by_who_may_ask_them(objects):
    assert all("verify" in admitted(objects, arm.value) for arm in INDEXING_ARMS)
    assert {"verify", "backup"} <= admitted(objects, "postgres")
    assert "verify" not in admitted(objects, "recall") | admitted(objects, "neo4j")


def test_the_job_knows_where_the_indexes_are_and_who_it_is(objects, monkeypatch):
    for name, value in environment(objects, pods(objects)["verify"]).items():
        monkeypatch.setenv(name, value)
    settings = load_settings()
    assert all(getattr(settings, arm.value).address for arm in INDEXING_ARMS)
    assert settings.embedder.address
    assert settings.auth.mesh_key_file is not None


@pytest.mark.parametrize(("repair", "command"), [(False, "verify"), (True, "repair")])
def test_its_words_are_words_of_the_command_line(helm, repair, command):
    upkeep = {"verify": {"enabled": True, "repair": repair, "atMost": 50}}
    (container,) = pods(helm.render({"stores": BUNDLED, "upkeep": upkeep}))["verify"]["containers"]
    assert container["command"][:2] == ["recallmesh", command]
    words = build_parser().parse_args(container["command"][1:])
    assert (words.all_banks, words.json, words.at_most) == (True, True, 50)


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"stores": BUNDLED, "upkeep": {"backup": {"enabled": True}}}, r"upkeep\.backup\.claim: names no"),
        ({"mode": "embedded", "upkeep": {"verify": {"enabled": True}}}, r"upkeep\.verify: the stores of mode embedded"),
    ],
)
def test_a_job_that_could_not_work(helm, given, told):
    with pytest.raises(Refused, match=told):
        helm.render(given)
