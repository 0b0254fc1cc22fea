"""One bank's words in memory: who holds which term, and the search over them."""

from array import array
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from recallmesh.columns.tagsets import TagSets
from recallmesh.core.memory import FactType
from recallmesh.core.tags import EVERYTHING
from recallmesh.keyword.analysis import QueryTerm
from recallmesh.keyword.defaults import Ranking
from recallmesh.keyword.frequencies import WORTHLESS, Frequencies
from recallmesh.keyword.matches import Matches
from recallmesh.keyword.ranking import Terms, idf
from recallmesh.keyword.store import KeywordHit, KeywordQuery, hit_of

DEAD_SHARE = 0.3
"""Share of dead rows beyond which a bank is to be built anew: they cost time in every search."""
DEAD_ROWS = 1_000
"""Fewer dead rows than this are not worth a rebuild."""

_KINDS = tuple(FactType)
_CODE_OF = {kind: code for code, kind in enumerate(_KINDS)}
_DEAD = len(_KINDS)

Rows = npt.NDArray[np.intp]
Scores = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class StoredMemory:
    """A memory as the postings need it."""

    memory_id: str
    fact_type: FactType
    tags: tuple[str, ...]
    terms: Terms


@dataclass(slots=True)
class _Posting:
    rows: "array[int]" = field(default_factory=lambda: array("I"))
    frequencies: "array[int]" = field(default_factory=lambda: array("I"))
    holding: int = 0


@dataclass(frozen=True, slots=True)
class _Sought:
    asked: QueryTerm
    postings: tuple[_Posting, ...]
    holding: int


class Postings:
    """The inverted index of one bank: exact statistics, nothing of other banks or of removed memories.

    Not safe for threads: its owner holds a lock.
    """

    def __init__(self, ranking: Ranking, memories: Iterable[StoredMemory] = ()) -> None:
        """Start with these memories, each there once."""
        self._ranking = ranking
        self._postings: dict[str, _Posting] = {}
        self._frequencies = Frequencies(ranking)
        self._row_of: dict[str, int] = {}
        self._ids: list[str] = []
        self._kinds = array("B")
        self._tag_sets = TagSets()
        self._tags = array("I")
        self._lengths = array("I")
        self._total_length = 0
        self._languages: Counter[str] = Counter()
        self._norms: Scores | None = None
        self._fill(memories)

    def __len__(self) -> int:
        """Return the number of memories."""
        return len(self._row_of)

    @property
    def languages(self) -> tuple[str, ...]:
        """The languages whose stems the bank holds, in alphabetical order."""
        return tuple(sorted(+self._languages))

    @property
    def wasteful(self) -> bool:
        """Tell whether so many rows are dead that a rebuild pays."""
        dead = len(self._ids) - len(self._row_of)
        return dead > DEAD_ROWS and dead > DEAD_SHARE * len(self._ids)

    def add(self, memory: StoredMemory) -> None:
        """Add a memory that is not there."""
        row = self._open_row(memory)
        for term, packed in zip(memory.terms.terms, memory.terms.counts, strict=True):
            number = self._frequencies.number(packed)
            if number == WORTHLESS:
                continue
            posting = self._postings.get(term)
            if posting is None:
                posting = self._postings[term] = _Posting()
            posting.rows.append(row)
            posting.frequencies.append(number)
            posting.holding += 1

    def discard(self, memory_id: str, terms: Terms) -> None:
        """Take a memory with these terms out; one that is not there is no error."""
        row = self._row_of.pop(memory_id, None)
        if row is None:
            return
        self._kinds[row] = _DEAD
        self._total_length -= self._lengths[row]
        self._languages[terms.language] -= 1
        self._norms = None
        for term, packed in zip(terms.terms, terms.counts, strict=True):
            if self._frequencies.number(packed) == WORTHLESS:
                continue
            posting = self._postings[term]
            posting.holding -= 1
            if not posting.holding:
                del self._postings[term]

    def search(self, query: KeywordQuery, asked: tuple[QueryTerm, ...]) -> tuple[KeywordHit, ...]:
        """Return the hits, best first, equal scores by memory id; at most the limit of each fact type."""
        words = self._sought(term for term in asked if not term.stop)
        if words:
            matches = Matches([part.asked.word for part in words], len(self._ids))
            scores = np.zeros(len(self._ids))
            for number, part in enumerate(words):
                rows, worth = self._worth(part)
                scores[rows] += worth
                matches.note(number, rows)
            hits = np.flatnonzero(scores > 0)
            for part in self._sought(term for term in asked if term.stop):
                rows, worth = self._worth(part)
                scores[rows] += self._ranking.function_words * worth
        elif all(term.stop for term in asked):
            hits, scores, matches = self._holding_all(asked)
        else:
            return ()
        best = self._best(hits, scores, query)
        rows_of_best = best.tolist()
        return tuple(
            map(
                hit_of,
                zip(
                    [self._ids[row] for row in rows_of_best],
                    scores[best].tolist(),
                    [_KINDS[self._kinds[row]] for row in rows_of_best],
                    matches.words(best),
                    strict=True,
                ),
            )
        )

    def _open_row(self, memory: StoredMemory) -> int:
        row = len(self._ids)
        self._row_of[memory.memory_id] = row
        self._ids.append(memory.memory_id)
        self._kinds.append(_CODE_OF[memory.fact_type])
        self._tags.append(self._tag_sets.number(memory.tags))
        self._lengths.append(memory.terms.length)
        self._total_length += memory.terms.length
        self._languages[memory.terms.language] += 1
        self._norms = None
        return row

    def _fill(self, memories: Iterable[StoredMemory]) -> None:
        """Add many at once: sorting all postings by term takes a fifth of the time of adding one by one."""
        number_of: dict[str, int] = {}
        numbers, lengths, packed = array("I"), array("I"), array("Q")
        for memory in memories:
            self._open_row(memory)
            numbers.extend([number_of.setdefault(term, len(number_of)) for term in memory.terms.terms])
            packed.extend(memory.terms.counts)
            lengths.append(len(memory.terms.terms))
        terms = np.frombuffer(numbers, np.uint32).astype(np.intp)
        rows = np.repeat(np.arange(len(lengths), dtype=np.uint32), lengths)
        frequencies = self._frequencies.numbers(np.frombuffer(packed, np.uint64))
        order = np.argsort(terms, kind="stable")
        order = order[frequencies[order] != WORTHLESS]
        ends = np.cumsum(np.bincount(terms[order], minlength=len(number_of))).tolist()
        all_rows, all_frequencies = rows[order].tobytes(), frequencies[order].tobytes()
        start = 0
        for term, end in zip(number_of, ends, strict=True):
            if end > start:
                posting = self._postings[term] = _Posting(holding=end - start)
                posting.rows.frombytes(all_rows[4 * start : 4 * end])
                posting.frequencies.frombytes(all_frequencies[4 * start : 4 * end])
            start = end

    def _sought(self, asked: Iterable[QueryTerm]) -> list[_Sought]:
        """Return the asked words that someone holds, the rarest first."""
        found: list[_Sought] = []
        for term in asked:
            postings = tuple(self._postings[form] for form in term.forms if form in self._postings)
            if postings:
                holding = min(sum(posting.holding for posting in postings), len(self._row_of))
                found.append(_Sought(term, postings, holding))
        found.sort(key=lambda part: (part.holding, part.asked.forms))
        return found

    def _worth(self, part: _Sought) -> tuple[Rows, Scores]:
        """Return who holds a word and what that is worth; of several forms in one memory the best counts."""
        if len(part.postings) == 1:
            return self._worth_of(part.postings[0], part)
        best = np.zeros(len(self._ids))
        for posting in part.postings:
            rows, worth = self._worth_of(posting, part)
            best[rows] = np.maximum(best[rows], worth)
        rows = np.flatnonzero(best > 0)
        return rows, best[rows]

    def _worth_of(self, posting: _Posting, part: _Sought) -> tuple[Rows, Scores]:
        k1 = self._ranking.k1
        weight = idf(len(self._row_of), part.holding) * part.asked.weight * (k1 + 1)
        rows = np.frombuffer(posting.rows, np.uint32).astype(np.intp)
        numbers = np.frombuffer(posting.frequencies, np.uint32)
        frequency = self._frequencies.text[numbers] / self._length_norms()[rows] + self._frequencies.beside[numbers]
        return rows, weight * frequency / (frequency + k1)

    def _length_norms(self) -> Scores:
        if self._norms is None:
            b, lengths = self._ranking.b, np.frombuffer(self._lengths, np.uint32)
            average = self._total_length / len(self._row_of) if self._total_length else 1.0
            self._norms = 1 - b + b * np.maximum(lengths, 1) / average  # never 0: a text of no words has no terms
        return self._norms

    def _holding_all(self, asked: tuple[QueryTerm, ...]) -> tuple[Rows, Scores, Matches]:
        """Answer a query of nothing but function words: who holds them all, if there are two or more."""
        sought = self._sought(asked)
        matches = Matches([part.asked.word for part in sought], len(self._ids))
        scores, held = np.zeros(len(self._ids)), np.zeros(len(self._ids), np.intp)
        if not 1 < len(asked) == len(sought):
            return np.flatnonzero(held), scores, matches
        for number, part in enumerate(sought):
            rows, worth = self._worth(part)
            scores[rows] += self._ranking.function_words * worth
            held[rows] += 1
            matches.note(number, rows)
        return np.flatnonzero(held == len(sought)), scores, matches

    def _best(self, hits: Rows, scores: Scores, query: KeywordQuery) -> Rows:
        if query.min_score is not None:
            hits = hits[scores[hits] >= query.min_score]
        if query.tags != EVERYTHING:
            hits = hits[self._tag_sets.passing(query.tags)[np.frombuffer(self._tags, np.uint32)[hits]]]
        kinds = np.frombuffer(self._kinds, np.uint8)[hits]
        lists = (self._first(hits[kinds == _CODE_OF[kind]], scores, query.limit) for kind in set(query.fact_types))
        chosen = [rows for rows in lists if len(rows)]
        if len(chosen) == 1:
            return chosen[0]
        return self._ordered(np.concatenate(chosen), scores) if chosen else hits[:0]

    def _first(self, rows: Rows, scores: Scores, limit: int) -> Rows:
        if len(rows) > limit:
            reached = scores[rows]
            border = np.partition(reached, len(rows) - limit)[len(rows) - limit]
            rows = rows[reached >= border]  # more than the limit if some are equal: the memory id settles it
        return self._ordered(rows, scores)[:limit]

    def _ordered(self, rows: Rows, scores: Scores) -> Rows:
        ordered = rows[np.argsort(-scores[rows], kind="stable")]
        reached = scores[ordered]
        if (reached[1:] == reached[:-1]).any():
            by_id = np.array(sorted(rows.tolist(), key=self._ids.__getitem__), np.intp)
            ordered = by_id[np.argsort(-scores[by_id], kind="stable")]
        return ordered
