"""Exports as files: a file is put in the place of another, and of nothing that is none."""

import argparse
import os
import threading

import pytest

from recallmesh.cli.moving import export_bank
from recallmesh.core.errors import InvalidArgument

DATA = b"one\ntwo\n"


class Exporting:
    async def export_bank(self, _ref):
        yield DATA


async def export(path):
    await export_bank(argparse.Namespace(bank="b", file=str(path)), Exporting())


async def test_a_file_is_put_in_the_place_of_one_and_a_link_stays_a_link(tmp_path):
    told, link = tmp_path / "b.jsonl", tmp_path / "link"
    told.write_bytes(b"before")
    link.symlink_to(told)
    await export(link)
    assert link.is_symlink()
    assert told.read_bytes() == DATA
    assert sorted(path.name for path in tmp_path.iterdir()) == ["b.jsonl", "link"]


async def test_a_pipe_is_written_to_and_stays_a_pipe(tmp_path):
    pipe, read = tmp_path / "pipe", []
    os.mkfifo(pipe)
    reader = threading.Thread(target=lambda: read.append(pipe.read_bytes()))
    reader.start()
    await export(pipe)
    reader.join(10)
    assert read == [DATA]
    assert pipe.is_fifo()


@pytest.mark.parametrize("name", [".", "gone/b.jsonl"])
async def test_where_no_file_can_be_is_refused(tmp_path, name):
    with pytest.raises(InvalidArgument, match="cannot be written"):
        await export(tmp_path / name)
    assert list(tmp_path.iterdir()) == []
