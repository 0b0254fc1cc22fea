"""What a shard's log holds is on the disk when a write returns, whatever its files are called by then."""

from pathlib import Path

import pytest

from recallmesh.vectors.edge import SYNC_TRIES, sync_folder


class Renaming(type(Path())):
    """A folder that gives a file its name just after it was listed, a number of times."""

    times = 0
    listed = 0

    def iterdir(self):
        self.listed += 1
        found = list(super().iterdir())
        if self.times:
            self.times -= 1
            found[0].rename(found[0].with_name(f"open-{self.listed}"))
        return iter(found)


@pytest.fixture
def folder(tmp_path):
    made = Renaming(tmp_path)
    made.joinpath("tmp-1").write_bytes(b"log")
    return made


def test_a_file_that_was_renamed_meanwhile_is_looked_for_anew(folder):
    folder.times = SYNC_TRIES - 1
    sync_folder(folder)
    assert (folder.times, folder.listed) == (0, SYNC_TRIES)


def test_a_folder_that_does_not_come_to_rest_is_told(folder):
    folder.times = SYNC_TRIES
    with pytest.raises(FileNotFoundError):
        sync_folder(folder)


def test_a_folder_that_is_gone_is_told(tmp_path):
    with pytest.raises(FileNotFoundError):
        sync_folder(tmp_path / "gone")
