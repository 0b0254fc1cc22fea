"""How a part's failure is told in an answer that goes on without it."""

from recallmesh.core.errors import ArmTimeout, MeshError, NotReady, Overloaded, RecallUnavailable, StoreUnavailable
from recallmesh.core.recall import PartState

UNAVAILABLE = (StoreUnavailable, Overloaded, NotReady, RecallUnavailable)


def silence(error: MeshError | TimeoutError) -> tuple[PartState, str]:
    """Return the state a failure puts a part in, and the reason in words (written for callers, as all of ours are)."""
    if not isinstance(error, MeshError):
        return PartState.TIMED_OUT, "did not answer within its share of the deadline"
    if isinstance(error, ArmTimeout):
        return PartState.TIMED_OUT, error.message
    return (PartState.UNAVAILABLE if isinstance(error, UNAVAILABLE) else PartState.FAILED), error.message
