"""What a language's table of phrases is made of, and how its templates become patterns."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

YEAR = r"(?:1[89]|2[0-2])\d\d"
COUNTED = (
    "people|persons|users|guests|visitors|words|tokens|metres|meters|miles|km|kg|dollars|euros|calories|copies|"
    "times|steps|pieces|rooms|items|pages|personen|leute[n]?|menschen|zuschauer[n]?|besucher[n]?|exemplare[n]?|"
    "meter[n]?|kilometer[n]?|euro|schritte[n]?|wörter[n]?|teile[n]?|stück|stunden|tage[n]?|personnes|gens|mètres|"
    "kilomètres|pas|mots|pièces|exemplaires|spectateurs|fois|jours|heures|personas|metros|kilómetros|pesos|dólares|"
    "pasos|palabras|piezas|ejemplares|veces|días|horas|persone|metri|chilometri|passi|parole|pezzi|copie|volte|"
    "giorni|ore|pessoas|quilômetros|quilómetros|reais|passos|palavras|peças|exemplares|vezes|dias|mensen|meter|"
    "kilometer|stappen|woorden|delen|stuks|exemplaren|bezoekers|keer|dagen|uur"
)
NOT_COUNTED = rf"(?! (?:{COUNTED})\b)"
"""A number before one of these is a count, not a year, whichever language reads it: "in 2000 steps"."""
NEVER = r"(?!)"
KINDS = ("month", "weekday", "season", "unit")
"""Words that set off phrases, the rarest first; a phrase is looked for only around the first kind that it needs."""
FIGURES = re.compile(r"\{(?:n|year|from_year|day|first|quarter|decade)\}|\\d")
REACH = 64
"""Characters around a word that sets off a phrase in which the whole phrase must lie."""


@dataclass(frozen=True, slots=True)
class Phrase:
    """A way to name a time.

    ``template`` is a pattern in which a space stands for white space and ``{n}``, ``{unit}``, ``{month}``,
    ``{weekday}``, ``{season}``, ``{year}``, ``{day}``, ``{quarter}``, ``{decade}`` for the language's words,
    ``{rel}`` for a year named from now ("of last year") and ``{first}``, ``{from}``, ``{from_year}`` for the day,
    month and year that a range begins with; a group ``month_figure`` is a month's number. ``rule`` names the reading
    (see ``rules.py``), ``offset`` is its constant: how many units from now, or which half of a year. A group ``lead``
    must be there but is not part of the time. ``asked_only`` phrases are read in questions alone: a statement's "on
    Friday" may lie ahead. ``bound`` ones ("and Friday") are times only directly behind another. ``own_only`` ones are
    also words of other languages ("hier"): they are read where the text is of this one more than of any other, or is
    nothing else.
    """

    template: str
    rule: str
    offset: int = 0
    unit: str = ""
    asked_only: bool = False
    bound: bool = False
    own_only: bool = False

    @property
    def kind(self) -> str:
        """The kind of word that every match of it has."""
        if self.rule == "half":
            return "word"
        if "(?P<quarter>" in self.template:
            return "unit"  # its name is one, and the year may be left out
        for kind in KINDS:
            if f"{{{kind}}}" in self.template or f"(?P<{kind}>" in self.template:
                return kind
        return "figure" if FIGURES.search(self.template) else "word"


@dataclass(frozen=True, slots=True)
class Grammar:
    """A language's words and phrases.

    ``since`` … ``between`` are patterns that stand directly before a time, ``to`` and ``both`` those between two
    times, ``tails`` those that stand behind one (by side: "since", "before", …), ``closing`` that behind a range.
    ``years`` are years named from now, ``eras`` what is added to the years that an emperor's reign counts.
    ``shy_months`` are names that are also other words: in lower case, alone, they are no month, nor in upper case
    without one of ``month_leads``. ``small`` are the kinds of words that the language writes small: "Julio" and
    "Domingo" are people. ``past`` is what tells that a question is about the past: "how much did he save in three
    months". ``day_first`` means that 3/4/2026 is the third of April. ``letters`` are those that tell the language.
    ``script`` is the character class of a language
    written without spaces, ``edge`` what may not stand before its phrases, ``numeral`` its own way to write numbers.
    """

    language: str
    months: Mapping[str, int]
    weekdays: Mapping[str, int]
    units: Mapping[str, str]
    numbers: Mapping[str, int]
    seasons: Mapping[str, str]
    phrases: tuple[Phrase, ...]
    since: str = NEVER
    after: str = NEVER
    before: str = NEVER
    until: str = NEVER
    start: str = NEVER
    between: str = NEVER
    to: str = NEVER
    both: str = NEVER
    article: str = NEVER
    closing: str = NEVER
    month_leads: str = NEVER
    tails: Mapping[str, str] = field(default_factory=dict)
    years: Mapping[str, int] = field(default_factory=dict)
    eras: Mapping[str, int] = field(default_factory=dict)
    ordinals: Mapping[str, int] = field(default_factory=dict)
    function_words: frozenset[str] = frozenset()
    shy_months: frozenset[str] = frozenset()
    small: frozenset[str] = frozenset()
    past: str = NEVER
    day_first: bool = False
    letters: frozenset[str] = frozenset()
    spaced: bool = True
    script: str = ""
    edge: str = r"(?<![\d.])"
    numeral: str = ""
    month_pattern: str = ""
    patterns: tuple[tuple[re.Pattern[str], Phrase, str], ...] = field(init=False, default=())
    triggers: tuple[re.Pattern[str], ...] = field(init=False)
    literal: re.Pattern[str] = field(init=False)
    script_pattern: re.Pattern[str] = field(init=False)
    past_pattern: re.Pattern[str] = field(init=False)

    def __post_init__(self) -> None:
        """Make the patterns once."""
        sources = [(self._source(phrase.template), phrase) for phrase in self.phrases]
        literal = "|".join(_unnamed(source) for source, phrase in sources if phrase.kind == "word") or NEVER
        self._set(
            patterns=tuple((self._compile(source), phrase, phrase.kind) for source, phrase in sources),
            triggers=self._triggers(),
            literal=self._compile(literal),
            script_pattern=re.compile(f"[{self.script}]" if self.script else NEVER),
            past_pattern=re.compile(rf"(?<!\w)(?:{self.past})" if self.spaced else self.past, re.IGNORECASE),
        )

    def spans(self, text: str, most: int) -> dict[str, list[tuple[int, int]]]:
        """Return by kind where in the text its phrases can be, as stretches in order and without overlap.

        A kind of which there are more than ``most`` words is left out: that many figures are a table's.
        """
        spans: dict[str, list[tuple[int, int]]] = {}
        counts = Counter[str]()
        for trigger in (*self.triggers, self.literal):
            for match in trigger.finditer(text):
                begin, end = match.span()
                kind = match.lastgroup or "word"
                counts[kind] += 1
                stretches = spans.setdefault(kind, [])
                if stretches and begin - REACH <= stretches[-1][1]:
                    stretches[-1] = (stretches[-1][0], end + REACH)
                else:
                    stretches.append((max(0, begin - REACH), end + REACH))
        return {kind: stretches for kind, stretches in spans.items() if counts[kind] <= most}

    def _set(self, **values: object) -> None:
        for name, value in values.items():
            object.__setattr__(self, name, value)

    def _compile(self, source: str) -> re.Pattern[str]:
        whole = rf"(?<![\w/.-])(?:{source})(?![\w/]|-[^\W\d])" if self.spaced else rf"{self.edge}(?:{source})"
        return re.compile(whole, re.IGNORECASE)

    def _triggers(self) -> tuple[re.Pattern[str], ...]:
        """Return what finds the words that set off phrases; where there are no spaces, the kinds may overlap."""
        words = {
            "month": self.month_pattern or either(self.months),
            "weekday": either(self.weekdays),
            "season": either(self.seasons),
            "unit": either(self.units),
        }
        edges = (r"(?<![^\W\d_])", r"(?![^\W\d_])") if self.spaced else ("", "")
        parts = [f"(?P<{kind}>{edges[0]}(?:{pattern}){edges[1]})" for kind, pattern in words.items()]
        figures = (rf"\d+|[{self.numeral}]+" if self.numeral else r"\d+") + ("|元年" if self.eras else "")
        parts.append(f"(?P<figure>{figures})")
        return tuple(re.compile(part, re.IGNORECASE) for part in (["|".join(parts)] if self.spaced else parts))

    def _source(self, template: str) -> str:
        han = f"|[{self.numeral}]{{1,5}}" if self.numeral else ""
        month = self.month_pattern or either(self.months)
        dot = r"(?:\.(?=\s+\d))?" if self.spaced else ""
        number = r"[0-3]?\d" + (f"|[{self.numeral}]{{1,3}}" if self.numeral else "")
        suffix = "(?:st|nd|rd|th|er|º|ª|°|e)?" if self.spaced else ""
        year = YEAR + (f"|[{self.numeral}]{{4}}" if self.numeral else "")
        if self.eras:
            year += rf"|(?:{either(self.eras)})(?:元|\d{{1,2}}|[{self.numeral}]{{1,3}})"
        slots = {
            "n": rf"(?P<n>\d{{1,6}}|{either(self.numbers)}{han})",
            "unit": f"(?P<unit>{either(self.units)})",
            "month": f"(?P<month>{month}){dot}",
            "from": f"(?P<from>{month}){dot}",
            "weekday": f"(?P<weekday>{either(self.weekdays)})",
            "season": f"(?P<season>{either(self.seasons)})",
            "year": f"(?P<year>{year})",
            "from_year": f"(?P<from_year>{year})",
            "rel": f"(?P<rel>{either(self.years)})",
            "day": f"(?P<day>{number}){suffix}",
            "first": f"(?P<first>{number}){suffix}",
            "quarter": f"(?P<quarter>[1-4]{'|[一二三四]' if self.numeral else ''})",
            "decade": r"(?P<decade>(?:(?:1[89]|20)\d0|[1-9]0))",
        }
        source = template.replace(" ", r"\s{1,3}" if self.spaced else r"\s{0,2}")
        return re.sub(r"\{([a-z_]+)\}", lambda match: slots[match[1]], source)


def either(words: Iterable[str]) -> str:
    """Return a pattern of these words, the longest first."""
    escaped = (re.escape(word).replace(r"\ ", r"\s{1,3}") for word in sorted(words, key=len, reverse=True))
    return "|".join(escaped) or NEVER


def _unnamed(source: str) -> str:
    return re.sub(r"\(\?P<\w+>", "(?:", source)
