"""What a service bears: the panels that recall and retain have alike."""

from panel import RATE, Panel, Query, Row, chosen, rate

OWN = 'place="here"'
"""The work itself, counted where it is done."""
FAULTS = 'code=~"INTERNAL|UNAVAILABLE|DEADLINE_EXCEEDED|RESOURCE_EXHAUSTED|UNKNOWN"'


def load(title: str, service: str) -> Row:
    """Return the panels of what a service bears."""
    of = f'method=~"/recallmesh.v1.{service}/.*"'
    return (
        title,
        (
            Panel(
                "Calls by status code",
                "What the servers answered. Codes other than OK are told below by their reasons.",
                "reqps",
                (Query(rate("rpc_seconds_count", "code", of), "{{code}}"),),
                stacked=True,
            ),
            Panel(
                "Calls that the mesh failed",
                "The share of calls that ended by the mesh's fault and not by their own.",
                "percentunit",
                (
                    Query(
                        f"(sum(rate({chosen('rpc_seconds_count', of, FAULTS)}[{RATE}])) or vector(0)) / "
                        f"sum(rate({chosen('rpc_seconds_count', of)}[{RATE}]))",
                        "failed",
                    ),
                ),
            ),
            Panel(
                "Places taken in the fullest process",
                "At 100 % calls are refused with RESOURCE_EXHAUSTED. Those that wait count. Of all processes.",
                "percentunit",
                (Query(f"max by (kind) ({chosen('rpc_in_flight')} / {chosen('rpc_in_flight_limit')})", "{{kind}}"),),
            ),
        ),
    )
