"""What a run of the cross-encoder costs, one way against another, on pairs of conversation."""

import random
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from statistics import mean, median
from time import perf_counter, process_time

import numpy as np
import onnxruntime
from numpy.typing import NDArray

from bench.locomo import Conversation
from recallmesh.onnx.files import ModelFiles, model_files
from recallmesh.onnx.row import Row
from recallmesh.onnx.tokenizer import load_tokenizer
from recallmesh.reranker.onnx import PACKAGED
from recallmesh.reranker.passage import Pairing

ROUNDS = 4
QUESTIONS, TURNS = 8, 8
NO_SPINNING = {"session.intra_op.allow_spinning": "0"}


@dataclass(frozen=True, slots=True)
class Way:
    """A way to run: ``workers`` runs at once over ``sessions`` sessions, each with so many ``threads`` of its own.

    ``batch`` pairs are in a run, of like length (``sorted``) or as they come. ``arena`` keeps a session's memory for
    the next run; ``entries`` are the runtime's own words for a session.
    """

    workers: int = 2
    sessions: int = 1
    threads: int = 1
    batch: int = 1
    sorted: bool = True
    arena: bool = True
    pattern: bool = False
    level: str = "ORT_ENABLE_ALL"
    entries: Mapping[str, str] = field(default_factory=lambda: NO_SPINNING)


AS_IS = "as it is: one pair a run, two runs at once on one session, one thread each"
WAYS: Mapping[str, Way] = {
    AS_IS: Way(),
    "one run at once, on one thread": Way(workers=1),
    "one run at once, on two threads": Way(workers=1, threads=2),
    "one run at once, on two threads that spin": Way(workers=1, threads=2, entries={}),
    "one run at once, on two threads, blocks of 4": Way(
        workers=1, threads=2, entries={**NO_SPINNING, "session.dynamic_block_base": "4"}
    ),
    "two sessions": Way(sessions=2),
    "four runs at once on two cores": Way(workers=4),
    "no arena": Way(arena=False),
    "memory planned ahead": Way(pattern=True),
    "weights not packed ahead": Way(entries={**NO_SPINNING, "session.disable_prepacking": "1"}),
    "denormals as zero": Way(entries={**NO_SPINNING, "session.set_denormal_as_zero": "1"}),
    "graph optimised to level 2": Way(level="ORT_ENABLE_EXTENDED"),
    "graph optimised to level 1": Way(level="ORT_ENABLE_BASIC"),
    "graph as it is": Way(level="ORT_DISABLE_ALL"),
    "batches of 4 of like length": Way(batch=4),
    "batches of 8 of like length": Way(batch=8),
    "batches of 32 of like length": Way(batch=32),
    "batches of 32 as they come": Way(batch=32, sorted=False),
}


def sample(conversation: Conversation, files: ModelFiles) -> list[Row]:
    """Return pairs as recalls read them: questions with turns of their conversation, the same in every run."""
    chance = random.Random(3)
    tokenizer = load_tokenizer(files.tokenizer)
    rows: list[Row] = []
    for question in chance.sample(conversation.questions, QUESTIONS):
        pairing = Pairing(tokenizer, question.text, window=512, passage=128)
        for item in chance.sample(conversation.items, TURNS):
            rows.extend(pairing.pairs(f"{item.time:%-d %B %Y}: {item.content[0]}"))
    return rows


class Race:
    """Runs every way in turns over the same pairs."""

    def __init__(self, files: ModelFiles, rows: Sequence[Row]) -> None:
        """Take the model and what it reads."""
        self._files = files
        self._rows = rows

    def run(self, ways: Mapping[str, Way]) -> dict[str, dict[str, float]]:
        """Return for each way its CPU and wall milliseconds a pair, ratios to the first, and how far its scores are."""
        runs = {name: self._runner(way) for name, way in ways.items()}
        scores = {name: run() for name, run in runs.items()}
        cpu: dict[str, list[float]] = {name: [] for name in ways}
        wall: dict[str, list[float]] = {name: [] for name in ways}
        for _ in range(ROUNDS):
            for name, run in runs.items():
                begun, used = perf_counter(), process_time()
                run()
                cpu[name].append((process_time() - used) * 1000 / len(self._rows))
                wall[name].append((perf_counter() - begun) * 1000 / len(self._rows))
        usual = next(iter(ways))
        return {
            name: {
                "cpu_ms": round(median(cpu[name]), 3),
                "wall_ms": round(median(wall[name]), 3),
                "cpu_ratio": round(median(a / b for a, b in zip(cpu[name], cpu[usual], strict=True)), 3),
                "wall_ratio": round(median(a / b for a, b in zip(wall[name], wall[usual], strict=True)), 3),
                "equal": round(float(np.mean(scores[name] == scores[usual])), 3),
                "largest_difference": round(float(np.max(np.abs(scores[name] - scores[usual]))), 3),
            }
            for name in ways
        }

    def _runner(self, way: Way) -> Callable[[], NDArray[np.float32]]:
        sessions = [self._session(way) for _ in range(way.sessions)]
        order = sorted(range(len(self._rows)), key=lambda at: len(self._rows[at].ids)) if way.sorted else None
        places = order or list(range(len(self._rows)))
        batches = [places[at : at + way.batch] for at in range(0, len(places), way.batch)]
        pool = ThreadPoolExecutor(way.workers)

        def run() -> NDArray[np.float32]:
            found = np.zeros(len(self._rows), np.float32)

            def score(nth: int) -> None:
                rows = [self._rows[place] for place in batches[nth]]
                output = sessions[nth % len(sessions)].run(None, _padded(rows))[0]
                found[batches[nth]] = output.reshape(len(rows), -1)[:, -1]

            list(pool.map(score, range(len(batches))))
            return found

        return run

    def _session(self, way: Way) -> onnxruntime.InferenceSession:
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = way.threads
        options.inter_op_num_threads = 1
        options.enable_cpu_mem_arena = way.arena
        options.enable_mem_pattern = way.pattern
        options.graph_optimization_level = getattr(onnxruntime.GraphOptimizationLevel, way.level)
        options.log_severity_level = 3
        for key, value in way.entries.items():
            options.add_session_config_entry(key, value)
        return onnxruntime.InferenceSession(str(self._files.model), options, providers=["CPUExecutionProvider"])


def _padded(rows: Sequence[Row]) -> dict[str, NDArray[np.int64]]:
    shape = (len(rows), max(len(row.ids) for row in rows))
    feed = {name: np.zeros(shape, np.int64) for name in ("input_ids", "attention_mask", "token_type_ids")}
    for place, row in enumerate(rows):
        feed["input_ids"][place, : len(row.ids)] = row.ids
        feed["token_type_ids"][place, : len(row.ids)] = row.type_ids
        feed["attention_mask"][place, : len(row.ids)] = 1
    return feed


def measure_runs(conversation: Conversation) -> dict[str, object]:
    """Return what each way costs on a conversation's pairs."""
    files = model_files(None, packaged=PACKAGED)
    rows = sample(conversation, files)
    return {
        "pairs": len(rows),
        "tokens a pair": round(mean(len(row.ids) for row in rows), 1),
        "ways": Race(files, rows).run(WAYS),
    }
