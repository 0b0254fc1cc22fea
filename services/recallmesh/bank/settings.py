"""The settings of the bank service."""

from pydantic import BaseModel, Field


class BankSettings(BaseModel, extra="forbid", frozen=True):
    """How administration is reached and bounded."""

    address: str | None = None
    """Where the bank service runs, host:port. Absent: in this process."""
    timeout_s: float = Field(default=30.0, gt=0)
    """The most seconds one administrative call may take."""
    watch_interval_s: float = Field(default=0.5, gt=0)
    """How often, in seconds, a watched operation and a bank's events are read again."""
