"""What the words of ``recallmesh reembed`` mean."""

import pytest

from recallmesh.cli.parser import build_parser
from recallmesh.cli.reembed import STEPS, placed
from recallmesh.cli.upkeep_words import STEPS as SAID
from recallmesh.core.errors import InvalidArgument
from recallmesh.settings import load_settings


def words(*given: str):
    return build_parser().parse_args(["reembed", *given])


def test_every_step_that_is_said_is_there():
    assert tuple(STEPS) == SAID


def test_a_server_stands_for_the_vectors_and_the_embedder_and_nothing_else(tmp_path):
    settings = load_settings(data=tmp_path, graph={"address": "127.0.0.1:1"})
    there = placed(settings, words("fill", "--server", "127.0.0.1:7071"))
    assert (there.semantic.address, there.embedder.address) == ("127.0.0.1:7071", "127.0.0.1:7071")
    assert there.model_copy(update={"semantic": settings.semantic, "embedder": settings.embedder}) == settings
    assert placed(settings, words("fill")) is settings


def test_a_server_that_is_no_address_is_refused(tmp_path):
    with pytest.raises(InvalidArgument, match="--server"):
        placed(load_settings(data=tmp_path), words("fill", "--server", "nowhere"))


def test_another_step_is_refused(capsys):
    with pytest.raises(SystemExit):
        words("begin")
    assert "invalid choice: 'begin'" in capsys.readouterr().err
