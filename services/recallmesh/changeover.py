"""A change of the embedding model, step by step; each step may be done again, and changes nothing then."""

from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, replace
from datetime import timedelta

from recallmesh.core.arm import Arm, ArmName
from recallmesh.core.encoder import Embedder
from recallmesh.core.errors import FieldViolation, InvalidArgument, NotReady, StoreUnavailable
from recallmesh.core.ledger import Ledger
from recallmesh.core.models import Model, ModelLedger, ModelUse
from recallmesh.core.time import Clock
from recallmesh.retain.repair import Repairer
from recallmesh.upkeep import Looked, Pace, Tell, mend_every

DROP_AFTER = timedelta(minutes=1)
"""After a switch nobody takes the former model for the one in use any more; a recall is given up sooner than that."""
PASSES = 20
"""The most passes of a backfill: others write what two looks find different, or something is wrong with the index."""
NONE_BEGUN = "no change of models was begun: recallmesh reembed start"


@dataclass(frozen=True, slots=True)
class Filling:
    """A model to fill the vectors of: its arm, and its embedder."""

    arm: Arm
    embedder: Embedder


async def begin(ledger: ModelLedger, main: Model, following: Model, now: Clock) -> ModelUse:
    """Have the second model written beside the one in use from now on.

    Raises:
        InvalidArgument: they are the same model.
        NotReady: another change is under way.

    """
    if main.fingerprint == following.fingerprint:
        raise InvalidArgument(FieldViolation("RECALLMESH_EMBEDDER__NEXT", "is the same model as the embedder's"))
    use = await ledger.model_use()
    if use is not None and use.beside is not None:
        if use.knows(main.fingerprint) and use.knows(following.fingerprint):
            return use
        raise NotReady(
            f"another change is under way: {use.beside.fingerprint} is written beside {use.in_use.fingerprint};"
            " end it first: recallmesh reembed drop"
        )
    # A model that was changed past the ledger is in use all the same.
    turned = use is not None and use.is_in_use(following.fingerprint)
    in_use, beside = (following, main) if turned else (main, following)
    return await ledger.set_model_use(use, ModelUse(in_use, now(), beside))


async def switch(ledger: ModelLedger, to: Model, now: Clock) -> ModelUse:
    """Have a model that was filled answer from now on, and the former one written beside it.

    Raises:
        NotReady: it is not written beside the one in use.

    """
    use = await ledger.model_use()
    if use is None or not use.knows(to.fingerprint):
        raise NotReady(NONE_BEGUN)
    if use.is_in_use(to.fingerprint):
        return use
    return await ledger.set_model_use(use, ModelUse(to, now(), use.in_use))


async def droppable(ledger: ModelLedger, now: Clock) -> ModelUse:
    """Return what is in use where the model beside it may be dropped.

    Raises:
        NotReady: there is none, or it was in use a moment ago.

    """
    use = await ledger.model_use()
    if use is None or use.beside is None:
        raise NotReady("no model is written beside the one in use")
    if (age := now() - use.since) < DROP_AFTER:
        raise NotReady(
            f"the models were changed {age.total_seconds():.0f} s ago, and some may not have seen it yet:"
            f" again in {(DROP_AFTER - age).total_seconds():.0f} s"
        )
    return use


async def drop(ledger: ModelLedger, use: ModelUse) -> ModelUse:
    """Write the model beside the one in use no more; raises ``ConflictingWrite`` where it changed meanwhile."""
    return await ledger.set_model_use(use, replace(use, beside=None))


async def fill(ledger: Ledger, filling: Filling, now: Clock, pace: Pace, tell: Tell) -> AsyncIterator[Looked]:
    """Make the vectors that a model lacks, of all banks, until a whole pass finds none; yields each bank of each pass.

    Raises:
        StoreUnavailable: so many passes were not enough.

    """
    arms: Mapping[ArmName, Arm] = {ArmName.SEMANTIC: filling.arm}
    repairer = Repairer(ledger, arms, filling.embedder, now=now)
    for _ in range(PASSES):
        rows = 0
        async for one in mend_every(ledger, arms, repairer, pace, tell):
            rows += one.rows + bool(one.error)
            yield one
            if one.error:
                raise StoreUnavailable(f"bank {one.bank.ref.bank_id}: {one.error}")
        if not rows:
            return
    raise StoreUnavailable("the vectors still differ from the ledger: is somebody else writing to the index?")
