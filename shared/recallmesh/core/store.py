"""What can be said of a store that is a server of its own: that it was migrated, and how it stands."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Migrated:
    """A store after its migrations.

    ``store`` is its name ("opensearch"), ``address`` where it is, without secrets. ``before`` and ``after`` are
    versions of its schema: ``before`` is empty where there was nothing, and the two are equal where nothing was to do.
    """

    store: str
    address: str
    before: str
    after: str


@dataclass(frozen=True, slots=True)
class Inspection:
    """How a store stands; one that does not answer has an empty ``version``, and ``advice`` says so.

    ``version`` is the server's own, ``schema`` the one it was migrated to (empty: never) and ``wanted`` the one that
    this version of recallmesh needs. ``memories`` is how many it holds, of all banks and as far as it can tell;
    ``skew_s`` how many seconds its clock is ahead of this machine's. Both are absent where it cannot say. ``advice`` is
    what is wrong and what to do, a sentence each; empty where all is well.
    """

    store: str
    address: str
    version: str = ""
    schema: str = ""
    wanted: str = ""
    memories: int | None = None
    skew_s: float | None = None
    advice: tuple[str, ...] = ()
