"""The embedder and the reranker on servers that misbehave on purpose."""

import asyncio
import json
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import pytest
import structlog
from encoder_server import EncoderServer, LengthReranker, LetterEmbedder, open_encoder_server, tei_url
from endpoint import breaks_off, drips, floods, hangs, resets, sends

from recallmesh.core.deadline import within
from recallmesh.core.encoder import EmbedKind
from recallmesh.core.errors import ArmTimeout, MeshError, NotReady, Overloaded, StoreUnavailable
from recallmesh.embedder.openai import open_openai_embedder
from recallmesh.embedder.tei import open_tei_embedder
from recallmesh.endpoint.asking import TRIES
from recallmesh.onnx.pool import UNWATCHED
from recallmesh.reranker.tei import open_tei_reranker

NOW = datetime(2026, 8, 19, 10, tzinfo=UTC)
KEY = "tei-very-secret-1234"
TEXTS = ("Bea moved to Trondheim.", "The invoice was paid twice.", "a")


@dataclass
class Bed:
    """What is tested, what it asks, and how long it waited."""

    encoder: object
    endpoint: object
    server: EncoderServer
    waits: list

    async def ask(self):
        """Return what comes of one call, and the paths that were asked for it."""
        before = len(self.endpoint.asked)
        self.waits.clear()
        try:
            if hasattr(self.encoder, "embed"):
                came = await self.encoder.embed(TEXTS, EmbedKind.PASSAGE)
            else:
                came = await self.encoder.rerank("Where does Bea live?", TEXTS)
        except MeshError as error:
            came = error
        return came, [asked.path for asked in self.endpoint.asked[before:]]


OPENERS = {"tei": open_tei_embedder, "openai": open_openai_embedder, "rerank": open_tei_reranker}


def server_of(kind, **own):
    made = {"reranker": LengthReranker()} if kind == "rerank" else {"embedder": LetterEmbedder()}
    return EncoderServer(**made, **own)


@asynccontextmanager
async def open_bed(kind, *script, server=None, **own):
    """Open one of them on a server that acts by the script once it is open."""
    waits = []

    async def sleep(seconds):
        waits.append(seconds)

    server = server or server_of(kind)
    given = {"api_key": KEY, "timeout_s": 20.0, "watch": UNWATCHED, "now": lambda: NOW, "random": lambda: 1.0} | own
    async with open_encoder_server(server) as endpoint:
        url = endpoint.url if kind == "openai" else tei_url(endpoint)
        words = ("small-1",) if kind == "openai" else ()
        async with OPENERS[kind](url, *words, **given) as encoder:
            source = encoder._source
            asking = source._asking if kind == "openai" else source._server._asking
            asking._sleep = sleep
            endpoint.script.extend(script)
            yield Bed(encoder, endpoint, server, waits)


@pytest.fixture(params=OPENERS)
def kind(request):
    return request.param


async def well(kind):
    async with open_bed(kind) as bed:
        came, _ = await bed.ask()
        assert len(came) == len(TEXTS)
        return came


def answer(body, **more):
    """Return what a well-formed answer of a kind looks like, changed."""
    return sends(body, **more)


BROKEN = {
    "tei": [
        b"[[1, 2",
        {"embeddings": []},
        [[1.0, 2.0]] * 2,
        [[1.0], [2.0, "x"], [3.0]],
        [[1.0, None]] * 3,
        [[0.0] * 8] * 3,
    ],
    "openai": [
        b'{"data": [{"index": 0, "embed',
        {"data": []},
        {"data": [{"index": 0, "embedding": [1.0] * 8}] * 3},
        {"error": "nothing to say"},
        {"data": [{"index": index, "embedding": [0.0] * 8} for index in range(3)]},
    ],
    "rerank": [
        b'[{"index": 0, "sc',
        [],
        [{"index": 0, "score": 1.0}] * 3,
        [{"index": index, "score": 1.0} for index in (0, 1, 3)],
        [{"index": index, "score": None} for index in range(3)],
        {"error": "nothing to say", "error_type": "Backend"},
    ],
}
MISDEEDS = [resets, breaks_off, floods, sends(b"<html>bad gateway</html>", 502), sends(b"", 503), sends(b"", 529)]


async def test_what_fails_in_passing_is_tried_again_and_then_an_error(kind, monkeypatch):
    for module in ("embedder.openai", "tei.httpx2"):
        monkeypatch.setattr(f"recallmesh.{module}.LARGEST_REPLY_BYTES", 100_000)
    expected = await well(kind)
    async with open_bed(kind) as bed:
        for misdeed in (*MISDEEDS, *map(sends, BROKEN[kind])):
            bed.endpoint.script.extend((misdeed, misdeed))
            came, asked = await bed.ask()
            assert came == expected
            assert (len(asked), bed.waits) == (3, [0.1, 0.2])
            bed.endpoint.script.extend([misdeed] * TRIES)
            came, asked = await bed.ask()
            assert type(came) is StoreUnavailable
            assert (len(asked), bed.waits) == (TRIES, [0.1, 0.2, 0.4])


@pytest.mark.parametrize(("kind", "misdeed"), [("tei", hangs), ("openai", drips)])
async def test_an_answer_that_is_late_is_tried_again(kind, misdeed):
    async with open_bed(kind, misdeed, timeout_s=2.0) as bed:
        came, asked = await bed.ask()
        assert (len(came), len(asked)) == (len(TEXTS), 2)


async def test_answers_that_stay_late_are_an_error(kind):
    async with open_bed(kind) as bed:
        source = bed.encoder._source
        (source if kind == "openai" else source._server)._timeout_s = 0.1
        bed.endpoint.script.extend([hangs] * TRIES)
        came, _ = await bed.ask()
        assert type(came) is StoreUnavailable
        assert came.message.endswith("did not answer within 0.1 s")


@pytest.mark.parametrize(
    ("said", "wait"),
    [
        ("7", 7.0),
        ((NOW + timedelta(seconds=30)).strftime("%a, %d %b %Y %H:%M:%S GMT"), 30.0),
        ("soon", 0.1),
        (None, 0.1),
    ],
)
async def test_a_server_that_is_overloaded_is_left_alone_as_long_as_it_says(kind, said, wait):
    headers = {} if said is None else {"Retry_After": said}
    busy = sends({"error": "Model is overloaded", "error_type": "Overloaded"}, 429, **headers)
    async with open_bed(kind, busy) as bed:
        came, _ = await bed.ask()
        assert (len(came), bed.waits[0]) == (len(TEXTS), wait)


async def test_one_that_stays_overloaded_is_said_to_be(kind):
    busy = sends({"error": "Model is overloaded", "error_type": "Overloaded"}, 429, Retry_After="3")
    async with open_bed(kind, *[busy] * TRIES) as bed:
        came, asked = await bed.ask()
        assert (type(came), came.retry_after, len(asked)) == (Overloaded, timedelta(seconds=3), TRIES)
    late = sends(b"", 429, Retry_After="3600")
    async with open_bed(kind, late) as bed:
        came, asked = await bed.ask()
        assert (type(came), came.retry_after, len(asked)) == (Overloaded, timedelta(hours=1), 1)


async def test_no_wait_is_longer_than_the_call_has_left(kind):
    async with open_bed(kind, sends(b"", 429, Retry_After="3")) as bed:
        with within(2.0):
            came, asked = await bed.ask()
        assert (type(came), len(asked), bed.waits) == (Overloaded, 1, [])


@pytest.mark.parametrize(
    ("status", "words"),
    [
        (401, "refused this service's credential"),
        (403, "refused this service's credential"),
        (404, "knows no such model or address"),
        (307, "refused the request (status 307)"),
        (422, "refused the request (status 422)"),
        (424, "has a model that is not for this"),
    ],
)
async def test_what_would_fail_again_is_asked_once_and_the_key_is_told_nobody(kind, status, words):
    refusal = sends({"error": f"no: {KEY}", "error_type": "Validation"}, status, Location="http://127.0.0.1:9/")
    async with open_bed(kind, refusal) as bed:
        with structlog.testing.capture_logs() as logs:
            came, asked = await bed.ask()
        assert type(came) is NotReady
        assert words in came.message
        assert (len(asked), bed.waits) == (1, [])
        assert logs
        assert KEY not in f"{logs} {came.message}"


async def test_a_batch_that_is_found_too_large_is_sent_in_halves_with_the_same_result(kind):
    expected = await well(kind)
    server = server_of(kind)
    async with open_bed(kind, server=server) as bed:
        server.most = 1
        came, asked = await bed.ask()
        assert came == expected
        # Three texts, then the first and the other two, then these one by one.
        assert len(asked) == 5
        bed.endpoint.script.extend([sends(b"too much", 413)] * 100)
        came, _ = await bed.ask()
        assert type(came) is NotReady
        assert "large" in came.message or "long" in came.message


async def test_no_batch_is_larger_than_the_server_takes_or_the_settings_say(kind):
    texts = tuple(f"text number {number}" for number in range(70))
    for most, given, largest in ((32, None, 32), (512, None, 128), (512, 10, 10), (8, 10, 8)):
        if kind == "openai" and most < 512:
            continue  # endpoints of its protocol do not say what they take
        server = server_of(kind, most=most)
        async with open_bed(kind, server=server, batch_size=given) as bed:
            seen = (server.embedder or server.reranker).batches
            seen.clear()
            if kind == "rerank":
                await bed.encoder.rerank("q", texts)
            else:
                await bed.encoder.embed(texts, EmbedKind.PASSAGE)
            assert max(map(len, seen)) == min(largest, len(texts))
            assert sorted(text for batch in seen for text in batch) == sorted(texts)


async def test_nobody_there_is_an_error_that_says_so(kind):
    words = ("small-1",) if kind == "openai" else ()
    opening = OPENERS[kind](
        "http://127.0.0.1:9", *words, api_key="", watch=UNWATCHED, now=lambda: NOW, random=lambda: 0.0
    )
    with pytest.raises(StoreUnavailable, match="does not answer"):
        async with opening:
            pass


async def test_a_call_that_is_given_up_leaves_nothing_under_way_and_no_place_taken(kind):
    async with open_bed(kind, *[hangs] * 9, timeout_s=30.0, in_flight=1, queue=4) as bed:
        for _ in range(3):
            with within(0.05):
                came, _ = await bed.ask()
            assert type(came) is ArmTimeout
        await bed.endpoint.idle.wait()
        bed.endpoint.script.clear()
        came, _ = await bed.ask()
        assert len(came) == len(TEXTS)
        assert bed.encoder._source._gate._waiting == {False: 0, True: 0}


async def test_what_waits_is_bounded_but_one_call_may_be_of_any_size(kind):
    asked, answer = asyncio.Event(), asyncio.Event()
    async with open_bed(kind, in_flight=1, queue=2, batch_size=2) as bed:

        async def held(request, writer):
            asked.set()
            await answer.wait()
            await bed.server(request, writer)

        bed.endpoint.script.append(held)
        first = asyncio.create_task(bed.ask())
        await asked.wait()
        # Two of its texts are asked for, and the third waits.
        refused, _ = await bed.ask()
        assert type(refused) is Overloaded
        answer.set()
        came, _ = await first
        assert len(came) == len(TEXTS)
        assert bed.endpoint.most_under_way == 1


async def test_what_the_environment_says_for_openai_itself_is_not_told_another_endpoint(monkeypatch):
    for name in ("OPENAI_ORG_ID", "OPENAI_PROJECT_ID", "OPENAI_API_KEY"):
        monkeypatch.setenv(name, "somebody-elses")
    async with open_bed("openai", api_key="") as bed:
        await bed.ask()
        assert "somebody-elses" not in str([asked.headers for asked in bed.endpoint.asked])


@pytest.mark.parametrize("kind", ["tei", "rerank"])
async def test_a_key_is_sent_and_a_wrong_one_refused(kind):
    async with open_bed(kind, server=server_of(kind, key=KEY)) as bed:
        came, _ = await bed.ask()
        assert len(came) == len(TEXTS)
    with pytest.raises(NotReady, match="credential"):
        async with open_bed(kind, server=server_of(kind, key="another")):
            pass


@pytest.mark.parametrize("kind", ["tei", "rerank"])
async def test_a_server_with_another_model_than_is_meant_is_refused(kind):
    with pytest.raises(NotReady, match=r"has the model 'BAAI/bge-small-en-v1.5', not 'e5' as the settings say"):
        async with open_bed(kind, model="e5"):
            pass
    async with open_bed(kind, model="BAAI/bge-small-en-v1.5") as bed:
        await bed.encoder.check()
    other = "rerank" if kind == "tei" else "tei"
    with pytest.raises(NotReady, match="a model of another kind"):
        async with open_bed(kind, server=server_of(other)):
            pass


@pytest.mark.parametrize("kind", ["tei", "rerank"])
async def test_a_server_that_gets_another_model_is_ready_no_more(kind):
    server = server_of(kind)
    async with open_bed(kind, server=server) as bed:
        await bed.encoder.check()
        server.more = {"model_sha": "e985a63c"}
        with pytest.raises(NotReady, match="start anew"):
            await bed.encoder.check()
        server.more = {}
        await bed.encoder.check()
        bed.endpoint.script.append(sends({"error": "unhealthy", "error_type": "Unhealthy"}, 503))
        with pytest.raises(StoreUnavailable):
            await bed.encoder.check()


@pytest.mark.parametrize(
    "said", [b"", b"{}", b"<html>", b'{"model_id": 7}', b'{"model_id": "m", "max_input_length": 0}']
)
async def test_what_is_no_server_of_encoders_is_said_to_be_none(said):
    async with open_encoder_server(server_of("tei"), *[sends(said)] * TRIES) as endpoint:
        opening = open_tei_embedder(tei_url(endpoint), api_key="", watch=UNWATCHED, now=lambda: NOW, random=lambda: 0.0)
        with pytest.raises(StoreUnavailable, match="no server of encoders"):
            async with opening:
                pass


async def test_another_version_that_says_less_of_itself_is_understood():
    said = sends({"model_id": "thenlper/gte-base", "model_pooling": "cls", "new": [1]})
    async with open_encoder_server(server_of("tei"), said) as endpoint:
        opening = open_tei_embedder(tei_url(endpoint), api_key="", watch=UNWATCHED, now=lambda: NOW, random=lambda: 0.0)
        async with opening as embedder:
            assert (await embedder.info()).name == "thenlper/gte-base"


@pytest.mark.parametrize("kind", ["tei", "openai"])
async def test_vectors_of_another_size_are_refused(kind):
    rows = [[1.0] * 9] * len(TEXTS)
    body = rows if kind == "tei" else {"data": [{"index": i, "embedding": row} for i, row in enumerate(rows)]}
    body = body if kind == "tei" else body | {"model": "BAAI/bge-small-en-v1.5"}
    async with open_bed(kind, sends(body)) as bed:
        came, _ = await bed.ask()
        assert type(came) is StoreUnavailable
        assert came.message == "the model makes vectors of 9 dimensions, not 8"


async def test_an_endpoint_whose_model_changes_is_not_taken_for_the_same():
    server = server_of("openai")
    async with open_bed("openai", server=server) as bed:
        server.name = "another"
        came, asked = await bed.ask()
        assert type(came) is NotReady
        assert "'another' now, not 'BAAI/bge-small-en-v1.5'" in came.message
        assert len(asked) == 1


async def test_an_endpoint_is_asked_whether_it_is_well_only_after_it_failed():
    async with open_bed("openai") as bed:
        before = len(bed.endpoint.asked)
        await bed.encoder.check()
        assert len(bed.endpoint.asked) == before
        bed.endpoint.script.extend([resets] * (TRIES + 1))
        await bed.ask()
        with pytest.raises(StoreUnavailable):
            await bed.encoder.check()
        await bed.encoder.check()
        await bed.encoder.check()
        assert len(bed.endpoint.asked) == before + TRIES + 2


@pytest.mark.parametrize(
    "refusal",
    [
        ("This model's maximum context length is 8192 tokens, however you requested 9000 tokens", 400),
        ("the input length exceeds the context length", 400),
        ("input (600 tokens) is too large to process. increase the physical batch size", 500),
    ],
)
async def test_a_text_beyond_the_window_is_cut_and_its_vector_is_its_own(refusal):
    message, status = refusal
    long = "b" * 1000
    server = server_of("openai")

    async def windowed(asked, writer):
        if any(len(text) > 500 for text in asked.body["input"]):
            await sends({"error": {"message": message}}, status)(asked, writer)
        else:
            await server(asked, writer)

    async with open_bed("openai", server=server) as bed:
        bed.endpoint.always = windowed
        alone = await bed.encoder.embed((long,), EmbedKind.PASSAGE)
        others = await bed.encoder.embed((*TEXTS, long), EmbedKind.PASSAGE)
        assert others[-1] == alone[0]
        sent = [text for asked in bed.endpoint.asked for text in asked.body["input"] if set(text) == {"b"}]
        assert max(map(len, sent)) == 1000
        assert 400 < min(map(len, sent)) <= 500


@pytest.mark.parametrize("kind", ["tei", "openai"])
async def test_prefixes_stand_before_what_they_are_for_and_tell_models_apart(kind):
    fingerprints = set()
    for own in ({}, {"query_prefix": "query: "}, {"passage_prefix": "query: "}):
        async with open_bed(kind, **own) as bed:
            fingerprints.add((await bed.encoder.info()).fingerprint)
            for each in EmbedKind:
                await bed.encoder.embed(("x",), each)
                body = bed.endpoint.asked[-1].body
                assert body.get("inputs", body.get("input")) == [own.get(f"{each}_prefix", "") + "x"]
    assert len(fingerprints) == 3


async def test_what_is_said_to_be_probabilities_must_be():
    async with open_bed("rerank") as bed:
        assert (await bed.encoder.info()).logits
        assert json.dumps(bed.endpoint.asked[-1].body["raw_scores"]) == "true"
    with pytest.raises(NotReady, match="RECALLMESH_RERANKER__SCORES=logits"):
        async with open_bed("rerank", logits=False):
            pass


async def test_dimensions_are_asked_for_and_must_come():
    with pytest.raises(StoreUnavailable, match="8 dimensions, not 16 as the settings say"):
        async with open_bed("openai", dimensions=16):
            pass
    async with open_bed("openai", dimensions=8) as bed:
        await bed.ask()
        assert bed.endpoint.asked[-1].body["dimensions"] == 8
