"""The command line with a language model: an endpoint on loopback that behaves, and one that does not."""

import asyncio
import hashlib
import os
import sys

import pytest
from endpoint import complains, open_endpoint, says
from note_taker import takes_notes

pytestmark = pytest.mark.timeout(600)
PNG = b"\x89PNG\r\n\x1a\n" + b"a bridge" * 100
KEY = "sk-not-for-anyone-1234"
COMMAND = (sys.executable, "-c", "import sys; from recallmesh.cli import main; sys.exit(main())")
SAID = "Leo: I adopted a dog yesterday, a greyhound called Pixel."


@pytest.fixture
def run(tmp_path):
    async def run(endpoint, *words, **settings):
        own = {"LLM__URL": endpoint.url, "LLM__MODEL": "tidy", "LLM__API_KEY": KEY, "DATA": str(tmp_path)} | settings
        process = await asyncio.create_subprocess_exec(
            *COMMAND,
            *words,
            env={**os.environ, **{f"RECALLMESH_{name}": value for name, value in own.items()}},
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        out, err = await process.communicate()
        return process.returncode, out.decode(), err.decode()

    return run


def retain(*words):
    return ("retain", "--bank", "diary", "--time", "2026-03-21", *words)


async def test_a_model_makes_the_facts_that_are_recalled(run):
    async with open_endpoint(always=takes_notes) as endpoint:
        code, out, err = await run(endpoint, *retain("--text", SAID))
        assert (code, err) == (0, "")
        assert "1 memor" in out
        code, out, err = await run(endpoint, "recall", "--bank", "diary", "--no-rerank", "What did Leo adopt?")
    assert (code, err) == (0, "")
    assert "I adopted a dog yesterday (20 March 2026)" in out
    assert len(endpoint.asked) == 1
    assert endpoint.asked[0].headers["authorization"] == f"bearer {KEY}"


async def test_a_picture_is_read_by_a_model_that_sees_and_comes_back(run, tmp_path):
    own = tmp_path / "bridge.png"
    own.write_bytes(PNG)
    told = {"passages": [{"passage": 1, "facts": [{"number": 1, "what": "A red bridge in Molde.", "images": [1]}]}]}
    async with open_endpoint(always=says(told)) as endpoint:
        code, _, err = await run(endpoint, *retain("--text", "Look:", "--attach", str(own)))
        assert (code, "no extractor here can read images" in err) == (1, True)
        assert endpoint.asked == []
        code, _, err = await run(endpoint, *retain("--text", "Look:", "--attach", str(own)), LLM__VISION="true")
        assert (code, err) == (0, "")
    sent = endpoint.asked[0].body["messages"][1]["content"]
    assert [part["type"] for part in sent] == ["text", "image_url", "text"]
    code, out, err = await run(endpoint, "recall", "--bank", "diary", "--no-rerank", "Which bridge?")
    assert (code, err) == (0, "")
    name = hashlib.sha256(PNG).hexdigest()
    assert f"image {name}" in out
    back = tmp_path / "back.png"
    code, out, err = await run(endpoint, "attachment", "--bank", "diary", name, "--output", str(back))
    assert (code, err, out) == (0, "", f"image/png, {len(PNG)} bytes, in {back}\n")
    assert back.read_bytes() == PNG


async def test_a_model_that_is_of_no_use_is_an_error_and_keeps_nothing(run):
    async with open_endpoint(
        says("I would rather not."), always=complains(f"Incorrect API key: {KEY}", 401)
    ) as endpoint:
        code, out, err = await run(endpoint, *retain("--text", SAID))
        assert (code, out) == (1, "")
        assert "refused this service's credential" in err
        assert "Traceback" not in err
        assert KEY not in err
        code, out, _ = await run(endpoint, "recall", "--bank", "diary", "--no-rerank", "What did Leo adopt?")
    assert code == 0
    assert "Leo" not in out
    assert len(endpoint.asked) == 2
