"""Entities named in a text: what is written like a name, by rules (no model, no list of the world's names)."""

import re
from collections.abc import Iterator, Mapping
from types import MappingProxyType

from recallmesh.retain.extraction import FoundName
from recallmesh.retain.gazetteer import ALSO_WORDS, CERTAIN
from recallmesh.retain.kind import OFFICES, REACH, STYLES, TITLES, kind_of

_WORD = (
    r"(?!(?:Dr|Mr|Mrs|Ms|Prof|Mme)\b)"
    r"(?:[A-Z\u00c0-\u00de\u0400-\u042f][\w\u2019'&-]*[\w&]|[A-Z](?:\.(?:[A-Z]\.)*)?|[a-z][A-Z][a-z]\w+)"
)
_LINK = r"(?:of(?: the)?|de(?: la| los)?|del|della|da|di|dos?|van(?: der| den)?|von(?: der)?|zu|&)"
_NAME = re.compile(rf"(?<![\w@#])(?:(?:{TITLES}|{STYLES})[ ])?{_WORD}(?:[ ](?:{_LINK}[ ])?(?:{_WORD}|\d{{1,4}}\b))*")
# A-20391, CVE-2031-4411, UA123, 10.7/x.y
_IDENTIFIER = re.compile(r"(?<![\w-])(?:[A-Z]{1,6}-?\d{2,}(?:-\d+)*|[A-Z]{2,6}-\d+(?:-\d+)*|\d+\.\d+/[\w.]+)(?![\w-])")
_QUOTED = re.compile(r"[\"\u201c\u300c\u300e]([^\"\u201c\u201d\u300c\u300d\u300e\u300f\n]{2,60})[\"\u201d\u300d\u300f]")
_STOP_WORDS = """
congrats congratulations yup yep haha cool awesome absolutely definitely happy love looks sounds see take way
yesterday today tomorrow tonight last next recently finally gestern heute morgen
i i'm i've i'd i'll ok okay tv pm am ps faq diy asap lol omg fyi btw wow yay yeah hey hi oh
monday tuesday wednesday thursday friday saturday sunday mondays tuesdays wednesdays thursdays fridays saturdays
sundays q1 q2 q3 q4 hr it mon tue tues wed thu thur thurs fri sat sun
january february march april may june july august september october november december
jan feb mar apr jun jul aug sep sept oct nov dec spring summer autumn fall winter
montag dienstag mittwoch donnerstag freitag samstag sonntag januar februar märz mai juni juli oktober dezember
the a an this that these those he she it we they you his her its our their your my and or but so if when while
what who where why how which is are was were do does did have has had can could will would should not no yes
about around nearly almost over under roughly
there here then now also because thanks thank good great nice hello after before since in on at for with from to
as by of just let let's got glad sorry sure well maybe even every some any all both each one two three
ich du er sie wir ihr der die das ein eine und oder aber wenn ja nein
"""
_STOP = frozenset(_STOP_WORDS.split())
# Words that open a note, an order or a letter; a name may follow them, they are none.
_OPENING_WORDS = """
ask call tell email mail text send meet meeting visit see watch read write use try buy book order check pay remember
fix deploy compare ship sign draft pick drop drive fly join invite thank dear hello ticket issue lunch dinner
breakfast coffee drinks interview talk speak train flight flights bus trip shares share losses profits sales news
update reminder birthday party dad mom mum mama papa grandma grandpa uncle aunt honestly totally seriously apparently
unfortunately hopefully luckily however regarding following attached please kind best regards sincerely yours
wishing planning thinking feeling looking going coming guess imagine bought sold got went saw met did does can
analysts farmers residents police officials scientists researchers doctors customers students workers
invoices payments talks prices critics fans players voters thousands hundreds dozens many most several few
"""
_OPENINGS = frozenset(_OPENING_WORDS.split()) | _STOP
_SENTENCE_START = re.compile(r"(?:^|[.!?\u2026:;\n\]][\"'\u201d\u2019)]*\s*[\"'\u201c(\[*-]*\s*)$")
_CAPITALISING = re.compile(r"\b(?:der|die|das|und|ist|nicht|ich|ein|eine|mit|auf|wir|hat|wurde)\b")
_GERMAN_SHARE = 0.12
_PAIRED = re.compile(r" (?:and|&|und|et|y|e) [A-Z]")
_SMALL = re.compile(r"(?<![^\W\d_])[a-z\u00df-\u00ff][\w'\u2019-]*")
_STYLED = re.compile(rf"{STYLES} [A-Z\u00c0-\u00de]")
# "Mayor Lena Brandt" is Lena Brandt; "Father Michael" is called so.
_OFFICE = re.compile(rf"{OFFICES} ")
_OFFICE_WORDS = 2
_SHORTEST = 2
_SHORTEST_SMALL = 3
_SHOUTED = 5
_POSSESSIVE = re.compile(r"['\u2019]s$|['\u2019]$")


def find_names(text: str, known: Mapping[str, str] = MappingProxyType({})) -> tuple[FoundName, ...]:
    """Return the names in a text in order of first appearance, each once.

    ``known`` are names certain from elsewhere (speakers, the bank's) and their kinds: they count at the start of a
    sentence too.
    """
    certain = {full.casefold(): kind for full, kind in known.items()}
    for full, kind in known.items():
        # A person goes by one of her names too; Bergen is not the University of Bergen.
        for word in full.casefold().split() if kind == "person" else ():
            certain.setdefault(word, kind)
    found: dict[str, FoundName] = {}
    for name in (*_written(text, certain), *_marked(text), *_written_small(text, known)):
        found.setdefault(name.name.casefold(), name)
    return tuple(found.values())


def find_openings(text: str) -> frozenset[str]:
    """Return the single large words that open sentences: any of them may be a name, or large for where it stands."""
    found = (_tidy(match.group()) for match in _NAME.finditer(text) if _starts_sentence(text, match.start()))
    return frozenset(name for name in found if " " not in name and name.casefold() not in _STOP)


def small_words(text: str) -> frozenset[str]:
    """Return the words of a text that are written small: opening a sentence, such a word is no name."""
    return frozenset(_SMALL.findall(text))


def names_to_know(text: str) -> frozenset[str]:
    """Return the words of a text that are names only if somebody knows them as such."""
    small = (word for word in small_words(text) if len(word) >= _SHORTEST_SMALL)
    return find_openings(text) | {word for word in small if word not in _OPENINGS}


def _written_small(text: str, known: Mapping[str, str]) -> Iterator[FoundName]:
    """Yield known people who are written small, as in a chat; a name that is a word as well is a word there."""
    people = [name for name, kind in known.items() if kind == "person" and name.isalpha()]
    small = small_words(text) if people else frozenset()
    for name in people:
        folded = name.casefold()
        if folded in small and len(name) >= _SHORTEST_SMALL and folded not in ALSO_WORDS | _OPENINGS:
            yield FoundName(name, "person")


def _marked(text: str) -> Iterator[FoundName]:
    for match in _IDENTIFIER.finditer(text):
        yield FoundName(match.group())
    for match in _QUOTED.finditer(text):
        if (match[1][0].isupper() and match[1].casefold() not in _STOP) or not match[1].isascii():
            yield FoundName(match[1].strip(" .,!?"))


def _written(text: str, known: Mapping[str, str]) -> Iterator[FoundName]:
    german = _writes_nouns_large(text)
    candidates = [(match, _starts_sentence(text, match.start())) for match in _NAME.finditer(text)]
    # A word that is large in the middle of a sentence is a name at the start of one too.
    inside = {_tidy(match.group()).casefold() for match, starts in candidates if not starts}
    for match, starts_sentence in candidates:
        whole, starts = _without_opening(_tidy(match.group()), starts_sentence=starts_sentence)
        # "Anthony and I went" opens with a name, "Painting and drawing help" does not.
        starts = starts and _PAIRED.match(text, match.end()) is None
        begin = match.start() + max(0, match.group().find(whole))
        before, after = text[max(0, begin - REACH) : begin], text[match.end() : match.end() + REACH]
        for name in _apart(whole):
            if name.casefold() in known or _is_name(name, starts, inside, german=german):
                yield FoundName(name, known.get(name.casefold()) or kind_of(name, before, after))
            before, starts = "", False


def _apart(name: str) -> tuple[str, ...]:
    """Return Alice Chen and Acme Labs for "Alice Chen of Acme Labs", but Bank of England whole."""
    left, link, right = name.partition(" of ")
    return (left, right) if link and " " in left and not left.startswith("The ") and right[0].isupper() else (name,)


def _without_opening(name: str, *, starts_sentence: bool) -> tuple[str, bool]:
    """Return "Anna" for "Then Anna", and whether what is left may still be large for opening the sentence."""
    styled = _STYLED.match(name) is not None
    while starts_sentence and not styled and " " in name and name.split(maxsplit=1)[0].casefold() in _OPENINGS:
        name = re.sub(rf"^{_LINK} ", "", name.split(" ", 1)[1])
        starts_sentence = False
    return name, starts_sentence


def _starts_sentence(text: str, at: int) -> bool:
    return _SENTENCE_START.search(text[max(0, at - 8) : at]) is not None


def _is_name(name: str, starts: bool, inside: set[str], *, german: bool) -> bool:  # noqa: FBT001 (one rule)
    words = name.split()
    # Not a letter, not a date ("May 2023"), not a number.
    if len(name) < _SHORTEST or all(word.casefold() in _STOP or not word[0].isalpha() for word in words):
        return False
    if len(words) > 1:
        return True
    if (german and name.isalpha() and not name.isupper()) or (name.isupper() and len(name) > _SHOUTED):
        return False
    folded = name.casefold()
    return not starts or folded in inside or folded in CERTAIN or any(char.isupper() for char in name[1:])


def _tidy(name: str) -> str:
    name = _POSSESSIVE.sub("", name)
    words = name.split()
    if len(words) > _OFFICE_WORDS and _OFFICE.match(name):
        words = words[1:]
    while words and words[-1].casefold() in {"of", "de", "the", "and", "i", "i'm", "i\u2019m", "my"}:
        words.pop()
    return " ".join(words)


def _writes_nouns_large(text: str) -> bool:
    # German writes every noun large: there a single large word says nothing.
    words = text.split()
    return bool(words) and len(_CAPITALISING.findall(text.casefold())) / len(words) > _GERMAN_SHARE
