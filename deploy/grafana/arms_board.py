"""The four arms and the two models, where they are."""

from load_row import OWN
from panel import Panel, Query, Row, chosen, mean, quantile, rate

KNOWN = 'state="known"'

ROWS: tuple[Row, ...] = (
    (
        "Searches, where the arm is",
        (
            Panel("Searches", "", "reqps", (Query(rate("arm_search_seconds_count", "arm", OWN), "{{arm}}"),)),
            Panel("Time, p50", "", "s", (Query(quantile(0.5, "arm_search_seconds", "arm", OWN), "{{arm}}"),)),
            Panel("Time, p99", "", "s", (Query(quantile(0.99, "arm_search_seconds", "arm", OWN), "{{arm}}"),)),
            Panel("Hits, p50", "", "short", (Query(quantile(0.5, "arm_hits", "arm", OWN), "{{arm}}"),)),
            Panel(
                "Budget, p95",
                "The most hits that were asked for, of each fact type.",
                "short",
                (Query(quantile(0.95, "arm_budget_hits", "arm", OWN), "{{arm}}"),),
            ),
            Panel(
                "Failures by reason",
                "Of searches and writes, where the arm is.",
                "reqps",
                (
                    Query(
                        rate(
                            "port_failures_total",
                            "part, reason",
                            'part=~"semantic|keyword|graph|temporal|vectors"',
                            OWN,
                        ),
                        "{{part}}: {{reason}}",
                    ),
                ),
            ),
        ),
    ),
    (
        "Writes",
        (
            Panel(
                "Time of a write, p95",
                "",
                "s",
                (
                    Query(
                        quantile(0.95, "port_call_seconds", "part, method", 'method=~"index|remove|drop"', OWN),
                        "{{part}}: {{method}}",
                    ),
                ),
            ),
            Panel(
                "Changes that the outbox brings",
                "What an arm missed when it was written.",
                "short",
                (Query(rate("outbox_delivered_rows_total", "arm"), "{{arm}}"),),
            ),
            Panel(
                "Deliveries that fail",
                "They are tried again, after 1 s doubling up to 60 s.",
                "short",
                (Query(rate("port_failures_total", "reason", 'part="worker", method="deliver"'), "{{reason}}"),),
            ),
        ),
    ),
    (
        "Models",
        (
            Panel(
                "Calls and texts a second",
                "",
                "short",
                (
                    Query(rate("model_batch_texts_count", "part", OWN), "{{part}}: calls"),
                    Query(rate("model_batch_texts_sum", "part", OWN), "{{part}}: texts"),
                ),
            ),
            Panel(
                "Time of one text, and its wait, p95",
                "A wait above the time of a text says that more replicas or cores would help.",
                "s",
                (
                    Query(quantile(0.95, "model_run_seconds", "part"), "{{part}}: in the model"),
                    Query(quantile(0.95, "model_wait_seconds", "part"), "{{part}}: waiting"),
                ),
            ),
            Panel(
                "Texts at once, mean",
                "1 where each is by itself; the rest is what batches make of concurrent calls.",
                "short",
                (Query(mean("model_together_texts", "part"), "{{part}}"),),
            ),
            Panel(
                "Answers that were remembered",
                "The share of the queries and pairs that the model was not asked.",
                "percentunit",
                (
                    Query(
                        f"{rate('model_remembered_total', 'part', KNOWN)} / {rate('model_remembered_total', 'part')}",
                        "{{part}}",
                    ),
                ),
            ),
            Panel(
                "Texts that wait",
                "Of all replicas.",
                "short",
                (Query(f"sum by (part) ({chosen('model_waiting_texts')})", "{{part}}"),),
            ),
        ),
    ),
)
