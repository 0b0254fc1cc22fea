"""The folder of the embedded stores."""

from pathlib import Path

from recallmesh.core.errors import FieldViolation, InvalidArgument


def make_private(folder: Path) -> None:
    """Make the data folder, for its owner alone; one that is there is left as it is.

    Raises:
        InvalidArgument: it is a file, or cannot be made.

    """
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except FileExistsError as error:
        raise InvalidArgument(FieldViolation("data", f"{folder} is a file, not a folder")) from error
    except OSError as error:
        raise InvalidArgument(FieldViolation("data", f"{folder} cannot be made: {error.strerror}")) from error
