"""Checking the settings."""

import pytest
from pydantic import SecretStr

from recallmesh.cli.checking import shown, warnings
from recallmesh.cli.entry import main
from recallmesh.core.errors import InvalidArgument
from recallmesh.settings import load_settings


@pytest.fixture
def given(monkeypatch):
    def set_all(**values):
        for name, value in values.items():
            monkeypatch.setenv(f"RECALLMESH_{name}", value)
        return load_settings()

    return set_all


def test_what_differs_from_the_defaults_is_shown(given, capsys):
    given(GRAPH__ORIGINS="7")
    assert main(["check-config"]) == 0
    assert "RECALLMESH_GRAPH__ORIGINS\t7\t10\n" in capsys.readouterr().out


def test_all_settings_are_shown_when_asked_for(capsys):
    assert main(["check-config", "--all"]) == 0
    assert "RECALLMESH_RECALL__RRF_K\t60\t" in capsys.readouterr().out


def test_the_defaults_have_no_warnings(given):
    assert list(warnings(given())) == []


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"RERANKER__BACKEND": "none"}, "RECALLMESH_RERANKER__BACKEND"),
        ({"SEMANTIC__ADDRESS": "127.0.0.1:1"}, "RECALLMESH_GRAPH__ADDRESS"),
        ({"SERVE__DEADLINE_S": "400"}, "RECALLMESH_SERVE__DEADLINE_S"),
        ({"RECALL__TIMEOUT_S": "400"}, "RECALLMESH_RECALL__TIMEOUT_S"),
        ({"RECALL__RERANKING": "false"}, "RECALLMESH_RECALL__RERANKING"),
        ({"RECALL__ARMS_SHARE": "0.2"}, "RECALLMESH_RECALL__ARMS_SHARE"),
        ({"RETAIN__ARM_TIMEOUT_S": "90"}, "RECALLMESH_RETAIN__ARM_TIMEOUT_S"),
        ({"DOOR__EXPOSED": "true", "DOOR__LISTEN": "0.0.0.0:7080"}, "behind a proxy"),
        ({"DOOR__HOSTS": '["*"]'}, "RECALLMESH_DOOR__HOSTS"),
        ({"DOOR__CORS_ORIGINS": '["*"]'}, "RECALLMESH_DOOR__CORS_ORIGINS"),
        ({"AUTH__KEYS": "keys.json"}, "RECALLMESH_AUTH__MODE"),
        ({"AUTH__MODE": "on", "SERVE__LISTEN": "0.0.0.0:7070"}, "RECALLMESH_TLS__CERTIFICATE"),
        ({"AUTH__MODE": "on", "RERANKER__ADDRESS": "127.0.0.1:1"}, "RECALLMESH_AUTH__MESH_KEY"),
        ({"TLS__CERTIFICATE": "c", "TLS__KEY": "k", "RERANKER__ADDRESS": "127.0.0.1:1"}, "RECALLMESH_TLS__CA"),
        ({"LLM__MODEL": "small-1"}, "RECALLMESH_LLM__URL"),
        ({"LLM__URL": "http://models:8000/v1", "LLM__MODEL": "m", "LLM__API_KEY": "k"}, "RECALLMESH_LLM__URL"),
        (
            {"EMBEDDER__BACKEND": "tei", "EMBEDDER__URL": "http://tei:80", "EMBEDDER__API_KEY": "k"},
            "RECALLMESH_EMBEDDER__URL",
        ),
        (
            {"RERANKER__BACKEND": "tei", "RERANKER__URL": "http://tei:80", "RERANKER__API_KEY": "k"},
            "RECALLMESH_RERANKER__URL",
        ),
        ({"LLM__URL": "https://models/v1", "LLM__MODEL": "m", "LLM__TIMEOUT_S": "90"}, "RECALLMESH_RETAIN__TIMEOUT_S"),
    ],
)
def test_what_is_allowed_but_odd_is_warned_of_with_what_to_do(given, values, words):
    [(message, explanation)] = list(warnings(given(**values)))
    assert message
    assert words in explanation


def test_warnings_are_no_failure(given, capsys):
    given(RERANKER__BACKEND="none")
    assert main(["check-config"]) == 0
    assert "warning: " in capsys.readouterr().err


def test_secrets_are_not_shown():
    assert shown(SecretStr("hush")) == "(secret)"
    assert shown("postgresql://me:hush@host/db") == "postgresql://me:(secret)@host/db"
    assert shown("postgresql://db/x?user=me&password=hush&a=b") == "postgresql://db/x?user=me&password=(secret)&a=b"
    assert shown("127.0.0.1:7070") == "127.0.0.1:7070"


def test_a_language_model_without_a_key_or_on_this_machine_is_nothing_odd(given):
    assert list(warnings(given(LLM__URL="http://models:8000/v1", LLM__MODEL="m"))) == []
    assert list(warnings(given(LLM__URL="http://127.0.0.1:8000/v1", LLM__MODEL="m", LLM__API_KEY="k"))) == []


def test_an_endpoint_needs_a_model(given):
    with pytest.raises(InvalidArgument, match=r"RECALLMESH_LLM: .*needs a model"):
        given(LLM__URL="https://models/v1")


def test_the_key_of_a_language_model_is_not_shown(given, capsys):
    given(LLM__API_KEY="sk-secret-1234", LLM__MODEL="m", LLM__URL="https://models/v1")
    assert main(["check-config", "--all"]) == 0
    printed = capsys.readouterr()
    assert "RECALLMESH_LLM__API_KEY\t(secret)" in printed.out
    assert "sk-secret" not in printed.out + printed.err
