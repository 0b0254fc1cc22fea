"""The keyword index on OpenSearch: its names, its shape, and what is stored of a memory."""

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, NamedTuple

from recallmesh.core.arm import Removal
from recallmesh.keyword.analysis import ANALYSIS_VERSION, Analyser
from recallmesh.keyword.defaults import Ranking
from recallmesh.keyword.ranking import Terms, frequencies, terms_of
from recallmesh.keyword.store import KeywordDocument

SCHEMA = 1
"""To be raised with every change of the mapping or of what is written into it."""
PIVOT_WORDS = 25.0
"""The length at which a text's words count in full. A constant where the embedded store has the bank's average: a
bank's average changes with every write, and this is in what is written. Turns of conversations have 25 to 30 words;
any pivot from 20 to 40 finds the same share of the evidence (ADR 32)."""
SCALE = 1024
"""What a frequency of 1 is stored as: Lucene's are whole numbers, ours are weighed by field and length."""
MOST = 1024 * SCALE
"""A larger frequency is cut: it is worth no more, and Lucene adds a document's up to at most 2³¹."""
REFRESH_MS = 100
"""How long a write waits at most to be seen; all writes of that time share one refresh."""
BULK_DOCUMENTS = 500
"""Documents of one request; some 300 KB."""
BULK_CHARS = 4_000_000
"""Characters of one request of more than one document: very long texts. A server takes 100 MB at most."""
META = "recallmesh"
"""The key of our note in the mapping's ``_meta``."""
PREFIX = "recallmesh"
_MARK_BYTES = 5


@dataclass(frozen=True, slots=True)
class Shape:
    """What is written into an index and cannot be changed in it: analysis, language, k1, b and the fields' weights.

    What function words count is no part of it: it comes with the query.
    """

    language: str = "english"
    ranking: Ranking = field(default_factory=Ranking)

    @property
    def about(self) -> dict[str, object]:
        """All of it by name, as the index notes it."""
        weights = {name: number for name, number in asdict(self.ranking).items() if name != "function_words"}
        return {
            "schema": SCHEMA,
            "analysis": ANALYSIS_VERSION,
            "language": self.language,
            "pivot": PIVOT_WORDS,
            **weights,
        }

    @property
    def version(self) -> str:
        """The schema's number and a digest of the rest: ``1-3f9a2c41``."""
        return f"{SCHEMA}-{hashlib.blake2s(json.dumps(self.about, sort_keys=True).encode(), digest_size=4).hexdigest()}"


@dataclass(frozen=True, slots=True)
class Names:
    """What an installation's indexes are called: all begin with the prefix."""

    prefix: str
    version: str

    @property
    def current(self) -> str:
        """The alias of the index that the mesh works with now, whatever its shape."""
        return f"{self.prefix}-keyword"

    @property
    def alias(self) -> str:
        """The alias of this shape, by which it is written and searched: so no process meets another shape's words."""
        return f"{self.current}-{self.version}"

    @property
    def first(self) -> str:
        """The index that a migration makes; an operator may put another, of more shards, behind the alias."""
        return f"{self.alias}-000001"

    @property
    def every(self) -> str:
        """A pattern of all indexes of all shapes."""
        return f"{self.current}-*"


def index_body(shape: Shape, alias: str) -> dict[str, object]:
    """Return settings and mapping of a new index. Shards are the server's to choose, or an index template's."""
    constant = shape.ranking.k1 * SCALE
    return {
        "aliases": {alias: {}},
        "settings": {
            "index": {
                "auto_expand_replicas": "0-1",
                "refresh_interval": f"{REFRESH_MS}ms",
                "translog.durability": "request",
                "gc_deletes": "0s",  # removals are documents of ours; only whole banks are deleted: they may come again
                "similarity": {
                    "words": {
                        "type": "scripted",
                        "script": {"source": f"return query.boost * doc.freq / (doc.freq + {constant!r});"},
                    }
                },
                "analysis": {
                    "filter": {"frequency": {"type": "delimited_term_freq", "delimiter": "|"}},
                    "analyzer": {"words": {"type": "custom", "tokenizer": "whitespace", "filter": ["frequency"]}},
                },
            }
        },
        "mappings": {
            "_meta": {META: {"version": shape.version, **shape.about}},
            "dynamic": "strict",
            "_routing": {"required": True},
            "_source": {"enabled": False},  # the ledger has the texts: none lies here, nor is left here
            "properties": {
                "bank": {"type": "keyword"},
                "memory_id": {"type": "keyword"},
                "version": {"type": "long", "index": False},
                "live": {"type": "boolean"},
                "fact_type": {"type": "keyword"},
                "language": {"type": "keyword"},
                "tags": {"type": "keyword"},
                "tag_count": {"type": "integer"},
                "words": {
                    "type": "text",
                    "analyzer": "words",
                    "search_analyzer": "whitespace",
                    "similarity": "words",
                    "index_options": "freqs",
                    "norms": False,
                },
            },
        },
    }


def mark_of(bank_uid: str) -> str:
    """Return what a bank's terms begin with, so that no list of who holds a word is longer than the bank.

    Two banks of one mark would share lists, not hits: every query names the bank too.
    """
    return hashlib.blake2s(bank_uid.encode("utf-8", "surrogatepass"), digest_size=_MARK_BYTES).hexdigest()


def storable(value: str) -> str:
    """Return a string that UTF-8 can hold: a lone surrogate is spelled out."""
    return value.encode("utf-8", "backslashreplace").decode("utf-8")


class Row(NamedTuple):
    """What is to be written: its id, and the pair of lines that it is in a bulk request."""

    id: str
    lines: str


def document_rows(bank_uid: str, documents: Iterable[KeywordDocument], analyser: Analyser, shape: Shape) -> list[Row]:
    """Return documents as they are written."""
    mark = mark_of(bank_uid)
    return [_row(bank_uid, one.memory_id, 2 * one.version, _stored(one, analyser, shape, mark)) for one in documents]


def removal_rows(bank_uid: str, removals: Iterable[Removal]) -> list[Row]:
    """Return removals as they are written: they are documents too, so that they are remembered."""
    return [_row(bank_uid, one.memory_id, 2 * one.version + 1, {"version": one.version}) for one in removals]


def batches(rows: list[Row]) -> Iterator[list[Row]]:
    """Part rows into the requests that they are written by, in their order."""
    batch: list[Row] = []
    chars = 0
    for row in rows:
        if batch and (len(batch) == BULK_DOCUMENTS or chars + len(row.lines) > BULK_CHARS):
            yield batch
            batch, chars = [], 0
        batch.append(row)
        chars += len(row.lines)
    if batch:
        yield batch


def _row(bank_uid: str, memory_id: str, precedence: int, stored: Mapping[str, object]) -> Row:
    """Write one row.

    The server takes what is not older (``external_gte``): versions are doubled, and a removal is half a version newer
    than what it removes.
    """
    row_id = f"{bank_uid}:{memory_id}"
    action = {"_id": row_id, "routing": bank_uid, "version": precedence, "version_type": "external_gte"}
    about = {"bank": bank_uid, "memory_id": memory_id, "live": "words" in stored, **stored}
    return Row(row_id, f"{json.dumps({'index': action})}\n{json.dumps(about)}\n")


def _stored(document: KeywordDocument, analyser: Analyser, shape: Shape, mark: str) -> dict[str, Any]:
    terms = terms_of(document, analyser)
    tags = sorted({storable(tag) for tag in document.tags})
    return {
        "version": document.version,
        "fact_type": document.fact_type.value,
        "language": terms.language,
        "tags": tags,
        "tag_count": len(tags),
        "words": " ".join(_weighed(terms, shape.ranking, mark)),
    }


def _weighed(terms: Terms, ranking: Ranking, mark: str) -> Iterable[str]:
    """Give each term with its frequency over all fields, the text's by its length: BM25F's, before it saturates."""
    norm = 1 - ranking.b + ranking.b * max(terms.length, 1) / PIVOT_WORDS
    for term, packed in zip(terms.terms, terms.counts, strict=True):
        text, beside = frequencies(packed, ranking)
        weighed = text / norm + beside
        if weighed > 0:
            yield f"{mark}{term}|{min(max(round(weighed * SCALE), 1), MOST)}"
