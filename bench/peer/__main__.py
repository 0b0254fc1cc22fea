"""``make bench-peer``: retain and ask in turns, and hold one against the other."""

import argparse
import random
import signal
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from time import perf_counter, sleep
from typing import Any

from bench.locomo import DEFAULT_DATA, Conversation, Question, load_conversations
from bench.measure import Quality, judge
from bench.peer import home
from bench.peer.hindsight import FLAGS, SETTINGS, open_hindsight
from bench.peer.ours import Embedded, open_embedded_mesh, open_served_mesh
from bench.peer.system import MAX_TOKENS, System, Way
from bench.peer.tally import Goal, Tally, ratios
from bench.results import write_result
from bench.table import print_figures
from bench.usage import pace_ms
from recallmesh.core.retain import RetainItem
from recallmesh.tokens.bpe import BpeTokenCounter

WARM_UP = {Way.PLAIN: 8, Way.LEAN: 8, Way.RERANKED: 1}
"""Other questions asked of each bank before those that count."""
SETTLE_S = 3.0
IDLE_S = 10.0
TURN = 10
"""Questions that one system answers before it is the other's turn."""
SINGLES = 60
SESSIONS, ONE_BY_ONE = "retain, a session a call", "retain, one a call"
IDLE, MEMORY = "idle", "memory"
ALONE = "one-by-one"
CPU, P50, OWN, PSS = "CPU ms a query", "p50 ms", "CPU ms a memory, models aside", "MiB"
PEER = f"Hindsight {home.VERSION}"
GOALS = (
    Goal("recall without reranking, p50", (Way.PLAIN, P50), (Way.PLAIN, P50), 1 / 5),
    Goal("recall without reranking, CPU", (Way.PLAIN, CPU), (Way.PLAIN, CPU), 1 / 5),
    Goal("ours with all arms to its leanest, p50", (Way.PLAIN, P50), (Way.LEAN, P50), 1 / 2),
    Goal("ours with all arms to its leanest, CPU", (Way.PLAIN, CPU), (Way.LEAN, CPU), 1 / 2),
    Goal("recall with reranking, p50", (Way.RERANKED, P50), (Way.RERANKED, P50), 1 / 2),
    Goal("recall with reranking, CPU", (Way.RERANKED, CPU), (Way.RERANKED, CPU), 1 / 2),
    Goal("retain a session a call, CPU without models", (SESSIONS, OWN), (SESSIONS, OWN), 1 / 10),
    Goal("retain one a call, CPU without models", (ONE_BY_ONE, OWN), (ONE_BY_ONE, OWN), 1 / 10),
    Goal("memory in proportion (PSS)", (MEMORY, "all, proportional"), (MEMORY, "all, proportional"), 1 / 2),
    Goal("memory as added up by ps (RSS)", (MEMORY, "all, resident"), (MEMORY, "all, resident"), 1 / 2),
)
"""What issue 9 asks of the mesh embedded in a process, besides more evidence."""


Asking = Sequence[tuple[Conversation, Sequence[Question]]]


@dataclass(slots=True)
class Comparison:
    """The systems, and what is added up by section and system."""

    systems: Sequence[System]
    tallies: dict[str, dict[str, Tally]] = field(default_factory=lambda: defaultdict(lambda: defaultdict(Tally)))

    @contextmanager
    def section(self, name: str, asked: Sequence[System]) -> Iterator[None]:
        """Count the CPU time of all that happens inside, and of what goes on for a while behind it.

        Not call by call: both systems go on working after they have answered.
        """
        before, began = [system.cpu_s() for system in asked], perf_counter()
        yield
        sleep(SETTLE_S)
        for system, spent in zip(asked, before, strict=True):
            tally = self.tallies[name][system.name]
            tally.spent(spent, system.cpu_s(), perf_counter() - began)

    def retain(self, conversations: Sequence[Conversation]) -> None:
        """Retain conversations, a session a call, in turns."""
        with self.section(SESSIONS, self.systems):
            for conversation in conversations:
                sessions = defaultdict[str, list[RetainItem]](list)
                for item in conversation.items:
                    sessions[item.document_id].append(item)
                for session in sessions.values():
                    for system in self.systems:
                        self._retain(SESSIONS, system, bank_of(conversation), session)
                print(f"conversation {conversation.name} retained", file=sys.stderr)

    def retain_one_by_one(self, items: Sequence[RetainItem]) -> None:
        """Retain items one a call in a bank of their own, each a document, in turns."""
        for system in self.systems:
            system.create(ALONE)
        alone = [replace(item, document_id=f"{item.document_id}-{number}") for number, item in enumerate(items)]
        with self.section(ONE_BY_ONE, self.systems):
            for item in alone:
                for system in self.systems:
                    self._retain(ONE_BY_ONE, system, ALONE, [item])

    def _retain(self, section: str, system: System, bank: str, items: Sequence[RetainItem]) -> None:
        tally = self.tallies[section][system.name]
        tally.walls.append(system.retain(bank, items))
        tally.items += len(items)

    def ask(self, way: Way, asking: Asking, judges: "Judges") -> None:
        """Ask questions in one way, in turns of ten of a conversation."""
        asked = [system for system in self.systems if way is not Way.LEAN or system.name == PEER]
        for conversation, questions in asking:
            for system in asked:
                system.turn_to(bank_of(conversation), way)
                for question in questions[: WARM_UP[way]]:
                    system.recall(bank_of(conversation), replace(question, text=f"Tell me: {question.text}"))
        with self.section(way, asked):
            for conversation, questions in asking:
                for first in range(0, len(questions), TURN):
                    for system in asked:
                        tally = self.tallies[way][system.name]
                        for question in questions[first : first + TURN]:
                            reply = system.recall(bank_of(conversation), question)
                            tally.walls.append(reply.wall_ms)
                            tally.quality.append(judges.judge(conversation, question, reply.turns))
        print(f"{way}: done", file=sys.stderr)

    def rest(self) -> None:
        """Ask nothing for a while."""
        with self.section(IDLE, self.systems):
            sleep(IDLE_S)

    def figures(self) -> dict[str, dict[str, dict[str, float]]]:
        """Return all figures by section and system, with what is used when nothing is asked, and the memory held now.

        What a system uses when idle is taken off its CPU time elsewhere: it had to wait for the others' turns.
        """
        found: dict[str, dict[str, dict[str, float]]] = {}
        for section, tallies in self.tallies.items():
            rows = found[section] = {}
            for name, tally in tallies.items():
                idle = self.tallies[IDLE][name]
                if section == IDLE:
                    rows[name] = {f"CPU ms a second: {part}": round(ms, 2) for part, ms in idle.idle_ms().items()}
                else:
                    own = tally.without(idle)
                    rows[name] = own.retained() if tally.items else own.recalled()
        found[MEMORY] = {system.name: held(system) for system in self.systems}
        return found


class Judges:
    """Judge answers by the evidence; a memory costs what its turn's text costs."""

    def __init__(self, conversations: Sequence[Conversation]) -> None:
        """Count the tokens of every turn."""
        counter = BpeTokenCounter()
        self._tokens = {
            each.name: {item.metadata["dia_id"]: counter.count("".join(map(str, item.content))) for item in each.items}
            for each in conversations
        }

    def judge(self, conversation: Conversation, question: Question, turns: Sequence[str]) -> Quality:
        """Judge one answer."""
        return judge(list(dict.fromkeys(turns)), question.evidence, self._tokens[conversation.name])


def held(system: System) -> dict[str, float]:
    """Return the memory a system holds, by part, and all together."""
    parts = system.memory_mib()
    rows = {f"{part}, {kind}": size for part, sizes in parts.items() for kind, size in sizes.items()}
    kinds = next(iter(parts.values()))
    return rows | {f"all, {kind}": round(sum(sizes[kind] for sizes in parts.values()), 1) for kind in kinds}


def bank_of(conversation: Conversation) -> str:
    """Name its bank."""
    return f"conv-{conversation.name}"


def chosen(conversations: Sequence[Conversation], count: int) -> list[tuple[Conversation, list[Question]]]:
    """Choose the same random questions in every run, by conversation."""
    pairs = [(number, question) for number, each in enumerate(conversations) for question in each.questions]
    picked = random.Random(9).sample(pairs, min(count, len(pairs)))
    return [
        (each, [question for place, question in picked if place == number]) for number, each in enumerate(conversations)
    ]


def compare(
    words: argparse.Namespace, comparison: Comparison, conversations: Sequence[Conversation]
) -> Iterator[dict[str, dict[str, dict[str, float]]]]:
    """Retain everything, then ask everything, in turns; yields the figures so far after each way of asking."""
    for conversation in conversations:
        for system in comparison.systems:
            system.create(bank_of(conversation))
    comparison.retain(conversations)
    comparison.retain_one_by_one(conversations[0].items[: words.singles])
    comparison.rest()
    judges = Judges(conversations)
    counts = {Way.PLAIN: words.questions, Way.LEAN: words.questions, Way.RERANKED: words.reranked}
    for way, count in counts.items():
        comparison.ask(way, chosen(conversations, count), judges)
        yield comparison.figures()


def show(found: Mapping[str, Mapping[str, Mapping[str, float]]], held_against: Sequence[Mapping[str, Any]]) -> None:
    """Print a table a section, and that of the ratios."""
    for section, systems in found.items():
        print(f"\n{section}")
        names = dict.fromkeys(name for figures in systems.values() for name in figures)
        rows = [(name, *(f"{each[name]:,g}" if name in each else "" for each in systems.values())) for name in names]
        print_figures(("figure", *systems), rows)
    print()
    rows = [
        (str(row["what"]), *(f"{row[key]:.3g}" for key in ("ours", "peer", "ratio", "at most")), str(row["met"]))
        for row in held_against
    ]
    print_figures(("ours to the peer's", "ours", "peer", "ratio", "at most", "met"), rows)


def run(words: argparse.Namespace) -> None:
    """Measure, print and write down."""
    conversations = load_conversations(Path(words.data), tuple(words.conversations))
    setup: dict[str, Any] = {
        key: getattr(words, key) for key in ("conversations", "questions", "reranked", "singles")
    } | {
        "peer": {
            "version": home.VERSION,
            "packages": home.PACKAGES,
            "settings": SETTINGS,
            "flags": {str(way): flags for way, flags in FLAGS.items()},
        },
        "budget": "mid",
        "max_tokens": MAX_TOKENS,
        "pace_ms_before": pace_ms(),
    }
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        systems: list[System] = [stack.enter_context(open_embedded_mesh(folder / "embedded"))]
        if words.served:
            systems.append(stack.enter_context(open_served_mesh(folder / "served")))
        if not words.alone:
            systems.append(stack.enter_context(open_hindsight()))
        for found in compare(words, Comparison(systems), conversations):
            # Each time: with reranking it takes so long that somebody may lose patience.
            held_against = ratios(found, GOALS, Embedded.name, PEER)
            path = write_result(words.out, {"setup": setup, "ratios": held_against, "figures": found})
    show(found, held_against)
    print(f"\nwritten to {path.name} in bench/results")


def main() -> None:
    """Read the words and measure."""
    parser = argparse.ArgumentParser(prog="bench.peer", description=__doc__)
    parser.add_argument("--data", default=DEFAULT_DATA, help="folder with conv-*.jsonl and questions-*.jsonl")
    parser.add_argument("--conversations", nargs="*", default=("42",), metavar="N", help="which, say 26 30; none: all")
    parser.add_argument("--questions", type=int, default=100, metavar="N", help="questions without reranking")
    parser.add_argument("--reranked", type=int, default=20, metavar="N", help="of them with it; the peer takes seconds")
    parser.add_argument("--singles", type=int, default=SINGLES, metavar="N", help="items retained one a call")
    parser.add_argument("--alone", action="store_true", help="ours without the peer")
    parser.add_argument("--no-served", dest="served", action="store_false", help="ours embedded alone, not served")
    parser.add_argument("--out", default="peer", metavar="NAME", help="name of the result file")
    # Whoever is told to end ends the peer too.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    run(parser.parse_args())


if __name__ == "__main__":
    main()
