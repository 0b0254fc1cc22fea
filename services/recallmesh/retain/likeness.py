"""Likeness: whether two facts say the same, or one denies the other; strict, since what was merged is seen as one."""

from dataclasses import dataclass
from enum import StrEnum

from recallmesh.core.encoder import EmbedderInfo
from recallmesh.core.memory import Memory
from recallmesh.core.time import Occurrence
from recallmesh.retain.gist import Gist, gist_of, is_turning

TWIN_SHARE = 0.2
"""How far from the high background cosine to 1 twins begin: with bge-small (0.81) at 0.848. Reference pairs of twins
have 0.875 and more; but so have half of those that must never meet (0.98 for who bit whom): no cosine tells them apart,
the words do."""
DENIAL_SHARE = 0.5
"""How far from the mean background cosine to the high one denials begin: with bge-small at 0.74. "No longer" moves a
vector as far as another subject does: the reference pairs have 0.752 to 0.889."""
FEWEST_WORDS = 2
"""The fewest words that must say something: "Yes, really!" twice is no fact."""
LONG_WORD = 6
"""The letters from which one word outside ASCII may be a sentence: not all scripts have spaces."""


class Likeness(StrEnum):
    """How two facts stand to each other."""

    TWINS = "twins"
    """They say the same, or one of them that and more."""
    DENIAL = "denial"
    """One says that what the other says is not so."""


@dataclass(frozen=True, slots=True)
class Known:
    """A fact and its gist."""

    memory: Memory
    gist: Gist


def known(memory: Memory) -> Known:
    """Return a fact with what it says."""
    return Known(memory, gist_of(memory))


@dataclass(frozen=True, slots=True)
class Floors:
    """The least cosines of twins and of denials, for one embedding model."""

    twins: float
    denial: float

    def admit(self, found: Likeness | None, cosine: float | None) -> bool:
        """Tell whether facts that stand so to each other by their words are near enough; unmeasured ones are."""
        if found is None or cosine is None:
            return found is not None
        return cosine >= (self.twins if found is Likeness.TWINS else self.denial)


def floors_of(info: EmbedderInfo) -> Floors:
    """Return the floors of a model, measured from its own background."""
    mean, high = info.cosine_mean, info.cosine_high
    return Floors(high + (1.0 - high) * TWIN_SHARE, mean + (high - mean) * DENIAL_SHARE)


def share_words(one: Gist, other: Gist) -> bool:
    """Tell whether two facts could be alike at all: half of the shorter one's words are the other's."""
    mine, theirs = frozenset(one.stems), frozenset(other.stems)
    return 2 * len(mine & theirs) >= min(len(mine), len(theirs)) > 0


def share_names(one: Known, other: Known) -> bool:
    """Tell whether one mentions nobody whom the other does not, and both somebody or both nobody."""
    mine, theirs = one.gist.names, other.gist.names
    return bool(mine) == bool(theirs) and (mine <= theirs or theirs <= mine)


def likeness(one: Known, other: Known) -> Likeness | None:
    """Return how two facts stand to each other by their words; nothing where they are about something else.

    The words of one must be those of the other in the same order (a part of the sentence may have been moved to the
    front), or begin it: what follows then adds to it. So other numbers, names, dates, objects or an owner between
    (Ana's brother) make another fact, and so does a question, a wish or the past.
    """
    mine, theirs = one.gist, other.gist
    if len(mine.words) > len(theirs.words):
        mine, theirs = theirs, mine
    if not _says_something(mine) or mine.asked is not theirs.asked:
        return None
    if not share_names(one, other) or not _same_time(one.memory.occurred, other.memory.occurred):
        return None
    if not (_moved(mine.stems, theirs.stems) or _begins(mine, theirs)):
        return None
    return Likeness.TWINS if mine.denied is theirs.denied else Likeness.DENIAL


def _says_something(gist: Gist) -> bool:
    stems = gist.stems
    return len(stems) >= FEWEST_WORDS or any(not stem.isascii() and len(stem) >= LONG_WORD for stem in stems)


def _same_time(one: Occurrence | None, other: Occurrence | None) -> bool:
    """Tell whether two facts can have happened at one time; one without a time can have at any."""
    if one is None or other is None:
        return True
    return one.window.start <= other.window.end and other.window.start <= one.window.end


def _moved(mine: tuple[str, ...], theirs: tuple[str, ...]) -> bool:
    """Tell whether the words are the same, in the same order but for a part moved to the other end."""
    if len(mine) != len(theirs) or sorted(mine) != sorted(theirs):
        return False
    return any(mine[turn:] + mine[:turn] == theirs for turn in range(len(mine)))


def _begins(mine: Gist, theirs: Gist) -> bool:
    """Tell whether the longer one says the shorter, and then more: not "tea cakes" for "tea", not "if …"."""
    size = len(mine.words)
    if theirs.stems[:size] != mine.stems or len(theirs.words) == size:
        return False
    rest = theirs.words[size:]
    return rest[0].after_filling and not is_turning(word.stem for word in rest)
