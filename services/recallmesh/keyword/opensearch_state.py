"""Which keyword index there is on OpenSearch, whether it is the one that is wanted, and what to do if not."""

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import structlog

from recallmesh.core.errors import InternalFault, MeshError, NotReady, StoreUnavailable
from recallmesh.core.store import Inspection
from recallmesh.keyword.opensearch_index import META, SCHEMA, Names, Shape, index_body
from recallmesh.keyword.opensearch_request import TIMEOUT_S, WRITE_TIMEOUT_S, Requests

NOT_MIGRATED = "the keyword store on OpenSearch was never migrated; run: recallmesh migrate"
_LIVING = {"query": {"term": {"live": True}}}
_META_PATH = "*.mappings._meta"
_log = structlog.get_logger("recallmesh.keyword")


@dataclass(frozen=True, slots=True)
class Found:
    """The index that the mesh works with: its name and what its mapping notes of its shape."""

    index: str
    about: Mapping[str, Any]

    @property
    def version(self) -> str:
        """The version of its shape; a question mark where it was not made by us."""
        return str(self.about.get("version", "?"))

    @property
    def newer(self) -> bool:
        """Tell whether a newer recallmesh made it."""
        return int(self.about.get("schema", 0)) > SCHEMA


async def current(requests: Requests, names: Names, *, timeout_s: float = TIMEOUT_S) -> Found | None:
    """Return the index that the mesh works with; nothing where none was ever made."""
    try:
        answer = await requests.ask("GET", f"/{names.current}/_mapping", timeout_s=timeout_s)
    except NotReady:
        return None
    return next((Found(index, _note(described)) for index, described in answer.items()), None)


async def migrated(requests: Requests, names: Names, shape: Shape) -> str:
    """Make this shape's index if it is not there, and make it the mesh's; return the version of the one before.

    Raises:
        NotReady: the index there is of a newer schema.

    """
    # A migration has time: it goes on where a search would long have been given up.
    before = await current(requests, names, timeout_s=WRITE_TIMEOUT_S)
    if before is not None and before.newer:
        raise NotReady(refused(before, shape))
    index = await _made(requests, names, shape)
    if before is None or before.version != shape.version:
        others = {"index": names.every, "alias": names.current, "must_exist": False}
        actions = [{"remove": others}, {"add": {"index": index, "alias": names.current}}]
        await requests.ask("POST", "/_aliases", {"actions": actions}, timeout_s=WRITE_TIMEOUT_S)
        _log.info("keyword.index_chosen", index=index, before="" if before is None else before.index)
    return "" if before is None else before.version


async def inspected(requests: Requests, names: Names, shape: Shape, empty: Inspection) -> Inspection:
    """Return ``empty`` with all that the server says."""
    try:
        about = await requests.ask("GET", "/")
        found = await current(requests, names)
        seen = replace(
            empty,
            version=str(about["version"]["number"]),
            schema="" if found is None else found.version,
            skew_s=await _skew_s(requests),
        )
        if found is None:
            return replace(seen, advice=(f"{NOT_MIGRATED}.",))
        if found.version != shape.version:
            return replace(seen, advice=(f"{refused(found, shape)}.",))
        memories = await _memories(requests, found.index)
        return replace(seen, memories=memories, advice=await _advice_on_others(requests, names, found, memories))
    except MeshError as error:
        return replace(empty, advice=(f"{error.message}.",))


def refused(found: Found, shape: Shape) -> str:
    """Say why an index is not this process's, and what to do."""
    if found.newer:
        return (
            f"the keyword store's index is of schema {found.about['schema']}, and this version of recallmesh knows"
            f" {SCHEMA} at most; run the version that migrated it"
        )
    differing = ", ".join(
        f"{name} {found.about.get(name, 'none')} where {wanted} is set"
        for name, wanted in shape.about.items()
        if found.about.get(name) != wanted
    )
    return (
        f"the keyword store's index was made in another way ({differing}); set it back, or run: recallmesh migrate,"
        " and then, to fill the new index: recallmesh repair"
    )


async def _made(requests: Requests, names: Names, shape: Shape) -> str:
    """Return the index behind the shape's alias, made if it is not there."""
    try:
        return next(iter(await requests.ask("GET", f"/_alias/{names.alias}", timeout_s=WRITE_TIMEOUT_S)))
    except NotReady:
        pass
    try:
        body = index_body(shape, names.alias)
        await requests.ask("PUT", f"/{names.first}", body, timeout_s=WRITE_TIMEOUT_S)
    except InternalFault as error:
        if "resource_already_exists_exception" not in error.message:  # else another migration made it just now
            raise
    return names.first


async def _memories(requests: Requests, index: str) -> int:
    answer = await requests.ask("POST", f"/{index}/_count", _LIVING)
    return int(answer["count"])


async def _advice_on_others(requests: Requests, names: Names, found: Found, memories: int) -> tuple[str, ...]:
    """Say what to do about indexes of other shapes; one that has twice as many memories as ours was not yet copied."""
    every = await requests.ask("GET", f"/{names.every}/_mapping")
    advice = []
    for index in sorted(index for index, described in every.items() if index != found.index and _note(described)):
        others = await _memories(requests, index)
        what = "to fill that, run: recallmesh repair" if others > 2 * memories else "when all is well, delete it"
        held = f"has {others} memories, the one in use {memories}"
        advice.append(f"the index {index}, of another shape and no longer used, {held}; {what}.")
    return tuple(advice)


def _note(described: Mapping[str, Any]) -> Mapping[str, Any]:
    note: Mapping[str, Any] = described["mappings"].get("_meta", {}).get(META, {})
    return note


async def _skew_s(requests: Requests) -> float | None:
    """Return how far the clock that is farthest off is ahead, give or take half of what the question took.

    Nothing where the credential may not ask the nodes.
    """
    asked = time.time()
    try:
        clocks = await requests.ask("GET", "/_nodes/stats/process", filter_path="nodes.*.timestamp")
    except StoreUnavailable:
        return None
    middle = (asked + time.time()) / 2
    ahead = [node["timestamp"] / 1000 - middle for node in clocks.get("nodes", {}).values()]
    return max(ahead, key=abs, default=None)
