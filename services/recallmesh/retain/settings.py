"""What an operator may set about retain."""

from pydantic import BaseModel, Field


class RetainSettings(BaseModel, extra="forbid", frozen=True):
    """Settings of the retain service."""

    address: str | None = None
    """Where the retain service is (``host:port``). Absent: in this process."""
    timeout_s: float = Field(default=60.0, gt=0)
    """The longest a retain may take, in seconds."""
    arm_timeout_s: float = Field(default=10.0, gt=0)
    """How long a retain waits for an arm, in seconds; what is not stored then, the outbox delivers."""
    batches: int = Field(default=4, ge=1, le=64)
    """How many batches of bulk loads are worked on at once, over all of them; so that one embeds while another is
    written. A stream has as many in hand, and is held back beyond them."""
    outbox_poll_s: float = Field(default=0.5, gt=0)
    """How often the outbox is looked at when nobody woke its worker, in seconds."""
    outbox_batch: int = Field(default=200, ge=1, le=1000)
    """The most memories delivered to an arm at once."""
    outbox_lease_s: float = Field(default=60.0, gt=0)
    """How long a worker may take to deliver a batch before another may, in seconds."""
    job_lease_s: float = Field(default=30.0, gt=0)
    """How long after a worker's death another takes its operation over, in seconds; one alive keeps it longer."""
