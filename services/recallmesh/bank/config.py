"""What may be set for a bank."""

from recallmesh.core.bank import BankConfig
from recallmesh.core.errors import InvalidArgument
from recallmesh.core.label import vocabulary_violations
from recallmesh.core.tunable import consolidation_violations, retain_violations, tuning_violations


def check_config(config: BankConfig | None) -> None:
    """Return if the configuration can be worked with.

    Raises:
        InvalidArgument: it cannot; names every field that is wrong.

    """
    if config is None:
        return
    found = [
        *tuning_violations(config.recall, "config.recall"),
        *retain_violations(config.retain, "config.retain"),
        *consolidation_violations(config.consolidation, "config.consolidation"),
        *vocabulary_violations(config.labels, "config.labels"),
    ]
    if found:
        raise InvalidArgument(*found)
