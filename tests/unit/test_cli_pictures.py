"""Pictures on the command line: beside a text, and named by lines of JSONL."""

import base64
import json

import pytest
from seeing import SIGNATURES, picture

from recallmesh.cli.entry import main
from recallmesh.cli.lines import read_line, weight
from recallmesh.cli.pictures import read_picture
from recallmesh.core.errors import InvalidArgument
from recallmesh.core.limits import ATTACHMENT_BYTES

BRIDGE = picture("a bridge")


@pytest.fixture
def folder(tmp_path):
    own = tmp_path / "lines"
    (own / "below").mkdir(parents=True)
    (own / "bridge.png").write_bytes(BRIDGE.data)
    (own / "below" / "boat.jpg").write_bytes(picture("a boat", "image/jpeg").data)
    (own / "notes.txt").write_text("no picture")
    (tmp_path / "private.png").write_bytes(BRIDGE.data)
    return own


def read(folder, content):
    return read_line(json.dumps({"content": content}).encode(), "line 3", folder=folder)


def refused(folder, content):
    with pytest.raises(InvalidArgument) as caught:
        read(folder, content)
    [violation] = caught.value.violations
    return violation.field, violation.description


def test_a_line_may_name_pictures_beside_it_and_bring_them(folder):
    item = read(folder, ["Look:", {"file": "bridge.png"}, "and", {"file": "below/boat.jpg"}])
    assert item.content == ("Look:", BRIDGE, "and", picture("a boat", "image/jpeg"))
    data = base64.b64encode(BRIDGE.data).decode()
    assert read(folder, [{"media_type": "image/png", "data": data}]).content == (BRIDGE,)
    assert read(folder, "Look:").content == ("Look:",)


@pytest.mark.parametrize("name", ["../private.png", "below/../../private.png", "/etc/hostname"])
def test_a_line_fetches_nothing_from_elsewhere(folder, name):
    field, description = refused(folder, [{"file": name}])
    assert field == "line 3.content[0].file"
    assert "is not in the folder of the lines" in description


def test_a_link_out_of_the_folder_is_elsewhere_too(folder):
    (folder / "link.png").symlink_to(folder.parent / "private.png")
    assert "is not in the folder" in refused(folder, [{"file": "link.png"}])[1]


@pytest.mark.parametrize(
    ("content", "field", "words"),
    [
        ([{"file": "gone.png"}], "line 3.content[0].file", "No such file"),
        ([{"file": "notes.txt"}], "line 3.content[0].file", "none of image/png"),
        (["a", {"image": "x"}], "line 3.content[1]", 'must be a string, {"file"'),
        (["a", 7], "line 3.content[1]", "must be a string"),
        ([{"file": "bridge.png", "more": 1}], "line 3.content[0]", "must be a string"),
        ([{"media_type": "image/png", "data": "%%%"}], "line 3.content[0].data", "is no base64"),
        ([{"media_type": "image/gif", "data": "aGVsbG8="}], "line 3.content[0].attachment.data", "none of the kind"),
        ([], "line 3.content", "is blank"),
        (7, "line 3.content", "must be a string"),
    ],
)
def test_a_wrong_block_is_told_by_its_place(folder, content, field, words):
    told, description = refused(folder, content)
    assert told == field
    assert words in description


def test_a_line_weighs_what_its_files_do(folder):
    light = b'{"content": "a"}'
    assert weight(light, folder=folder) == len(light)
    heavy = b'{"content": [{"file": "bridge.png"}]}'
    assert weight(heavy, folder=folder) == len(heavy) + len(BRIDGE.data)
    wrong = b'{"content": [{"file": "gone.png"}]}'
    assert weight(wrong, folder=folder) == len(wrong)


def test_a_picture_larger_than_may_be_sent_is_not_read_to_its_end(folder):
    (folder / "large.png").write_bytes(SIGNATURES["image/png"] + b"x" * ATTACHMENT_BYTES)
    with pytest.raises(InvalidArgument, match="has more than 2097152 bytes"):
        read_picture(folder / "large.png", "--attach")


def test_attach_is_for_text_alone(capsys, folder):
    assert main(["retain", "--bank", "b", "--file", "x.jsonl", "--attach", str(folder / "bridge.png")]) == 2
    assert '--attach: is for --text alone; a line of JSONL has its own "content"' in capsys.readouterr().err


def test_a_file_that_is_no_picture_is_refused_before_anything_is_opened(capsys, folder, tmp_path):
    words = ["retain", "--bank", "b", "--text", "x", "--data", str(tmp_path / "data")]
    assert main([*words, "--attach", str(folder / "notes.txt")]) == 2
    assert "notes.txt is none of image/png" in capsys.readouterr().err
    assert not (tmp_path / "data").exists()
