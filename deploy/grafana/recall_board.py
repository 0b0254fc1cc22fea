"""What callers ask, how long it takes, and what was silent meanwhile."""

from load_row import OWN, load
from panel import RATE, Panel, Query, Row, chosen, mean, percentiles, quantile, rate

RECALLS = 'part="recall", method=~"recall|stream"'
BROKEN = 'state=~"failed|timed_out|unavailable"'
ASKED = 'state!~"disabled|skipped"'

ROWS: tuple[Row, ...] = (
    load("Calls", "RecallService"),
    (
        "Time",
        (
            Panel(
                "Time of a recall",
                "From the request to the answer, in the recall service.",
                "s",
                percentiles("port_call_seconds", RECALLS, OWN),
            ),
            Panel(
                "Where the time goes",
                "The mean of each phase. arms holds embed and time: they run at once.",
                "s",
                (Query(mean("recall_phase_seconds", "phase"), "{{phase}}"),),
            ),
            Panel(
                "Slow recalls",
                "Over RECALLMESH_RECALL__SLOW_S: the log has the account of one in five seconds.",
                "reqps",
                (Query(f"sum(rate({chosen('recall_slow_total')}[{RATE}]))", "slow"),),
            ),
        ),
    ),
    (
        "Parts, as recalls find them",
        (
            Panel(
                "Time that recalls wait for each arm, p95",
                "All four are asked at once; the slowest is what a recall waits for.",
                "s",
                (Query(quantile(0.95, "recall_arm_seconds", "arm"), "{{arm}}"),),
            ),
            Panel(
                "Arms that did not answer",
                "The share of the recalls that asked an arm and did without it.",
                "percentunit",
                (
                    Query(
                        f"{rate('recall_arms_total', 'arm', BROKEN)} / {rate('recall_arms_total', 'arm', ASKED)}",
                        "{{arm}}",
                    ),
                ),
            ),
            Panel(
                "Models by how they fared",
                "Without the reranker the order is RRF's; without the embedder two arms are silent.",
                "reqps",
                (Query(rate("recall_models_total", "part, state"), "{{part}}: {{state}}"),),
            ),
            Panel(
                "Bytes to and from parts elsewhere",
                "Messages without headers: ids, scores and vectors; text goes to the models alone.",
                "Bps",
                (Query(rate("port_bytes_total", "part, direction"), "{{part}}: {{direction}}"),),
            ),
        ),
    ),
    (
        "Answers",
        (
            Panel("Memories in an answer", "", "short", percentiles("recall_memories")),
            Panel(
                "Tokens in an answer", "Of the memories alone, without chunks.", "short", percentiles("recall_tokens")
            ),
            Panel(
                "Failed recalls by reason",
                "What callers did wrong is here too.",
                "reqps",
                (Query(rate("port_failures_total", "reason", RECALLS, OWN), "{{reason}}"),),
                stacked=True,
            ),
        ),
    ),
)
