"""Which model a process uses: the ledger says so, whatever the process calls it."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from bench.hashed import HashedEmbedder
from recallmesh.changeover import begin, drop, droppable, switch
from recallmesh.core.errors import ConflictingWrite, EmbeddingMismatch, InvalidArgument, NotReady, StoreUnavailable
from recallmesh.core.models import Model, ModelUse
from recallmesh.ledger import open_ledger
from recallmesh.models import KnownModels, ModelsInUse, Role

NOW = datetime(2026, 3, 1, tzinfo=UTC)
A, B, C = Model("a-1", "a", 2), Model("b-1", "b", 2), Model("c-1", "c", 3)


class Named(HashedEmbedder):
    """A model of some name, which may be away."""

    def __init__(self, fingerprint):
        super().__init__()
        self.fingerprint = fingerprint
        self.away = False
        self.asked = 0

    async def info(self):
        self.asked += 1
        if self.away:
            raise StoreUnavailable("away")
        return replace(await super().info(), fingerprint=self.fingerprint)


class Seconds:
    at = 0.0

    def __call__(self):
        return self.at


class Told:
    """A ledger that says what a test does."""

    def __init__(self, use=None):
        self.use = use
        self.away = False

    async def model_use(self):
        if self.away:
            raise StoreUnavailable("away")
        return self.use


@pytest.fixture
def seconds():
    return Seconds()


def models_of(ledger, *fingerprints, seconds):
    embedders = dict(zip(Role, map(Named, fingerprints), strict=False))
    known = KnownModels(embedders, clock=seconds)
    return ModelsInUse(known, ledger, clock=seconds), embedders


async def test_without_a_change_the_settings_say_it(seconds):
    models, _ = models_of(Told(), "a-1", "b-1", seconds=seconds)
    assert await models.in_use() is Role.MAIN
    assert await models.written() == (Role.MAIN, None)


@pytest.mark.parametrize(
    ("use", "here", "in_use", "beside"),
    [
        (ModelUse(A, NOW, B), ("a-1", "b-1"), Role.MAIN, Role.NEXT),
        (ModelUse(B, NOW, A), ("a-1", "b-1"), Role.NEXT, Role.MAIN),
        (ModelUse(B, NOW, A), ("b-1", "a-1"), Role.MAIN, Role.NEXT),
        (ModelUse(B, NOW, A), ("b-1",), Role.MAIN, None),
        (ModelUse(B, NOW), ("a-1", "b-1"), Role.NEXT, None),
        (ModelUse(A, NOW), ("c-1",), Role.MAIN, None),  # changed past the ledger: as without one
    ],
)
async def test_the_ledger_says_which_answers_and_which_is_written_beside(use, here, in_use, beside, seconds):
    models, _ = models_of(Told(use), *here, seconds=seconds)
    assert await models.in_use() is in_use
    assert await models.written() == (in_use, beside)


async def test_a_process_without_the_one_in_use_refuses_while_models_are_changed(seconds):
    models, _ = models_of(Told(ModelUse(A, NOW, B)), "b-1", seconds=seconds)
    with pytest.raises(NotReady, match="uses a-1"):
        await models.in_use()
    with pytest.raises(NotReady, match="uses a-1"):
        await models.written()


async def test_a_switch_is_seen_after_a_second_and_by_writers_at_once(seconds):
    ledger = Told(ModelUse(A, NOW, B))
    models, _ = models_of(ledger, "a-1", "b-1", seconds=seconds)
    assert await models.in_use() is Role.MAIN
    ledger.use = ModelUse(B, NOW, A)
    assert await models.in_use() is Role.MAIN
    assert await models.written() == (Role.NEXT, Role.MAIN)
    seconds.at += 1.0
    assert await models.in_use() is Role.NEXT


async def test_while_the_ledger_is_away_recall_goes_on_with_what_it_said(seconds):
    ledger = Told(ModelUse(B, NOW, A))
    models, _ = models_of(ledger, "a-1", "b-1", seconds=seconds)
    assert await models.in_use() is Role.NEXT
    ledger.away, seconds.at = True, 5.0
    assert await models.in_use() is Role.NEXT
    with pytest.raises(StoreUnavailable):
        await models.written()


async def test_a_next_embedder_that_is_away_is_asked_rarely_and_holds_up_nothing(seconds):
    models, embedders = models_of(Told(ModelUse(A, NOW, B)), "a-1", "b-1", seconds=seconds)
    embedders[Role.NEXT].away = True
    for _ in range(10):
        assert await models.written() == (Role.MAIN, None)
    assert embedders[Role.NEXT].asked == 1
    embedders[Role.NEXT].away, seconds.at = False, 6.0
    assert await models.written() == (Role.MAIN, Role.NEXT)


async def test_an_embedder_that_is_away_may_be_the_one_in_use_and_nothing_is_written_to_another(seconds):
    models, embedders = models_of(Told(ModelUse(A, NOW, B)), "a-1", "b-1", seconds=seconds)
    embedders[Role.MAIN].away = True
    with pytest.raises(StoreUnavailable):
        await models.written()
    assert await models.in_use() is Role.MAIN  # there is no vector to ask by


async def test_a_model_that_is_not_here_is_refused_by_name(seconds):
    known = KnownModels({Role.MAIN: Named("a-1")}, clock=seconds)
    assert await known.role_of("a-1") is Role.MAIN
    with pytest.raises(EmbeddingMismatch, match="has vectors of a-1, not of b-1"):
        await known.role_of("b-1")


@pytest.fixture
async def ledger(tmp_path):
    async with open_ledger(f"sqlite:///{tmp_path}/ledger.db") as ledger:
        yield ledger


def at(seconds=0.0):
    return lambda: NOW + timedelta(seconds=seconds)


async def test_a_change_is_begun_switched_turned_back_and_ended(ledger):
    assert await ledger.model_use() is None
    assert await begin(ledger, A, B, at()) == ModelUse(A, NOW, B)
    assert await begin(ledger, A, B, at(9)) == ModelUse(A, NOW, B)  # twice is as once
    assert await switch(ledger, B, at(10)) == ModelUse(B, at(10)(), A)
    assert await switch(ledger, B, at(20)) == ModelUse(B, at(10)(), A)
    assert await switch(ledger, A, at(30)) == ModelUse(A, at(30)(), B)
    with pytest.raises(NotReady, match="again in 55 s"):
        await droppable(ledger, at(35))
    use = await droppable(ledger, at(91))
    assert await drop(ledger, use) == ModelUse(A, at(30)())
    assert await ledger.model_use() == ModelUse(A, at(30)())
    with pytest.raises(NotReady, match="no model is written beside"):
        await droppable(ledger, at(200))


async def test_what_cannot_be_begun_or_switched_says_why(ledger):
    with pytest.raises(InvalidArgument, match="is the same model"):
        await begin(ledger, A, A, at())
    with pytest.raises(NotReady, match="recallmesh reembed start"):
        await switch(ledger, B, at())
    await begin(ledger, A, B, at())
    with pytest.raises(NotReady, match="b-1 is written beside a-1"):
        await begin(ledger, A, C, at())
    with pytest.raises(NotReady, match="recallmesh reembed start"):
        await switch(ledger, C, at())


async def test_the_next_change_begins_with_what_is_in_use_whatever_it_is_called(ledger):
    await ledger.set_model_use(None, ModelUse(B, NOW))
    assert await begin(ledger, A, B, at(1)) == ModelUse(B, at(1)(), A)


async def test_a_model_that_was_changed_past_the_ledger_is_in_use(ledger):
    await ledger.set_model_use(None, ModelUse(C, NOW))
    assert await begin(ledger, A, B, at(1)) == ModelUse(A, at(1)(), B)


async def test_of_two_that_change_the_models_at_once_one_is_told(ledger):
    before = await begin(ledger, A, B, at())
    await ledger.set_model_use(before, ModelUse(B, at(1)(), A))
    with pytest.raises(ConflictingWrite):
        await ledger.set_model_use(before, ModelUse(A, at(2)()))
