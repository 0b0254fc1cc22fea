"""One bank's words in memory: who holds which term, and the search over them."""

from array import array
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import groupby

from recallmesh.core.memory import FactType
from recallmesh.core.tags import EVERYTHING, TagTest, passes
from recallmesh.keyword.analysis import QueryTerm
from recallmesh.keyword.ranking import Ranking, Terms, contribution, idf, length_norm
from recallmesh.keyword.store import KeywordHit, KeywordQuery

DEAD_SHARE = 0.3
"""Share of dead rows beyond which a bank is to be built anew: they cost time in every search."""
DEAD_ROWS = 1_000
"""Fewer dead rows than this are not worth a rebuild."""
MATCHED_WORDS = 8
"""Words reported with a hit: for the trace, and people read no more."""


@dataclass(slots=True)
class _Posting:
    rows: "array[int]" = field(default_factory=lambda: array("I"))
    frequencies: "array[float]" = field(default_factory=lambda: array("f"))
    holding: int = 0


@dataclass(frozen=True, slots=True)
class _Sought:
    asked: QueryTerm
    posting: _Posting
    weight: float


class Postings:
    """The inverted index of one bank: exact statistics, nothing of other banks or of removed memories.

    Not safe for threads: its owner holds a lock.
    """

    def __init__(self, ranking: Ranking) -> None:
        """Start empty."""
        self._ranking = ranking
        self._postings: dict[str, _Posting] = {}
        self._row_of: dict[str, int] = {}
        self._ids: list[str] = []  # empty for a dead row
        self._types: list[FactType] = []
        self._tags: list[frozenset[str]] = []
        self._lengths = array("I")
        self._tag_sets: dict[frozenset[str], frozenset[str]] = {}
        self._live_of_type: dict[FactType, int] = dict.fromkeys(FactType, 0)
        self._total_length = 0
        self._norms: list[float] = []
        self._norms_stale = True

    def __len__(self) -> int:
        """Return the number of memories."""
        return len(self._row_of)

    @property
    def wasteful(self) -> bool:
        """Tell whether so many rows are dead that a rebuild pays."""
        dead = len(self._ids) - len(self._row_of)
        return dead > DEAD_ROWS and dead > DEAD_SHARE * len(self._ids)

    def add(self, memory_id: str, fact_type: FactType, tags: Iterable[str], terms: Terms) -> None:
        """Add a memory that is not there."""
        row = len(self._ids)
        tag_set = frozenset(tags)
        self._row_of[memory_id] = row
        self._ids.append(memory_id)
        self._types.append(fact_type)
        self._tags.append(self._tag_sets.setdefault(tag_set, tag_set))
        self._lengths.append(terms.length)
        self._live_of_type[fact_type] += 1
        self._total_length += terms.length
        self._norms_stale = True
        for term, frequency in zip(terms.terms, terms.frequencies, strict=True):
            posting = self._postings.get(term)
            if posting is None:
                posting = self._postings[term] = _Posting()
            posting.rows.append(row)
            posting.frequencies.append(frequency)
            posting.holding += 1

    def discard(self, memory_id: str, terms: Iterable[str]) -> None:
        """Take a memory with these terms out; one that is not there is no error."""
        row = self._row_of.pop(memory_id, None)
        if row is None:
            return
        self._ids[row] = ""
        self._live_of_type[self._types[row]] -= 1
        self._total_length -= self._lengths[row]
        self._norms_stale = True
        for term in terms:
            posting = self._postings[term]
            posting.holding -= 1
            if not posting.holding:
                del self._postings[term]

    def search(self, query: KeywordQuery, asked: tuple[QueryTerm, ...]) -> tuple[KeywordHit, ...]:
        """Return the hits, best first, equal scores by memory id; at most the limit of each fact type."""
        words = [term for term in asked if not term.stop]
        if words:
            sought = self._sought(words)
            scores = self._score(sought)
        else:
            sought = self._sought(asked)
            scores = self._score_all_of(sought) if 1 < len(asked) == len(sought) else {}
        if not scores:
            return ()
        if words:
            self._add_function_words(scores, self._sought([term for term in asked if term.stop]))
        best = self._best(scores, query)
        matched = self._matched({row for _, row in best}, sought)
        return tuple(
            KeywordHit(self._ids[row], score, self._types[row], tuple(matched.get(row, ()))) for score, row in best
        )

    def _sought(self, asked: Iterable[QueryTerm]) -> list[_Sought]:
        memories = len(self._row_of)
        found: list[_Sought] = []
        for term in asked:
            posting = self._postings.get(term.term)
            if posting is not None:
                scale = self._ranking.function_words if term.stop else 1.0
                found.append(_Sought(term, posting, idf(memories, posting.holding) * term.weight * scale))
        return found

    def _score(self, sought: list[_Sought]) -> dict[int, float]:
        norms, k1 = self._current_norms(), self._ranking.k1
        scores: dict[int, float] = {}
        known = scores.get
        for part in sought:
            weight = part.weight * (k1 + 1)
            # ranking.contribution(), written out: this line runs for every posting of every word
            for row, frequency in zip(part.posting.rows, part.posting.frequencies, strict=True):
                scores[row] = known(row, 0.0) + weight * frequency / (frequency + norms[row])
        return scores

    def _add_function_words(self, scores: dict[int, float], sought: list[_Sought]) -> None:
        norms, k1 = self._current_norms(), self._ranking.k1
        for part in sought:
            weight = part.weight * (k1 + 1)
            for row, frequency in zip(part.posting.rows, part.posting.frequencies, strict=True):
                if row in scores:
                    scores[row] += weight * frequency / (frequency + norms[row])

    def _score_all_of(self, sought: list[_Sought]) -> dict[int, float]:
        rows = set(sought[0].posting.rows).intersection(*(part.posting.rows for part in sought[1:]))
        norms, k1 = self._current_norms(), self._ranking.k1
        scores = dict.fromkeys(rows, 0.0)
        for part in sought:
            for row, frequency in zip(part.posting.rows, part.posting.frequencies, strict=True):
                if row in rows:
                    scores[row] += part.weight * contribution(frequency, norms[row], k1)
        return scores

    def _current_norms(self) -> list[float]:
        if self._norms_stale:
            average = self._total_length / len(self._row_of) if self._row_of else 0.0
            short = length_norm(0, average, self._ranking)
            each = length_norm(1, average, self._ranking) - short
            self._norms = [short + each * length for length in self._lengths]
            self._norms_stale = False
        return self._norms

    def _best(self, scores: dict[int, float], query: KeywordQuery) -> list[tuple[float, int]]:
        """Walk from the best down, one score at a time, until every asked type is full or has no more."""
        may_be_seen = _TagSieve(query.tags, self._tags)
        room = {kind: min(query.limit, self._live_of_type[kind]) for kind in query.fact_types}
        room = {kind: places for kind, places in room.items() if places}
        floor = float("-inf") if query.min_score is None else query.min_score
        best: list[tuple[float, int]] = []
        for score, rows in groupby(sorted(scores, key=scores.__getitem__, reverse=True), key=scores.__getitem__):
            if score < floor or not room:
                break
            alive = [row for row in rows if self._ids[row] and self._types[row] in room and may_be_seen(row)]
            for row in sorted(alive, key=self._ids.__getitem__) if len(alive) > 1 else alive:
                kind = self._types[row]
                if kind in room:
                    best.append((score, row))
                    room[kind] -= 1
                    if not room[kind]:
                        del room[kind]
        return best

    def _matched(self, rows: set[int], sought: list[_Sought]) -> dict[int, list[str]]:
        matched: dict[int, list[str]] = {}
        for part in sorted(sought, key=lambda part: (part.posting.holding, part.asked.term)):
            for row in rows.intersection(part.posting.rows):
                words = matched.setdefault(row, [])
                if len(words) < MATCHED_WORDS:
                    words.append(part.asked.word)
        return matched


class _TagSieve:
    """Tells whether a row's tags pass, asking once for each set of tags that occurs."""

    def __init__(self, test: TagTest, tags: list[frozenset[str]]) -> None:
        self._test = test
        self._tags = tags
        self._open = test == EVERYTHING
        self._known: dict[frozenset[str], bool] = {}

    def __call__(self, row: int) -> bool:
        if self._open:
            return True
        tags = self._tags[row]
        known = self._known.get(tags)
        if known is None:
            known = self._known[tags] = passes(self._test, tags)
        return known
