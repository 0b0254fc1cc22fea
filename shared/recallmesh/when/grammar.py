"""What a language's table of phrases is made of, and how its templates become patterns."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Phrase:
    """A way to name a time.

    ``template`` is a pattern in which a space stands for white space and ``{n}``, ``{unit}``, ``{month}``,
    ``{weekday}``, ``{season}``, ``{year}``, ``{day}``, ``{quarter}``, ``{decade}`` for the language's words.
    ``rule`` names the reading (see ``rules.py``), ``offset`` is its constant: how many units from now. A group
    ``lead`` must be there but is not part of the time. ``asked_only`` phrases are read in questions alone: a
    statement's "on Friday" may lie ahead.
    """

    template: str
    rule: str
    offset: int = 0
    unit: str = ""
    asked_only: bool = False


@dataclass(frozen=True, slots=True)
class Grammar:
    """A language's words and phrases.

    ``since`` … ``between`` are patterns that stand directly before a time, ``to`` and ``both`` those between two times.
    ``shy_months`` are names that are also other words: in lower case, alone, they are no month. ``script`` is the
    character class of a language written without spaces.
    """

    language: str
    months: Mapping[str, int]
    weekdays: Mapping[str, int]
    units: Mapping[str, str]
    numbers: Mapping[str, int]
    seasons: Mapping[str, str]
    phrases: tuple[Phrase, ...]
    since: str
    after: str
    before: str
    until: str
    start: str
    between: str
    to: str
    both: str
    ordinals: Mapping[str, int] = field(default_factory=dict)
    function_words: frozenset[str] = frozenset()
    shy_months: frozenset[str] = frozenset()
    spaced: bool = True
    script: str = ""
    patterns: tuple[tuple[re.Pattern[str], Phrase], ...] = field(init=False, default=())

    def __post_init__(self) -> None:
        """Make the patterns once."""
        object.__setattr__(self, "patterns", tuple((self._pattern(phrase), phrase) for phrase in self.phrases))

    def has_script(self, character: str) -> bool:
        """Tell whether a character is of the language's script."""
        return bool(self.script) and re.match(f"[{self.script}]", character) is not None

    def _pattern(self, phrase: Phrase) -> re.Pattern[str]:
        numbers = "|".join((r"\d{1,6}", *_escaped(self.numbers)))
        slots = {
            "{n}": f"(?P<n>{numbers})",
            "{unit}": f"(?P<unit>{'|'.join(_escaped(self.units))})",
            "{month}": f"(?P<month>{'|'.join(_escaped(self.months))})(?:\\.(?=\\s+\\d))?",
            "{weekday}": f"(?P<weekday>{'|'.join(_escaped(self.weekdays))})",
            "{season}": f"(?P<season>{'|'.join(_escaped(self.seasons))})",
            "{year}": r"(?P<year>(?:1[89]|2[0-2])\d\d)",
            "{day}": r"(?P<day>[0-3]?\d)(?:st|nd|rd|th|er|º|ª|°|e)?",
            "{quarter}": r"(?P<quarter>[1-4])",
            "{decade}": r"(?P<decade>(?:(?:1[89]|20)\d0|[1-9]0))",
        }
        source = phrase.template.replace(" ", r"\s+" if self.spaced else r"\s*")
        for slot, words in slots.items():
            source = source.replace(slot, words)
        if self.spaced:
            source = rf"(?<![\w/.-])(?:{source})(?![\w/])"
        return re.compile(source, re.IGNORECASE)


def _escaped(words: Mapping[str, object]) -> list[str]:
    return [re.escape(word).replace(r"\ ", r"\s+") for word in sorted(words, key=len, reverse=True)]
