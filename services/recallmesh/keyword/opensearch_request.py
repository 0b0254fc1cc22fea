"""Requests to OpenSearch, as the keyword store makes them; who sends them is the official client's affair."""

from collections.abc import Mapping
from typing import Any, Protocol

TIMEOUT_S = 2.0
"""How long a search, or a look at whether the server is there, may take."""
WRITE_TIMEOUT_S = 30.0
"""How long a write may take: it waits for a refresh of the index."""
DROP_TIMEOUT_S = 120.0
"""How long the removal of a bank may take: some ten thousand memories a second."""

Answer = dict[str, Any]
Body = Mapping[str, Any] | str | None


class Requests(Protocol):
    """Sends requests to one server; safe for concurrent calls."""

    async def ask(
        self, method: str, path: str, body: Body = None, *, timeout_s: float = TIMEOUT_S, **params: str
    ) -> Answer:
        """Return what the server answers. A text as body is lines of JSON.

        Raises:
            NotReady: there is no such index.
            StoreUnavailable: the server does not answer, refuses the credential, or cannot do it now.
            InternalFault: it does not understand the request.

        """
        ...
