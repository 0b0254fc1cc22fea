"""The comparison of the protos finds what breaks a client, in any clone, and does not pass for want of a base."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
NAMES = {"GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@b", "GIT_COMMITTER_NAME": "a", "GIT_COMMITTER_EMAIL": "a@b"}


@pytest.fixture
def clone(tmp_path):
    """A copy of what is compared, in no repository."""
    shutil.copytree(ROOT / "protos", tmp_path / "protos")
    shutil.copy(ROOT / "buf.yaml", tmp_path)
    return tmp_path


def git(folder, *words):
    environment = os.environ | NAMES | {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CEILING_DIRECTORIES": str(folder.parent)}
    subprocess.run(["git", *words], cwd=folder, env=environment, check=True, capture_output=True)  # noqa: S607


def commit(folder, said):
    git(folder, "add", "--all")
    git(folder, "commit", "--message", said)


def compare(folder, *words):
    done = subprocess.run(
        [sys.executable, folder / "protos" / "breaking.py", *words],
        env=os.environ | {"GIT_CEILING_DIRECTORIES": str(folder.parent)},
        check=False,
        capture_output=True,
        text=True,
    )
    return done.returncode, done.stdout + done.stderr


def change(folder, old, new, file="recall_service"):
    path = folder / "protos" / "recallmesh" / "v1" / f"{file}.proto"
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf-8")


QUERY, ASKED = "string query = 2;", "string asked = 2;"


def test_without_a_repository_the_kept_image_is_what_is_compared_with(clone):
    assert compare(clone) == (0, "comparing the protos with the last release\n")
    change(clone, QUERY, ASKED)
    code, said = compare(clone)
    assert code == 1
    assert 'from "query" to "asked"' in said


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (QUERY, "int32 query = 2;"),
        (QUERY, "string query = 99;"),
        ("FUSION_INTERLEAVE = 2;", "FUSION_INTERLEAVED = 2;"),
        ("rpc ResolveTuning(ResolveTuningRequest) returns (ResolveTuningResponse);", ""),
    ],
    ids=["a type", "a number", "a value's name", "a method that goes"],
)
def test_what_breaks_the_bytes_the_json_or_a_call_is_refused(clone, old, new):
    change(clone, old, new)
    assert compare(clone)[0] == 1


def test_what_is_added_breaks_nobody(clone):
    change(clone, QUERY, f"{QUERY}\n\n  // More.\n  string more_of_it = 999;")
    assert compare(clone)[0] == 0


def test_without_the_image_nothing_passes(clone):
    (clone / "protos" / "released.binpb").unlink()
    code, said = compare(clone)
    assert (code, "released.binpb is gone" in said) == (1, True)


def test_the_last_tag_is_compared_with_and_not_main_which_may_have_broken_it_already(clone):
    change(clone, QUERY, f"{QUERY}\n\n  // More.\n  string more_of_it = 999;")
    git(clone, "init", "--initial-branch", "main")
    commit(clone, "a release with a new field")
    git(clone, "tag", "v9.9.9")
    git(clone, "tag", "another-kind-of-tag")
    change(clone, "string more_of_it = 999;", "string less_of_it = 999;")
    commit(clone, "a break on main")
    code, said = compare(clone)
    assert code == 1
    assert "comparing the protos with v9.9.9\n" in said
    # Of main alone, and of a release before it, nobody would have known.
    assert compare(clone, "main")[0] == 0


def test_an_image_is_kept_at_a_release(clone):
    change(clone, QUERY, ASKED)
    assert compare(clone, "--keep")[0] == 0
    assert compare(clone)[0] == 0
