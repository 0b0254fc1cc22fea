"""What may be set for a bank."""

from recallmesh.core.bank import BankConfig
from recallmesh.core.errors import FieldViolation, InvalidArgument
from recallmesh.core.tuning import tuning_violations

CHUNK_TOKENS = (16, 65_536)
"""The bounds of ``chunk_tokens``: below, chunks are shreds; above, longer than a document should be."""


def check_config(config: BankConfig | None) -> None:
    """Return if the configuration can be worked with.

    Raises:
        InvalidArgument: it cannot; names every field that is wrong.

    """
    if config is None:
        return
    found = tuning_violations(config.recall, "config.recall")
    least, most = CHUNK_TOKENS
    if not least <= config.retain.chunk_tokens <= most:
        found.append(FieldViolation("config.retain.chunk_tokens", f"must be in [{least}, {most}]"))
    if found:
        raise InvalidArgument(*found)
