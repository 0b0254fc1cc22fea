"""The client of language models, against an endpoint that misbehaves on purpose."""

import asyncio
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta

import pytest
import structlog
from endpoint import breaks_off, complains, drips, floods, hangs, open_endpoint, resets, says, sends

from recallmesh.core.deadline import within
from recallmesh.core.errors import MeshError, NotReady, Overloaded, StoreUnavailable
from recallmesh.core.retain import Attachment
from recallmesh.endpoint.asking import TRIES
from recallmesh.retain.language import Message, Prompt, Reply, Role, Shape
from recallmesh.retain.openai import open_openai_model

NOW = datetime(2026, 8, 19, 10, tzinfo=UTC)
KEY = "sk-very-secret-1234"
SCHEMA = {"type": "object", "properties": {}, "required": [], "additionalProperties": False}
ASKED = Prompt("Note the facts.", (Message(Role.ASKER, ("Ida moved to Oslo.",)),), Shape("facts", SCHEMA))


@asynccontextmanager
async def open_model(endpoint, **parts):
    waits: list[float] = []

    async def sleep(seconds):
        waits.append(seconds)

    own = {"api_key": KEY, "vision": False, "timeout_s": 20.0, "in_flight": 4, "reply_tokens": 500} | parts
    async with open_openai_model(
        endpoint.url, "small-1", now=lambda: NOW, random=lambda: 1.0, sleep=sleep, **own
    ) as model:
        yield model, waits


async def ask(*script, always=None, prompt=ASKED, **parts):
    """Return what came of asking, what the endpoint was asked, and how long was waited."""
    async with open_endpoint(*script, always=always) as endpoint, open_model(endpoint, **parts) as (model, waits):
        try:
            came = await model.answer(prompt)
        except MeshError as error:
            came = error
        return came, endpoint.asked, waits


async def test_the_answer_is_what_the_model_says_and_costs_what_it_counts():
    came, [asked], waits = await ask(says("{}", tokens=42))
    assert came == Reply("{}", tokens=42)
    assert waits == []
    assert asked.path == "/v1/chat/completions"
    assert asked.headers["authorization"] == f"bearer {KEY}"
    assert asked.body == {
        "model": "small-1",
        "messages": [
            {"role": "system", "content": "Note the facts."},
            {"role": "user", "content": "Ida moved to Oslo."},
        ],
        "max_completion_tokens": 500,
        "temperature": 0,
        "response_format": {
            "type": "json_schema",
            "json_schema": {"name": "facts", "schema": SCHEMA, "strict": True},
        },
    }


async def test_images_are_sent_in_their_place():
    parts = ("before", Attachment("image/png", b"\x89PNG"), "behind")
    came, [asked], _ = await ask(says("{}"), prompt=Prompt("Note.", (Message(Role.ASKER, parts),), ASKED.shape))
    assert came.text == "{}"
    assert asked.body["messages"][1]["content"] == [
        {"type": "text", "text": "before"},
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw=="}},
        {"type": "text", "text": "behind"},
    ]


async def test_an_answer_that_was_not_counted_is_estimated():
    body = {"choices": [{"message": {"content": "x" * 400}}]}
    came, _, _ = await ask(sends(body))
    assert came.tokens == (400 + len("Note the facts.Ida moved to Oslo.")) // 4


@pytest.mark.parametrize(
    "misdeed",
    [
        complains("boom", 500),
        complains("loading the model", 503),
        complains("overloaded", 529),
        sends(b"<html>bad gateway</html>", 502),
        resets,
        breaks_off,
        floods,
        sends(b'{"choices": [{"message": {"content": "{'),
        sends({"choices": []}),
        sends({"error": "nothing to say"}),
        sends([1, 2]),
        sends({"choices": [{"message": None}]}),
        sends({"choices": [{"message": {"content": ["a", "b"]}}]}),
    ],
)
async def test_what_fails_in_passing_is_tried_again_and_then_an_error(misdeed):
    came, asked, waits = await ask(misdeed, misdeed, says('{"a": 1}'))
    assert came == Reply('{"a": 1}', tokens=100)
    assert (len(asked), waits) == (3, [0.5, 1.0])
    came, asked, waits = await ask(always=misdeed)
    assert type(came) is StoreUnavailable
    assert "language model" in came.message
    assert (len(asked), waits) == (TRIES, [0.5, 1.0, 2.0])


@pytest.mark.parametrize("misdeed", [hangs, drips])
async def test_an_answer_that_is_late_is_tried_again_and_then_an_error(misdeed):
    came, asked, _ = await ask(misdeed, says('{"a": 1}'), timeout_s=2.0)
    assert came == Reply('{"a": 1}', tokens=100)
    assert len(asked) == 2
    came, asked, waits = await ask(always=misdeed, timeout_s=0.2)
    assert type(came) is StoreUnavailable
    assert came.message == "the language model did not answer within 0.2 s"
    # On a busy machine a try may end before its connection is there.
    assert len(asked) <= TRIES
    assert waits == [0.5, 1.0, 2.0]


@pytest.mark.parametrize(
    ("said", "wait"),
    [
        ("7", 7.0),
        ("0", 0.0),
        ((NOW + timedelta(seconds=30)).strftime("%a, %d %b %Y %H:%M:%S GMT"), 30.0),
        ((NOW - timedelta(seconds=30)).strftime("%a, %d %b %Y %H:%M:%S GMT"), 0.0),
        ("soon", 0.5),
    ],
)
async def test_an_endpoint_that_says_when_to_come_again_is_obeyed(said, wait):
    came, _, waits = await ask(complains("slow down", 429, Retry_After=said), says("{}"))
    assert came.text == "{}"
    assert waits[0] == wait


async def test_whoever_asks_meanwhile_waits_too():
    busy = complains("slow down", 429, Retry_After="9")
    async with open_endpoint(busy, always=says("{}")) as endpoint, open_model(endpoint) as (model, waits):
        await model.answer(ASKED)
        await model.answer(ASKED)
    assert waits[0] == 9.0
    assert [8.0 < wait <= 9.0 for wait in waits[1:]] == [True, True]


async def test_what_is_asked_too_often_is_overloaded_and_says_when_to_come_again():
    came, asked, _ = await ask(always=complains("slow down", 429, Retry_After="3"))
    assert type(came) is Overloaded
    assert came.retry_after == timedelta(seconds=3)
    assert len(asked) == TRIES
    came, asked, waits = await ask(always=complains("slow down", 429, Retry_After="3600"))
    assert (type(came), came.retry_after, len(asked), waits) == (Overloaded, timedelta(hours=1), 1, [])


async def test_no_wait_is_longer_than_the_call_has_left():
    with within(2.0):
        came, asked, waits = await ask(always=complains("slow down", 429, Retry_After="3"))
    assert (type(came), len(asked), waits) == (Overloaded, 1, [])


@pytest.mark.parametrize(
    ("misdeed", "words"),
    [
        (complains(f"Incorrect API key provided: {KEY}", 401), "refused this service's credential"),
        (complains("no", 403), "refused this service's credential"),
        (complains("the model small-1 does not exist", 404), "knows no such model"),
        (complains("the context window is 8192 tokens", 400), "refused the request (status 400)"),
        (complains("too large", 413), "refused the request (status 413)"),
        (sends({"error": {"message": "pay first", "code": "insufficient_quota"}}, 429), "quota"),
    ],
)
async def test_what_would_fail_again_is_asked_once_and_the_key_is_told_nobody(misdeed, words):
    with structlog.testing.capture_logs() as logs:
        came, asked, waits = await ask(always=misdeed)
    assert type(came) is NotReady
    assert words in came.message
    assert (len(asked), waits) == (1, [])
    assert logs
    assert KEY not in f"{logs} {came.message}"


async def test_what_an_endpoint_does_not_know_is_asked_otherwise_from_then_on():
    refusals = [
        complains("Unsupported parameter: 'max_completion_tokens'; use 'max_tokens'"),
        complains("temperature does not support 0 with this model", 422),
        complains("response_format.type json_schema is not supported"),
        complains("'response_format' is not supported"),
    ]
    async with open_endpoint(*refusals, always=says("{}")) as endpoint, open_model(endpoint) as (model, waits):
        assert (await model.answer(ASKED)).text == "{}"
        assert (await model.answer(ASKED)).text == "{}"
    assert waits == []
    assert [sorted(asked.body.keys() - {"model", "messages"}) for asked in endpoint.asked] == [
        ["max_completion_tokens", "response_format", "temperature"],
        ["max_tokens", "response_format", "temperature"],
        ["max_tokens", "response_format"],
        ["max_tokens", "response_format"],
        ["max_tokens"],
        ["max_tokens"],
    ]
    forms = [asked.body.get("response_format", {}).get("type") for asked in endpoint.asked]
    assert forms[2:] == ["json_schema", "json_object", None, None]
    told = ["JSON Schema" in asked.system for asked in endpoint.asked]
    assert told == [False, False, False, True, True, True]


async def test_no_more_is_under_way_than_is_allowed():
    async def slow(asked, writer):
        await asyncio.sleep(0.02)
        await says("{}")(asked, writer)

    async with open_endpoint(always=slow) as endpoint, open_model(endpoint, in_flight=2) as (model, _):
        await asyncio.gather(*(model.answer(ASKED) for _ in range(8)))
    assert (len(endpoint.asked), endpoint.most_under_way) == (8, 2)


async def test_a_refusal_and_a_cut_are_told_apart_from_an_answer():
    came, _, _ = await ask(says(None, refusal="I will not"))
    assert (came.text, came.refusal) == ("", "I will not")
    came, _, _ = await ask(says("", finish="content_filter"))
    assert came.refusal
    came, _, _ = await ask(says('{"pass', finish="length"))
    assert (came.text, came.cut) == ('{"pass', True)


async def test_a_call_that_is_given_up_leaves_nothing_under_way():
    async with open_endpoint(always=hangs) as endpoint, open_model(endpoint, timeout_s=30.0) as (model, _):
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.2):
                await model.answer(ASKED)
        await endpoint.idle.wait()


async def test_what_was_told_goes_to_no_other_address():
    async with open_endpoint(always=says("{}")) as elsewhere:
        came, asked, _ = await ask(sends(b"", 307, Location=f"{elsewhere.url}/chat/completions"))
        assert elsewhere.asked == []
    assert type(came) is NotReady
    assert "status 307" in came.message
    assert len(asked) == 1


async def test_what_the_environment_says_for_openai_itself_is_not_told_another_endpoint(monkeypatch):
    for name in ("OPENAI_ORG_ID", "OPENAI_PROJECT_ID", "OPENAI_API_KEY"):
        monkeypatch.setenv(name, "somebody-elses")
    _, [asked], _ = await ask(says("{}"), api_key="")
    assert "somebody-elses" not in str(asked.headers)
