"""What keeps the memories, and what runs."""

from panel import OURS, RATE, Panel, Query, Row, chosen, quantile, rate

ROWS: tuple[Row, ...] = (
    (
        "Stores",
        (
            Panel(
                "Calls",
                "",
                "reqps",
                (Query(rate("store_call_seconds_count", "store, system"), "{{store}}, {{system}}"),),
            ),
            Panel(
                "Time, p50",
                "With the wait for a connection or a thread.",
                "s",
                (Query(quantile(0.5, "store_call_seconds", "store, system"), "{{store}}, {{system}}"),),
            ),
            Panel(
                "Time, p99",
                "",
                "s",
                (Query(quantile(0.99, "store_call_seconds", "store, system"), "{{store}}, {{system}}"),),
            ),
            Panel(
                "Failures by reason",
                "",
                "reqps",
                (Query(rate("store_failures_total", "store, reason"), "{{store}}: {{reason}}"),),
                stacked=True,
            ),
            Panel(
                "The slowest operations, p95",
                "",
                "s",
                (
                    Query(
                        f"topk(8, {quantile(0.95, 'store_call_seconds', 'store, operation')})",
                        "{{store}}: {{operation}}",
                    ),
                ),
            ),
            Panel(
                "What the stores' time goes into",
                "Seconds of waiting a second: one is a call that never ends.",
                "short",
                (Query(f"topk(8, {rate('store_call_seconds_sum', 'store, operation')})", "{{store}}: {{operation}}"),),
                stacked=True,
            ),
        ),
    ),
    (
        "Processes",
        (
            Panel(
                "Hosted services that are not ready",
                "",
                "short",
                (Query(f"sum by (job, instance) ({chosen('unready_services')}) > 0", "{{job}} {{instance}}"),),
            ),
            Panel(
                "Processor",
                "Cores that are busy.",
                "short",
                (
                    Query(
                        f"rate(process_cpu_seconds_total{{{OURS}}}[{RATE}]) "
                        f"and on (job, instance) {chosen('build_info')}",
                        "{{job}} {{instance}}",
                    ),
                ),
            ),
            Panel(
                "Resident memory",
                "",
                "bytes",
                (
                    Query(
                        f"process_resident_memory_bytes{{{OURS}}} and on (job, instance) {chosen('build_info')}",
                        "{{job}} {{instance}}",
                    ),
                ),
            ),
            Panel(
                "How late the event loop is, p99",
                "Everything that a process says waits for it. Above 0.1 s something computes where it must not.",
                "s",
                (Query(quantile(0.99, "event_loop_lag_seconds", "job, instance"), "{{job}} {{instance}}"),),
            ),
            Panel(
                "Days until a certificate expires",
                "",
                "d",
                (
                    Query(
                        f"min by (setting) ({chosen('certificate_expiry_timestamp_seconds')} - time()) / 86400",
                        "{{setting}}",
                    ),
                ),
            ),
            Panel(
                "Callers that were refused",
                "For who they are: without a credential, without the right, or beyond a tenant's quota.",
                "reqps",
                (Query(rate("callers_refused_total", "why"), "{{why}}"),),
                stacked=True,
            ),
            Panel(
                "What runs",
                "",
                "short",
                (Query(f"count by (version, python) ({chosen('build_info')})"),),
                kind="table",
                width=24,
            ),
        ),
    ),
)
