"""What can be set about the temporal arm."""

from pydantic import BaseModel, Field

from recallmesh.temporal.arm import BUCKETS, LINK_REACH


class TemporalSettings(BaseModel, extra="forbid", frozen=True):
    """The temporal arm: where it is, and how it spreads over a window. It reads the semantic arm's vectors."""

    address: str | None = None
    """Where the arm is served, as ``host:port``. Absent: in this process."""
    timeout_s: float = Field(default=2.0, gt=0)
    """Seconds that a search may take."""
    buckets: int = Field(default=BUCKETS, ge=1, le=100)
    """Into how many equal parts a window is cut; each part's best memory comes before any part's second."""
    link_hours: float = Field(default=LINK_REACH.total_seconds() / 3600, gt=0, le=8760)
    """Hours within which a memory outside the window counts as a neighbour of one inside."""
