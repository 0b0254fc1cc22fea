"""Settings come from the environment, and a name or value that is wrong is refused by name (case 53)."""

import subprocess
import sys
from pathlib import Path

import pytest
from pydantic import ValidationError

from recallmesh.core.arm import ArmName
from recallmesh.core.errors import InvalidArgument
from recallmesh.core.tuning import BoostLevel, Budget
from recallmesh.keyword.settings import KeywordSettings
from recallmesh.mesh import Part
from recallmesh.settings import Settings, default_data, known_names, load_settings


@pytest.fixture(autouse=True)
def _clean(monkeypatch):
    for name in known_names():
        monkeypatch.delenv(name, raising=False)


def test_without_variables_everything_has_its_default(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    settings = load_settings()
    assert settings == Settings()
    assert settings.data == tmp_path / "recallmesh" == default_data()
    assert settings.ledger_url == f"sqlite:///{tmp_path}/recallmesh/ledger.db"
    assert {part: getattr(settings, part.value).address for part in Part} == dict.fromkeys(Part)


def test_a_variable_sets_a_parts_setting(monkeypatch):
    monkeypatch.setenv("RECALLMESH_KEYWORD__ADDRESS", "10.0.0.7:7070")
    monkeypatch.setenv("RECALLMESH_RECALL__RRF_K", "10")
    monkeypatch.setenv("RECALLMESH_LEDGER__URL", "sqlite:////srv/ledger.db")
    settings = load_settings()
    assert (settings.keyword.address, settings.recall.rrf_k) == ("10.0.0.7:7070", 10)
    assert settings.ledger_url == "sqlite:////srv/ledger.db"


def test_tables_are_json_and_what_they_do_not_name_keeps_its_default(monkeypatch):
    monkeypatch.setenv("RECALLMESH_RECALL__BUDGET_HITS", '{"low": 7}')
    monkeypatch.setenv("RECALLMESH_RECALL__BOOSTS", '{"keyword": "high"}')
    recall = load_settings().recall
    assert recall.budget_hits == {Budget.LOW: 7, Budget.MID: 300, Budget.HIGH: 1000}
    assert recall.boosts == {ArmName.KEYWORD: BoostLevel.HIGH}
    assert recall.defaults().budget_hits[Budget.LOW] == 7


def test_what_is_given_wins_unless_it_is_nothing(monkeypatch):
    monkeypatch.setenv("RECALLMESH_DATA", "/from/the/environment")
    assert load_settings(data=Path("/given")).data == Path("/given")
    assert load_settings(data=None).data == Path("/from/the/environment")


def test_an_empty_variable_is_as_none(monkeypatch):
    monkeypatch.setenv("RECALLMESH_KEYWORD__ADDRESS", "")
    assert load_settings().keyword.address is None


@pytest.mark.parametrize(
    ("name", "suggested"),
    [
        ("RECALLMESH_KEYWORD__ADRESS", "RECALLMESH_KEYWORD__ADDRESS"),
        ("RECALLMESH_KEYWORD_ADDRESS", "RECALLMESH_KEYWORD__ADDRESS"),
        ("RECALLMESH_DATE", "RECALLMESH_DATA"),
        ("RECALLMESH_SERVE__METRIC_PORT", "RECALLMESH_SERVE__METRICS_PORT"),
        ("RECALLMESH_RECALL__TIMEOUTS", "RECALLMESH_RECALL__TIMEOUT_S"),
    ],
)
def test_an_unknown_name_is_refused_with_a_suggestion(monkeypatch, name, suggested):
    monkeypatch.setenv(name, "x")
    with pytest.raises(InvalidArgument) as caught:
        load_settings()
    assert [violation.field for violation in caught.value.violations] == [name]
    assert f"did you mean {suggested}?" in caught.value.message


def test_a_name_like_no_setting_is_refused_without_a_suggestion(monkeypatch):
    monkeypatch.setenv("RECALLMESH_ZZZZZZZZZZZZZZZZZZZZZZZZ", "x")
    with pytest.raises(InvalidArgument, match=r"is no setting$"):
        load_settings()


@pytest.mark.parametrize(
    "name",
    [
        "RECALLMESH_KEYWORD_PORT",
        "RECALLMESH_KEYWORD_PORT_50051_TCP",
        "RECALLMESH_KEYWORD_PORT_50051_TCP_ADDR",
        "RECALLMESH_KEYWORD_SERVICE_HOST",
        "RECALLMESH_KEYWORD_SERVICE_PORT",
        "RECALLMESH_KEYWORD_SERVICE_PORT_GRPC",
    ],
)
def test_what_kubernetes_puts_into_every_pod_is_ignored(monkeypatch, name):
    monkeypatch.setenv(name, "tcp://10.0.0.1:50051")
    assert load_settings() == Settings()


def test_no_setting_of_ours_is_a_name_of_kubernetes():
    foreign = ("_SERVICE_HOST", "_SERVICE_PORT", "_TCP", "_UDP", "_ADDR", "_PROTO")
    assert [name for name in known_names() if name.endswith(foreign)] == []
    assert [name for name in known_names() if name.endswith("_PORT") and "__" not in name] == []


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("RECALLMESH_RECALL__TIMEOUT_S", "-1"),
        ("RECALLMESH_RECALL__TIMEOUT_S", "soon"),
        ("RECALLMESH_SERVE__METRICS_PORT", "70000"),
        ("RECALLMESH_LOG_LEVEL", "chatty"),
        ("RECALLMESH_GRAPH__STRATEGY", "guess"),
        ("RECALLMESH_RERANKER__BACKEND", "magic"),
        ("RECALLMESH_RERANKER__BACKEND", "openai"),
        ("RECALLMESH_RERANKER__SCORES", "percent"),
        ("RECALLMESH_EMBEDDER__BACKEND", "sentence-transformers"),
        ("RECALLMESH_EMBEDDER__DEVICE", "gpu"),
        ("RECALLMESH_EMBEDDER__DEVICE", "cuda:"),
        ("RECALLMESH_EMBEDDER__DEVICE", "CUDA"),
        ("RECALLMESH_EMBEDDER__URL", "tei:80"),
        ("RECALLMESH_EMBEDDER__URL", "http://key@tei:80"),
        ("RECALLMESH_EMBEDDER__URL", "http://tei:80/embed?truncate=true"),
        ("RECALLMESH_EMBEDDER__DIMENSIONS", "0"),
        ("RECALLMESH_EMBEDDER__BATCH_SIZE", "0"),
        ("RECALLMESH_EMBEDDER__BATCH_SIZE", "many"),
        ("RECALLMESH_EMBEDDER__IN_FLIGHT", "-1"),
    ],
)
def test_a_wrong_value_is_refused_by_its_variable(monkeypatch, name, value):
    monkeypatch.setenv(name, value)
    with pytest.raises(InvalidArgument) as caught:
        load_settings()
    assert [violation.field for violation in caught.value.violations] == [name]


@pytest.mark.parametrize(
    ("part", "given", "words"),
    [
        ("EMBEDDER", {"BACKEND": "tei"}, "needs a url"),
        ("RERANKER", {"BACKEND": "tei"}, "needs a url"),
        ("EMBEDDER", {"BACKEND": "openai", "URL": "https://api.openai.com/v1"}, "needs a model"),
        ("EMBEDDER", {"BACKEND": "openai", "MODEL": "m"}, "needs a url"),
        ("EMBEDDER", {"BACKEND": "sentence_transformers"}, "a model or a model_dir, one of them"),
        ("EMBEDDER", {"BACKEND": "sentence_transformers", "MODEL": "m", "MODEL_DIR": "/m"}, "one of them"),
        ("RERANKER", {"BACKEND": "sentence_transformers"}, "a model or a model_dir, one of them"),
        ("EMBEDDER", {"URL": "http://tei:80"}, "backend onnx does not read url"),
        ("EMBEDDER", {"QUERY_PREFIX": "query: "}, "backend onnx does not read query_prefix"),
        ("EMBEDDER", {"BACKEND": "tei", "URL": "http://t", "MODEL_DIR": "/m", "DEVICE": "cuda"}, "model_dir, device"),
        ("EMBEDDER", {"BACKEND": "sentence_transformers", "MODEL": "m", "API_KEY": "k"}, "does not read api_key"),
        ("RERANKER", {"BACKEND": "onnx", "SCORES": "probabilities"}, "backend onnx does not read scores"),
        ("EMBEDDER__NEXT", {"BACKEND": "tei"}, "needs a url"),
    ],
)
def test_what_a_back_end_needs_and_what_it_would_ignore_is_said(monkeypatch, part, given, words):
    for name, value in given.items():
        monkeypatch.setenv(f"RECALLMESH_{part}__{name}", value)
    with pytest.raises(InvalidArgument) as caught:
        load_settings()
    [violation] = caught.value.violations
    assert violation.field == f"RECALLMESH_{part}"
    assert words in violation.description


@pytest.mark.parametrize("name", ["RECALLMESH_KEYWORD__ADDRESS", "RECALLMESH_DOOR__SERVER"])
@pytest.mark.parametrize("value", ["nonsense", "http://10.0.0.7:7070", "10.0.0.7:70700", "10.0.0.7:"])
def test_what_can_be_no_address_is_refused_by_its_variable(monkeypatch, name, value):
    monkeypatch.setenv(name, value)
    with pytest.raises(InvalidArgument) as caught:
        load_settings()
    assert [violation.field for violation in caught.value.violations] == [name]


@pytest.mark.parametrize("value", ["arm:7071", "[::1]:7071", "dns:///arm:7071", "unix:/run/arm.sock"])
def test_every_way_of_grpc_to_name_a_server_is_an_address(monkeypatch, value):
    monkeypatch.setenv("RECALLMESH_GRAPH__ADDRESS", value)
    assert load_settings().graph.address == value


@pytest.mark.parametrize("value", ["{", "[1]", "7", "keyword"])
def test_a_table_that_is_no_table_is_refused_by_its_variable(monkeypatch, value):
    monkeypatch.setenv("RECALLMESH_RECALL__BOOSTS", value)
    with pytest.raises(InvalidArgument, match="RECALLMESH_RECALL__BOOSTS"):
        load_settings()


def test_a_list_that_is_no_list_is_refused_by_its_variable(monkeypatch):
    monkeypatch.setenv("RECALLMESH_RECALL__RRF_K", "30")
    monkeypatch.setenv("RECALLMESH_RECALL__ARMS", "keyword,graph")
    with pytest.raises(InvalidArgument) as caught:
        load_settings()
    assert [violation.field for violation in caught.value.violations] == ["RECALLMESH_RECALL__ARMS"]
    assert "JSON" in caught.value.message


def test_every_setting_has_a_name_and_no_two_the_same():
    names = known_names()
    assert len(names) == len(set(names)) > 60
    assert all(f"RECALLMESH_{part.upper()}__{end}" in names for part in Part for end in ("ADDRESS", "TIMEOUT_S"))


def test_the_address_and_the_key_of_the_command_line_are_no_settings_of_a_server(monkeypatch):
    monkeypatch.setenv("RECALLMESH_SERVER", "127.0.0.1:7070")
    monkeypatch.setenv("RECALLMESH_KEY", "k")
    assert load_settings().serve.listen == "127.0.0.1:7070"
    monkeypatch.setenv("RECALLMESH_SERVE", "127.0.0.1:7070")
    with pytest.raises(InvalidArgument, match=r"^RECALLMESH_SERVE: is no setting"):
        load_settings()


def test_a_process_that_hosts_an_arm_loads_no_other_arms_packages():
    told = subprocess.run(
        [sys.executable, "-c", "import sys, recallmesh.mesh; print(*sorted({m.split('.')[0] for m in sys.modules}))"],
        check=True,
        capture_output=True,
        text=True,
    )
    extras = {
        "numpy",
        "snowballstemmer",
        "rapidfuzz",
        "sqlalchemy",
        "onnxruntime",
        "qdrant_edge",
        "httpcore2",
        "openai",
    }
    assert extras & set(told.stdout.split()) == set()


@pytest.mark.parametrize("url", ["opensearch:9200", "http://user:secret@opensearch:9200", "https://opensearch/?x", ""])
def test_an_opensearch_address_is_a_plain_url(url):
    with pytest.raises(ValidationError):
        KeywordSettings(opensearch_url=url)
    assert KeywordSettings(opensearch_url="https://opensearch:9200").opensearch_url == "https://opensearch:9200"


@pytest.mark.parametrize("half", [{"opensearch_user": "mesh"}, {"opensearch_password": "secret"}])
def test_a_user_of_opensearch_has_a_password(half):
    with pytest.raises(ValidationError, match="go together"):
        KeywordSettings(**half)


def test_the_ledgers_password_is_in_no_picture_of_the_settings(monkeypatch):
    monkeypatch.setenv("RECALLMESH_LEDGER__URL", "postgresql://me:hush@db/mesh")
    settings = load_settings()
    assert settings.ledger_url == "postgresql://me:hush@db/mesh"
    assert "hush" not in f"{settings!r} {settings}"
