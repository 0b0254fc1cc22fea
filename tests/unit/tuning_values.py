"""Values for what can be set, made from the table of it; each level of a resolution says some of them."""

from hypothesis import strategies as st

from recallmesh.core.arm import ArmName
from recallmesh.core.tunable import TUNABLES, Kind, with_value
from recallmesh.core.tuning import RecallTuning


def allowed(one):
    """Return a strategy for the values that a key may have."""
    match one.kind:
        case Kind.SWITCH:
            return st.booleans()
        case Kind.WHOLE:
            return st.integers(one.least, one.most)
        case Kind.NUMBER:
            most = 1e6 if one.most is None else one.most
            return st.floats(one.least, most, exclude_min=one.open_least)
        case Kind.CHOICE:
            return st.sampled_from(one.words)
        case Kind.ARMS:
            return st.frozensets(st.sampled_from(ArmName))
        case Kind.BOOSTS:
            return st.dictionaries(st.sampled_from(ArmName), st.sampled_from(one.words))
    raise AssertionError(one)


def refused(one):
    """Return values of a key that are of its kind and out of its range; none where there are none."""
    if one.kind is Kind.CHOICE:
        return ("nonsense",)
    if one.least is None:
        return ()
    below = (one.least,) if one.open_least else ()
    above = () if one.most is None else (one.most + 1,)
    odd = (float("nan"), float("inf")) if one.kind is Kind.NUMBER else ()
    return (one.least - 1, *below, *above, *odd)


@st.composite
def sayings(draw):
    """Draw what one level says: a value for some of the paths."""
    said = draw(st.fixed_dictionaries({}, optional={one.path: allowed(one) for one in TUNABLES}))
    if said.get("budget_min", 0) > said.get("budget_max", 2000):
        said["budget_min"], said["budget_max"] = said["budget_max"], said["budget_min"]
    return said


def tuning_of(said):
    """Return the tuning that says this."""
    tuning = RecallTuning()
    for path, value in said.items():
        tuning = with_value(tuning, path, value)
    return tuning
