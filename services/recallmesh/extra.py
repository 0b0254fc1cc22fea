"""Says which extra a setting needs where its client is not installed."""

from collections.abc import Iterator
from contextlib import contextmanager

from recallmesh.core.errors import FieldViolation, InvalidArgument


@contextmanager
def needing(extra: str, setting: str, what: str = "its client") -> Iterator[None]:
    """Import within this what an extra brings, because a setting names it.

    Raises:
        InvalidArgument: it is not installed; says how to install it.

    """
    try:
        yield
    except ImportError as error:
        remedy = f"{what} is not installed: pip install 'recallmesh[{extra}]'"
        raise InvalidArgument(FieldViolation(setting, remedy)) from error
