"""Requests and answers as JSON: what protobuf maps, both spellings, and the place of everything that is wrong."""

import json
import time

import pytest
from google.protobuf.message_factory import GetMessageClass
from hypothesis import given
from hypothesis import strategies as st

from recallmesh.core.errors import InvalidArgument
from recallmesh.core.gateway import Parameters, Written
from recallmesh.core.limits import MESSAGE_BYTES
from recallmesh.rpc.blame import json_path
from recallmesh.rpc.gateway import BANK, RECALL, RETAIN, services
from recallmesh.rpc.mapping import TOLD, json_from_message, loaded, message_from_json
from recallmesh.v1.bank_service_pb2 import CreateBankRequest, ListBanksResponse
from recallmesh.v1.memory_service_pb2 import ListMemoriesRequest
from recallmesh.v1.recall_service_pb2 import RecallRequest, RecallResponse
from recallmesh.v1.retain_service_pb2 import RetainRequest

METHODS = [method for service in services((*RECALL, *RETAIN, *BANK)) for method in service.methods]


def read(value, kind=RecallRequest):
    return message_from_json(Written(value if isinstance(value, bytes) else json.dumps(value).encode()), kind)


def refused(value, kind=RecallRequest):
    with pytest.raises(InvalidArgument) as caught:
        read(value, kind)
    return {one.field: one.description for one in caught.value.violations}


def asked(*pairs, kind=RecallRequest):
    return message_from_json(Parameters(pairs), kind)


def test_both_spellings_of_a_name_are_understood():
    assert read({"bankId": "b", "maxTokens": 3}) == read({"bank_id": "b", "max_tokens": 3})


def test_values_are_read_as_protobuf_maps_them():
    said = read(
        {
            "query": "grüße 👩‍🚀",
            "queryTime": "2026-03-21T10:05:00+01:00",
            "utcOffset": "3600s",
            "budget": "BUDGET_HIGH",
            "factTypes": ["FACT_TYPE_WORLD", 2],
            "limit": "7",
            "trace": True,
            "tuning": None,
        }
    )
    assert (said.query, said.query_time.seconds, said.utc_offset.seconds) == ("grüße 👩‍🚀", 1774083900, 3600)
    assert (said.budget, list(said.fact_types), said.limit, said.trace) == (3, [1, 2], 7, True)
    assert not said.HasField("tuning")
    assert read({"items": [{"content": [{"attachment": {"data": "3q2-7w=="}}]}]}, RetainRequest).items[0].content[
        0
    ].attachment.data == bytes.fromhex("deadbeef")


def test_nothing_at_all_is_an_empty_request():
    assert read(b"") == read(b" {} ") == RecallRequest()


def test_a_field_that_there_is_not_is_refused_by_its_name_with_the_one_that_may_be_meant():
    assert refused({"maxtokens": 1, "tuning": {"boosts": {}, "nonsense": 1}}) == {
        "maxtokens": "is no field of RecallRequest; did you mean maxTokens?",
        "tuning.nonsense": "is no field of RecallTuning",
    }
    assert refused({"items": [{}, {"contents": []}]}, RetainRequest) == {
        "items[1].contents": "is no field of RetainItem; did you mean content?"
    }


def test_a_value_that_does_not_fit_is_told_with_its_path_and_what_would():
    wrong = refused(
        {
            "bankId": 7,
            "limit": "many",
            "maxTokens": 2**31,
            "trace": "yes",
            "budget": "BUDGET_HUGE",
            "queryTime": "yesterday",
            "utcOffset": 7200,
            "factTypes": ["FACT_TYPE_WORLD", "FACT_TYPE_DREAM", None],
            "tags": [],
            "tuning": {"rrfK": 1.5, "budgetHits": {"low": "x"}},
        }
    )
    assert wrong["bankId"] == "is no text"
    assert wrong["limit"] == wrong["maxTokens"] == "is no whole number from -2147483648 to 2147483647"
    assert wrong["trace"] == "is neither true nor false"
    assert wrong["budget"].startswith("is none of BUDGET_LOW, BUDGET_MID")
    assert wrong["queryTime"] == "is no time such as 2026-03-21T10:05:00Z"
    assert wrong["utcOffset"] == "is no duration such as 7200s"
    assert wrong["factTypes[1]"].startswith("is none of FACT_TYPE_WORLD")
    assert wrong["factTypes[2]"] == "is null, which a list or map cannot hold"
    assert wrong["tags"] == "is no object, which TagTest is written as"
    assert "tuning.rrfK" in wrong


def test_what_is_in_lists_and_maps_has_a_path_too():
    wrong = refused({"items": [{"metadata": {"a.b": 1}, "tags": "x"}]}, RetainRequest)
    assert wrong == {
        'items[0].metadata["a.b"]': "is no text",
        "items[0].tags": "is no list",
    }


def test_bytes_are_base64_of_either_alphabet_and_nothing_else():
    def given(data):
        return {"items": [{"content": [{"attachment": {"data": data}}]}]}

    assert read(given("-_8="), RetainRequest) == read(given("+/8"), RetainRequest)
    for data in ("data:image/png;base64,AAAA", "A A", "?"):
        assert refused(given(data), RetainRequest) == {"items[0].content[0].attachment.data": "is no base64"}


def test_the_place_where_it_stops_being_json_is_told():
    assert refused(b'{"bankId": "b",\n "query" "q"}') == {
        "request": "is no JSON: line 2, column 10: Expecting ':' delimiter"
    }
    assert refused(b'{"query": "\xff"}') == {"request": "is not valid UTF-8 at byte 12"}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (b"[]", "no object"),
        (b'"text"', "no object"),
        (b'{"limit": NaN}', "NaN"),
        (b'{"limit": -Infinity}', "Infinity"),
        (b'{"limit": 1' + b"0" * 5000 + b"}", "too many digits"),
        (b'{"tags":' * 50_000, "nested too deeply"),
        ("﻿{}".encode(), "no JSON"),
        (b"{'bankId': 'b'}", "column 2"),
    ],
)
def test_what_is_no_json_object_is_refused(text, said):
    assert said in refused(text)["request"]


def test_text_that_is_no_unicode_is_refused_by_its_field():
    assert refused(b'{"query": "\\ud800"}') == {"query": "is text that is not valid Unicode"}
    assert refused(b'{"items":[{"metadata":{"k":"\\udc00"}}]}', RetainRequest) == {
        'items[0].metadata["k"]': "is text that is not valid Unicode"
    }


@pytest.mark.parametrize(
    ("value", "field"),
    [
        ({"\ud800": 1}, "\ud800"),
        ({"tuning": {"\ud800": 1}}, "tuning.\ud800"),
        ({"tuning": "\ud800"}, "tuning"),
        ({"budget": "\ud800"}, "budget"),
        ({"factTypes": ["\ud800"]}, "factTypes[0]"),
        ({"queryTime": "\ud800"}, "queryTime"),
        ({"limit": "\ud800"}, "limit"),
    ],
)
def test_half_a_character_is_refused_wherever_it_stands(value, field):
    assert list(refused(value)) == [field]


def test_a_name_that_comes_twice_is_found_at_once_among_however_many():
    names = b",".join(b'"%x":0' % number for number in range(100_000))
    began = time.process_time()
    with pytest.raises(InvalidArgument, match="z: comes twice in one object"):
        loaded(b"{" + names + b',"z":0,"z":0}')
    assert time.process_time() - began < 20  # each against each other takes four minutes


def test_a_name_comes_once_in_whatever_spelling():
    assert refused(b'{"limit": 1, "limit": 2}') == {"limit": "comes twice in one object"}
    assert refused({"bankId": "a", "bank_id": "b"}) == {"bank_id": "excludes bankId: only one of them can be said"}


def test_what_excludes_each_other_is_told():
    block = {"text": "t", "attachment": {}}
    assert refused({"items": [{"content": [block]}]}, RetainRequest) == {
        "items[0].content[0].attachment": "excludes text: only one of them can be said"
    }


def test_messages_nested_too_deeply_are_refused():
    tags = {"leaf": {}}
    for _ in range(200):
        tags = {"not": tags}
    (description,) = refused({"tags": tags}).values()
    assert description in ("is nested too deeply", "is no field of TagTest")


def test_no_more_faults_are_told_than_a_person_reads():
    assert len(refused({f"x{number}": 1 for number in range(1000)})) == TOLD


def test_a_message_above_the_limit_is_refused_with_the_limit():
    assert str(MESSAGE_BYTES) in refused({"query": "x" * (MESSAGE_BYTES + 1)})["request"]


def test_a_request_of_a_stream_is_told_with_its_line():
    with pytest.raises(InvalidArgument) as caught:
        message_from_json(Written(b'{"limit": "x"}', line=7), RecallRequest)
    assert caught.value.message.startswith("limit: line 7: is no whole number")


def test_a_query_string_says_the_same_as_json():
    pairs = [("bankId", "b"), ("fact_types", "FACT_TYPE_WORLD"), ("factTypes", "2"), ("trace", "true"), ("limit", "3")]
    window = {"start": "2026-01-01T00:00:00Z"}
    said = {"bankId": "b", "factTypes": [1, 2], "trace": True, "limit": 3, "window": window}
    assert asked(*pairs, ("window", json.dumps(window))) == read(said)


@pytest.mark.parametrize(
    ("pair", "said"),
    [
        (("bank", "b"), "did you mean bankId?"),
        (("trace", "yes"), "neither true nor false"),
        (("limit", ""), "no whole number"),
        (("budget", "99999999999999"), "none of BUDGET_LOW"),
        (("tags", "leaf"), "no JSON"),
        (("tags", "[" * 100_000), "no JSON"),
        (("tags", "3"), "no object"),
        (("query", "\udcff"), "not valid Unicode"),
        (("\udcff", "1"), "no field"),
        (("tags", '{"leaf": {}, "leaf": {}}'), "leaf comes twice"),
        (("tuning", '{"recencyAlpha": NaN}'), "holds NaN, which is no JSON"),
    ],
)
def test_what_is_wrong_in_a_query_string_is_told_by_name(pair, said):
    with pytest.raises(InvalidArgument, match=pair[0]) as caught:
        asked(pair)
    assert said in caught.value.message


def test_a_plain_field_comes_once_in_a_query_string():
    with pytest.raises(InvalidArgument, match="limit: comes twice"):
        asked(("limit", "1"), ("limit", "2"))


def test_an_answer_has_its_lists_and_numbers_even_when_they_are_empty():
    assert json.loads(json_from_message(ListBanksResponse())) == {"banks": [], "nextPageToken": ""}
    empty = json.loads(json_from_message(RecallResponse()))
    assert (empty["memories"], empty["omittedCount"], "window" in empty) == ([], 0, False)


def test_an_answer_is_one_line_whatever_its_texts_hold():
    written = json_from_message(CreateBankRequest(name="a\nb\u2028\r"))
    assert b"\n" not in written
    assert b"\r" not in written


@pytest.mark.parametrize("path", ["items[3].document_id", "page_token", 'x["a_b"].c_d', "budget_hits.low", "query"])
def test_paths_are_written_as_json_names_the_fields(path):
    assert json_path(path) == {
        "items[3].document_id": "items[3].documentId",
        "page_token": "pageToken",
        'x["a_b"].c_d': 'x["a_b"].cD',
        "budget_hits.low": "budgetHits.low",
        "query": "query",
    }.get(path)


def test_every_field_of_the_public_services_has_the_json_name_that_paths_are_given():
    kinds, seen = [kind for method in METHODS for kind in (method.input_type, method.output_type)], set()
    while kinds:
        kind = kinds.pop()
        if kind.full_name not in seen:
            seen.add(kind.full_name)
            assert [json_path(field.name) for field in kind.fields] == [field.json_name for field in kind.fields]
            kinds += [field.message_type for field in kind.fields if field.message_type is not None]
    assert len(seen) > 50


LEAF = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8) | st.just("1")
NAMES = sorted({field.json_name for method in METHODS for field in method.input_type.fields})


def told(reading):
    """Tell whether something is read, or refused with what is wrong."""
    try:
        reading()
    except InvalidArgument as error:
        return bool(error.violations) and all(one.field and one.description for one in error.violations)
    return True


@given(st.data(), st.sampled_from(METHODS))
def test_any_json_is_read_or_refused_with_fields(data, method):
    value = {}
    for field in data.draw(st.lists(st.sampled_from(list(method.input_type.fields)), max_size=4)):
        inner = [one.json_name for one in field.message_type.fields] if field.message_type else NAMES
        nested = st.dictionaries(st.sampled_from(inner), LEAF | st.lists(LEAF, max_size=1), max_size=2)
        value[field.json_name] = data.draw(LEAF | nested | st.lists(LEAF | nested, max_size=2))
    assert told(lambda: message_from_json(Written(json.dumps(value).encode()), GetMessageClass(method.input_type)))


@given(st.binary(max_size=200))
def test_any_bytes_are_read_or_refused(text):
    assert told(lambda: loaded(text))


@given(st.sampled_from(METHODS), st.lists(st.tuples(st.sampled_from(NAMES), st.text(max_size=20)), max_size=5))
def test_any_query_string_is_read_or_refused(method, pairs):
    assert told(lambda: asked(*pairs, kind=GetMessageClass(method.input_type)))


def test_a_filter_of_a_list_can_be_said_in_a_query_string():
    said = asked(("bankId", "b"), ("pageSize", "2"), kind=ListMemoriesRequest)
    assert (said.bank_id, said.page_size) == ("b", 2)
