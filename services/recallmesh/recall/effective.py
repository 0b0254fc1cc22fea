"""The tuning in force, and which of request, bank and service said each of its values."""

from recallmesh.core.errors import InvalidArgument
from recallmesh.core.tunable import TUNABLES, tuning_violations, value_at
from recallmesh.core.tuning import EffectiveTuning, RecallTuning, TuningOrigin
from recallmesh.recall.plan import RecallDefaults, resolve


def effective(request: RecallTuning, bank: RecallTuning, service: RecallDefaults) -> EffectiveTuning:
    """Return what ``resolve`` gives a recall, with the origin of each value.

    Raises:
        InvalidArgument: the request names a value out of its range.

    """
    violations = tuning_violations(request, "tuning")
    if violations:
        raise InvalidArgument(*violations)

    def origin(path: str) -> TuningOrigin:
        if value_at(request, path) is not None:
            return TuningOrigin.REQUEST
        return TuningOrigin.SERVICE if value_at(bank, path) is None else TuningOrigin.BANK

    return EffectiveTuning(
        resolve(request, bank, service).as_tuning(), {one.path: origin(one.path) for one in TUNABLES}
    )
