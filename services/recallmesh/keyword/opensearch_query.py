"""What the keyword store asks of OpenSearch, as objects: no text of a query is ever syntax."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, assert_never

from recallmesh.core.arm import Indexed
from recallmesh.core.memory import FactType
from recallmesh.core.page import Page, PageRequest
from recallmesh.core.tags import EVERYTHING, TagAnd, TagLeaf, TagMode, TagNot, TagOr, TagTest
from recallmesh.keyword.analysis import QueryTerm
from recallmesh.keyword.defaults import Ranking
from recallmesh.keyword.opensearch_index import mark_of, storable
from recallmesh.keyword.ranking import idf
from recallmesh.keyword.store import MATCHED_WORDS, KeywordHit, KeywordQuery, hit_of

Clause = dict[str, Any]

CLAUSES = 900
"""Terms of one query at most, the rarest words': a server allows 1,024 clauses if it was not told otherwise
(``indices.query.bool.max_clause_count``), and the filters are some."""
NAMED_WORDS = 48
"""Words of a query, the rarest, of which each hit says whether it holds them; a question has some ten."""
LANGUAGES = 50
"""More languages than have a stemmer."""

STATISTICS_PATH = "hits.total.value,aggregations.held.buckets.doc_count,aggregations.languages.buckets.key"
HITS_PATH = "responses.status,responses.error.type,responses.hits.hits.sort,responses.hits.hits.matched_queries"
SCAN_PATH = "hits.hits.sort,hits.hits.fields"


@dataclass(frozen=True, slots=True)
class Statistics:
    """A bank as BM25 needs it: how many memories it has, how many hold each term, and their languages."""

    memories: int
    holding: Mapping[str, int]
    languages: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Word:
    """A word of the query that someone holds, with the forms in which they do; the rarer, the more ``worth``."""

    asked: QueryTerm
    forms: tuple[str, ...]
    holding: int
    worth: float


@dataclass(frozen=True, slots=True)
class Search:
    """The searches of one query: the lines of a multi-search, and what its answers are."""

    lines: str
    kinds: tuple[FactType, ...]
    words: tuple[str, ...]


def forms_of(asked: Iterable[QueryTerm]) -> tuple[str, ...]:
    """Return every form of these words, once."""
    return tuple(dict.fromkeys(form for term in asked for form in term.forms))


def statistics_body(bank_uid: str, forms: tuple[str, ...]) -> Clause:
    """Ask how many memories the bank has, and how many of them hold each of these forms."""
    mark = mark_of(bank_uid)
    return {
        "size": 0,
        "track_total_hits": True,
        "query": {"bool": {"filter": _living(bank_uid)}},
        "aggs": {
            "languages": {"terms": {"field": "language", "size": LANGUAGES}},
            "held": {"filters": {"filters": [{"term": {"words": mark + form}} for form in forms]}},
        },
    }


def statistics_of(answer: Mapping[str, Any], forms: tuple[str, ...]) -> Statistics:
    """Read the answer to ``statistics_body``."""
    counted = answer.get("aggregations", {})
    counts = [int(bucket["doc_count"]) for bucket in counted.get("held", {}).get("buckets", ())]
    languages = (str(bucket["key"]) for bucket in counted.get("languages", {}).get("buckets", ()))
    return Statistics(
        int(answer["hits"]["total"]["value"]), dict(zip(forms, counts, strict=True)), tuple(sorted(languages))
    )


def search_of(
    query: KeywordQuery, asked: tuple[QueryTerm, ...], statistics: Statistics, ranking: Ranking
) -> Search | None:
    """Return the searches that answer a query; nothing where there can be no hit."""
    words = _rarest_first(asked, statistics, ranking)
    telling = [word for word in words if not word.asked.stop]
    if telling:
        helping = [word for word in words if word.asked.stop]
        named = _clauses(telling, query)
        matching: Clause = {
            "must": [{"bool": {"should": named}}],
            "should": [_clause(word, query.bank_uid) for word in helping],
        }
    elif all(term.stop for term in asked) and 1 < len(asked) == len(words):
        telling = words
        matching = {"must": _clauses(words, query)}
    else:
        return None
    kinds = tuple(kind for kind in FactType if kind in query.fact_types)
    head = json.dumps({"routing": query.bank_uid, "allow_partial_search_results": False})
    lines = [line for kind in kinds for line in (head, json.dumps(_body(query, kind, matching)))]
    return Search("\n".join([*lines, ""]), kinds, tuple(word.asked.word for word in telling))


def hits_of(answer: Mapping[str, Any], search: Search) -> tuple[KeywordHit, ...]:
    """Read the answers to ``search_of``: all types' hits, best first, equal scores by memory id."""
    known: dict[tuple[str, ...], tuple[str, ...]] = {}
    found: list[KeywordHit] = []
    for kind, response in zip(search.kinds, answer["responses"], strict=True):
        for row in response.get("hits", {}).get("hits", ()):
            marks = tuple(row.get("matched_queries", ()))
            matched = known.get(marks)
            if matched is None:
                matched = known[marks] = _matched(marks, search.words)
            score, memory_id = row["sort"]
            found.append(hit_of((memory_id, float(score), kind, matched)))
    if len(search.kinds) > 1:
        found.sort(key=lambda hit: (-hit.score, hit.memory_id))
    return tuple(found)


def scan_body(bank_uid: str, page: PageRequest) -> Clause:
    """Ask for a page of what is stored of a bank, and one row more to know whether it is the last."""
    body: Clause = {
        "size": page.size + 1,
        "track_total_hits": False,
        "stored_fields": "_none_",
        "docvalue_fields": ["version"],
        "query": {"bool": {"filter": _living(bank_uid)}},
        "sort": [{"memory_id": "asc"}],
    }
    return body | {"search_after": [page.after]} if page.after else body


def page_of(answer: Mapping[str, Any], page: PageRequest) -> Page[Indexed]:
    """Read the answer to ``scan_body``."""
    rows = answer.get("hits", {}).get("hits", ())
    found = tuple(Indexed(row["sort"][0], int(row["fields"]["version"][0])) for row in rows[: page.size])
    return Page(found, found[-1].memory_id if len(rows) > page.size else "")


def tag_clause(test: TagTest) -> Clause:
    """Return the filter that passes what ``core.tags.passes`` does."""
    match test:
        case TagLeaf():
            return _leaf(test)
        case TagAnd(parts):
            return {"bool": {"filter": [tag_clause(part) for part in parts]}} if parts else {"match_all": {}}
        case TagOr(parts):
            return _either([tag_clause(part) for part in parts]) if parts else {"match_none": {}}
        case TagNot(part):
            return {"bool": {"must_not": [tag_clause(part)]}}
        case _:
            assert_never(test)


def _leaf(leaf: TagLeaf) -> Clause:
    tags = sorted({storable(tag) for tag in leaf.tags})
    all_of = [{"term": {"tags": tag}} for tag in tags]
    if leaf.mode is TagMode.EXACT:
        return {"bool": {"filter": [*all_of, {"term": {"tag_count": len(tags)}}]}}
    if not tags:
        return {"match_all": {}}
    some = leaf.mode in (TagMode.ANY, TagMode.ANY_STRICT)
    held: Clause = {"terms": {"tags": tags}} if some else {"bool": {"filter": all_of}}
    return _either([held, {"term": {"tag_count": 0}}]) if leaf.mode in (TagMode.ANY, TagMode.ALL) else held


def _either(clauses: list[Clause]) -> Clause:
    return {"bool": {"should": clauses, "minimum_should_match": 1}}


def _living(bank_uid: str) -> list[Clause]:
    return [{"term": {"bank": bank_uid}}, {"term": {"live": True}}]


def _rarest_first(asked: tuple[QueryTerm, ...], statistics: Statistics, ranking: Ranking) -> list[Word]:
    found: list[Word] = []
    for term in asked:
        forms = tuple(form for form in term.forms if statistics.holding[form])
        if forms:
            holding = min(sum(statistics.holding[form] for form in forms), statistics.memories)
            weight = term.weight * (ranking.function_words if term.stop else 1.0) * (ranking.k1 + 1)
            found.append(Word(term, forms, holding, weight * idf(statistics.memories, holding)))
    found.sort(key=lambda word: (word.holding, word.asked.forms))
    room, kept = CLAUSES, 0
    for word in found:
        room -= len(word.forms)
        if room < 0:
            break
        kept += 1
    return found[:kept]


def _clauses(words: Iterable[Word], query: KeywordQuery) -> list[Clause]:
    """Ask for words; each hit tells which of them it holds, if that is asked: the server looks at all of them again."""
    if not query.explained:
        return [_clause(word, query.bank_uid) for word in words]
    return [_clause(word, query.bank_uid, number) for number, word in enumerate(words)]


def _clause(word: Word, bank_uid: str, number: int = NAMED_WORDS) -> Clause:
    """Ask for a word in any of its forms, of which the best counts; under its number, if hits are to tell of it."""
    mark = mark_of(bank_uid)
    name = {"_name": str(number)} if number < NAMED_WORDS else {}
    if len(word.forms) == 1:
        return {"term": {"words": {"value": mark + word.forms[0], "boost": word.worth, **name}}}
    forms = [{"term": {"words": {"value": mark + form, "boost": word.worth}}} for form in word.forms]
    return {"dis_max": {"queries": forms, **name}}


def _body(query: KeywordQuery, kind: FactType, matching: Clause) -> Clause:
    filters: list[Clause] = [{"term": {"bank": query.bank_uid}}, {"term": {"fact_type": kind.value}}]
    if query.tags != EVERYTHING:
        filters.append(tag_clause(query.tags))
    body: Clause = {
        "size": query.limit,
        "track_total_hits": False,
        "stored_fields": "_none_",
        "query": {"bool": {"filter": filters, **matching}},
        "sort": [{"_score": "desc"}, {"memory_id": "asc"}],
    }
    return body if query.min_score is None else body | {"min_score": query.min_score}


def _matched(marks: tuple[str, ...], words: tuple[str, ...]) -> tuple[str, ...]:
    """Return the words of these numbers, the rarest first, as many as are reported."""
    return tuple(dict.fromkeys(words[number] for number in sorted(map(int, marks))))[:MATCHED_WORDS]
