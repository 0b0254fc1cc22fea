"""What comes in, and what goes on after the answer."""

from load_row import OWN, load
from panel import RATE, Panel, Query, Row, chosen, percentiles, quantile, rate

RETAINS = 'part="retain"'
PENDING = 'state="pending"'

ROWS: tuple[Row, ...] = (
    load("Calls", "RetainService"),
    (
        "What comes in",
        (
            Panel(
                "Time of a retain",
                "Until the answer: every store has it, or its arm is said to be pending.",
                "s",
                percentiles("port_call_seconds", RETAINS, OWN),
            ),
            Panel(
                "Documents by what came of them",
                "empty: no memory came of it, which nothing can find.",
                "short",
                (Query(rate("retain_documents_total", "outcome"), "{{outcome}}"),),
                stacked=True,
            ),
            Panel(
                "Memories a second; items of a call",
                "",
                "short",
                (
                    Query(f"sum(rate({chosen('retain_memories_total')}[{RATE}]))", "memories a second"),
                    Query(quantile(0.95, "retain_items", ""), "items of a call, p95"),
                ),
            ),
            Panel(
                "Batches of bulk loads",
                "OK, or why a batch was not kept.",
                "short",
                (Query(rate("retain_batches_total", "outcome"), "{{outcome}}"),),
                stacked=True,
            ),
            Panel(
                "Extraction, p95",
                "Rules take milliseconds, a language model seconds.",
                "s",
                (Query(quantile(0.95, "port_call_seconds", "part", 'part=~"extractor|language_model"'), "{{part}}"),),
            ),
            Panel(
                "Tokens of language models",
                "What they read and wrote, a second.",
                "short",
                (Query(rate("language_model_tokens_total", "model"), "{{model}}"),),
            ),
        ),
    ),
    (
        "What goes on after the answer",
        (
            Panel(
                "Age of the oldest change that waits for an arm",
                "Every retain process counts the same outbox.",
                "s",
                (Query(f"max by (arm) ({chosen('outbox_lag_seconds')})", "{{arm}}"),),
            ),
            Panel(
                "Changes that wait for an arm",
                "",
                "short",
                (Query(f"max by (arm) ({chosen('outbox_rows')})", "{{arm}}"),),
            ),
            Panel(
                "Arms that did not have a write with its answer",
                "The share of writes that an arm gets later.",
                "percentunit",
                (
                    Query(
                        f"{rate('retain_arms_total', 'arm', PENDING)} / {rate('retain_arms_total', 'arm')}",
                        "{{arm}}",
                    ),
                ),
            ),
            Panel(
                "Operations that have not ended",
                "",
                "short",
                (Query(f"max by (kind) ({chosen('operations_pending')})", "{{kind}}"),),
            ),
            Panel(
                "Age of the oldest operation",
                "",
                "s",
                (Query(f"max by (kind) ({chosen('operations_lag_seconds')})", "{{kind}}"),),
            ),
            Panel(
                "Time of an operation, p95",
                "As its worker sees it; tries that fail count too.",
                "s",
                (
                    Query(
                        quantile(0.95, "port_call_seconds", "method", 'part="worker", method=~"operation_.*"'),
                        "{{method}}",
                    ),
                ),
            ),
            Panel(
                "Consolidation: what is left to do",
                "New facts of banks that are due, observations to write anew.",
                "short",
                (Query(f"max by (kind) ({chosen('consolidation_backlog')})", "{{kind}}"),),
            ),
            Panel(
                "Consolidation: how long the first bank waits",
                "",
                "s",
                (Query(f"max({chosen('consolidation_wait_seconds')})", "wait"),),
            ),
            Panel(
                "Posts to webhooks",
                "",
                "reqps",
                (Query(rate("webhook_posts_total", "outcome"), "{{outcome}}"),),
                stacked=True,
            ),
        ),
    ),
)
