"""Changes the file of keys: one at a time, whole or not at all, for its owner's eyes."""

import fcntl
import os
import stat
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from recallmesh.core.errors import FieldViolation, InvalidArgument
from recallmesh.identity.key_file import KeyFile, read_keys, write_keys

OWNERS = 0o600


def load_keys(path: Path) -> KeyFile:
    """Return what the file says; of one that is not there nothing.

    Raises:
        InvalidArgument: it cannot be read, or is none.

    """
    try:
        return read_keys(path.read_bytes())
    except FileNotFoundError:
        return KeyFile()
    except OSError as error:
        raise _cannot("read", path, error) from error
    except InvalidArgument as error:
        told = (FieldViolation(f"{path}: {one.field}", one.description) for one in error.violations)
        raise InvalidArgument(*told) from error


def change_keys(path: Path, change: Callable[[KeyFile], KeyFile]) -> None:
    """Change the file, or make it; whoever reads it meanwhile sees it before or after.

    Raises:
        InvalidArgument: it cannot be read or written, or is none.

    """
    # Through links: what they lead to is replaced, and not they.
    path = Path(os.path.realpath(path))
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with _alone(path.parent):
            _replace(path, write_keys(change(load_keys(path))))
    except OSError as error:
        raise _cannot("written", path, error) from error


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Keep others who change a file of this folder waiting."""
    opened = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(opened, fcntl.LOCK_EX)
        yield
    finally:
        os.close(opened)


def _replace(path: Path, written: bytes) -> None:
    mode = stat.S_IMODE(path.stat().st_mode) if path.exists() else OWNERS
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(written)
            file.flush()
            os.fsync(file.fileno())
        Path(name).chmod(mode)
        Path(name).replace(path)
    except OSError:
        Path(name).unlink(missing_ok=True)
        raise


def _cannot(what: str, path: Path, error: OSError) -> InvalidArgument:
    return InvalidArgument(FieldViolation("keys", f"{path} cannot be {what}: {error.strerror}"))
