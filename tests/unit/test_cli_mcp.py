"""``recallmesh mcp``: words that are wrong are told before anything is opened."""

import socket
import sys

import pytest

import recallmesh.tools
from recallmesh.cli import main


@pytest.mark.parametrize(
    ("listen", "told"),
    [
        ("0.0.0.0:7080", "0.0.0.0 can be reached by others"),
        ("mesh.example:7080", "mesh.example can be reached by others"),
        ("7080", "'7080' is no host:port"),
        ("127.0.0.1:http", "'127.0.0.1:http' is no host:port"),
    ],
)
def test_an_address_that_others_could_reach_or_that_is_none_is_refused(listen, told, capsys):
    assert main(["mcp", "--listen", listen]) == 2
    out, errors = capsys.readouterr()
    assert out == ""
    assert f"listen: {told}" in errors
    assert "--listen HOST:PORT" in errors


def test_an_address_that_is_taken_is_told_before_a_mesh_is_opened(capsys, tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        listen = f"127.0.0.1:{taken.getsockname()[1]}"
        assert main(["mcp", "--listen", listen, "--data", str(tmp_path / "data")]) == 2
    assert f"listen: {listen} cannot be listened on: another process listens there" in capsys.readouterr().err
    assert not (tmp_path / "data").exists()


def test_without_the_extra_it_is_said_how_to_have_it(capsys, monkeypatch):
    monkeypatch.delattr(recallmesh.tools, "mcp", raising=False)
    monkeypatch.setitem(sys.modules, "recallmesh.tools.mcp", None)
    assert main(["mcp", "--bank", "diary"]) == 2
    assert "SDK is not installed: pip install 'recallmesh[mcp]'" in capsys.readouterr().err


def test_words_that_are_none_are_refused(capsys):
    with pytest.raises(SystemExit) as left:
        main(["mcp", "--banks", "diary"])
    assert left.value.code == 2
    assert "recallmesh mcp --help" in capsys.readouterr().err
