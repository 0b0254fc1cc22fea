"""``python -m bench.defense``: what memory defense costs, and what it finds where people only talk."""

import argparse
from collections import Counter
from pathlib import Path
from time import process_time

from bench.locomo import DEFAULT_DATA, load_conversations
from bench.table import print_figures
from recallmesh.core.defense import DefenseAction, DefenseDetector
from recallmesh.retain.defense.item import Rule, judge
from recallmesh.retain.defense.loading import load
from recallmesh.tokens.bpe import BpeTokenCounter


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=DEFAULT_DATA, help="a folder with conv-*.jsonl")
    words = parser.parse_args()
    items = [item for conversation in load_conversations(words.data) for item in conversation.items]
    counter = BpeTokenCounter()
    tokens = sum(counter.count(str(item.content[0])) for item in items)
    rows = []
    for name, detectors in (*((one.value, (one,)) for one in DefenseDetector), ("all", tuple(DefenseDetector))):
        rules = [Rule(DefenseAction.REDACT, load(detector, "en")) for detector in detectors]
        began = process_time()
        verdicts = [judge(item, rules) for item in items]
        spent_ms = (process_time() - began) * 1000
        found = Counter(one.message for verdict in verdicts for one in verdict.violations)
        rows.append((name, f"{spent_ms / tokens * 1000:.2f}", str(sum(found.values())), "; ".join(found)))
    print(f"{len(items)} turns, {tokens} tokens")
    print_figures(("detector", "CPU ms / 1,000 tokens", "findings", "what"), rows)


if __name__ == "__main__":
    main()
