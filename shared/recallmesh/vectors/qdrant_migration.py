"""Making a collection what it must be, and saying how it stands."""

from recallmesh.core.errors import MeshError
from recallmesh.core.store import Inspection, Migrated
from recallmesh.vectors.qdrant_collection import (
    MIGRATE,
    SCHEMA,
    collection_name,
    completion,
    creation,
    indexing,
    lacking,
    wrong_shape,
)
from recallmesh.vectors.qdrant_index import check_shape, check_version, refuse_other_size
from recallmesh.vectors.qdrant_point import ANY_STORED
from recallmesh.vectors.qdrant_server import VectorServer

STORE = "qdrant"


async def migrate(
    server: VectorServer, *, address: str, prefix: str, fingerprint: str, dimensions: int, index_from: int
) -> Migrated:
    """Make the collection of a model where there is none, and whatever it lacks; several may do so at once.

    What says that it is whole comes last: a migration that was cut off is gone on with by the next.

    Raises:
        StoreUnavailable: the server does not answer.
        EmbeddingMismatch: it has vectors of this model in another size; nothing is touched.
        NotReady: the server is too old, or a newer version made the collection.

    """
    check_version(await server.version())
    name = collection_name(prefix, fingerprint, dimensions)
    found = await server.find(name)
    before = _schema(found.schema) if found else ""
    if found is None:
        await refuse_other_size(server, prefix, fingerprint, dimensions)
        await server.create(creation(name, fingerprint, dimensions, index_from=index_from))
        found = await server.find(name)
    if found is not None and (wrong_shape(found, dimensions) or found.schema > SCHEMA):
        check_shape(found, dimensions)
    for key in lacking(found) if found else ():
        await server.index(indexing(name, key))
    if found is None or found.schema != SCHEMA:
        await server.describe(completion(name))
    return Migrated(STORE, address, before, str(SCHEMA))


async def inspect(server: VectorServer, *, address: str, prefix: str, fingerprint: str, dimensions: int) -> Inspection:
    """Say how the server and the collection stand; never raises for what is down or wrong."""
    version, schema, memories, advice = "", "", None, []
    try:
        version = await server.version()
        check_version(version)
        found = await server.find(collection_name(prefix, fingerprint, dimensions))
        if found is None:
            await refuse_other_size(server, prefix, fingerprint, dimensions)
            advice.append(f"the collection of the vectors is not there; {MIGRATE}")
        else:
            schema = _schema(found.schema)
            memories = await server.count(found.name, ANY_STORED)
            check_shape(found, dimensions)
    except MeshError as error:
        advice.append(error.message)
    return Inspection(STORE, address, version, schema, str(SCHEMA), memories, None, tuple(advice))


def _schema(number: int) -> str:
    return str(number) if number else ""
