"""Which mesh the command line names; light, so that an error can be explained without loading one."""

import argparse
import os
import shlex
from pathlib import Path

from recallmesh.core.errors import FieldViolation, InvalidArgument
from recallmesh.core.port import is_target
from recallmesh.core.tls import Tls, TlsNames

SERVER = "RECALLMESH_SERVER"
KEY = "RECALLMESH_KEY"
CA = "RECALLMESH_CA"
CERT = "RECALLMESH_CERT"
CERT_KEY = "RECALLMESH_CERT_KEY"
SERVER_NAME = "RECALLMESH_SERVER_NAME"


def address_of(words: argparse.Namespace) -> str:
    """Return ``--server``, else RECALLMESH_SERVER unless ``--data`` was given; empty: the mesh is in this process."""
    if getattr(words, "server", None):
        return str(words.server)
    return "" if getattr(words, "data", None) or not hasattr(words, "server") else os.environ.get(SERVER, "")


def key_of_caller() -> str:
    """Return the key that calls of a mesh elsewhere bear, RECALLMESH_KEY; empty: none.

    It is no word of the command line: everybody on a machine sees what its commands were called with.
    """
    return os.environ.get(KEY, "")


def tls_of(words: argparse.Namespace) -> Tls | None:
    """Return what calls of a mesh elsewhere are encrypted by: ``--ca`` and its like, else RECALLMESH_CA and its like.

    Nothing: they are not.

    Raises:
        InvalidArgument: a certificate is named without its key, or a key without its certificate.

    """
    names = TlsNames(*(_name(words, *one) for one in (("ca", CA), ("cert", CERT), ("cert_key", CERT_KEY))))
    ca, certificate, key = (folder(_given(words, *one)) for one in (("ca", CA), ("cert", CERT), ("cert_key", CERT_KEY)))
    if certificate is None and key is not None:
        raise InvalidArgument(FieldViolation(names.key, f"a key is for a certificate: --cert, or {CERT}"))
    if certificate is not None and key is None:
        raise InvalidArgument(FieldViolation(names.certificate, f"needs its private key: --cert-key, or {CERT_KEY}"))
    if ca is None and certificate is None:
        return None
    return Tls(ca, certificate, key, _given(words, "server_name", SERVER_NAME), names)


def _given(words: argparse.Namespace, word: str, variable: str) -> str:
    return getattr(words, word, None) or os.environ.get(variable, "")


def _name(words: argparse.Namespace, word: str, variable: str) -> str:
    return f"--{word.replace('_', '-')}" if getattr(words, word, None) else variable


def state_folder() -> Path:
    """Return where notes of what is half done are kept, by the XDG convention."""
    home = os.environ.get("XDG_STATE_HOME")
    return (Path(home) if home else Path.home() / ".local" / "state") / "recallmesh" / "retain"


def check_address(address: str, words: argparse.Namespace) -> None:
    """Refuse an address that names no port, or that is one of the web.

    Raises:
        InvalidArgument: it is no ``host:port``.

    """
    if is_target(address):
        return
    word = "--server" if getattr(words, "server", None) else SERVER
    raise InvalidArgument(FieldViolation(word, f"{address!r} is no host:port, such as 127.0.0.1:7070"))


def place_of(words: argparse.Namespace) -> str:
    """Return the words that name the same mesh again, for a hint; empty where the command line named none."""
    named = ("server", "ca", "cert", "cert_key", "server_name", "data")
    given = ((f"--{name.replace('_', '-')}", getattr(words, name, None)) for name in named)
    return "".join(f" {word} {shlex.quote(value)}" for word, value in given if value)


def folder(name: str | None) -> Path | None:
    """Return the folder that a word names; nothing for no word."""
    return Path(name).expanduser() if name else None
