"""Whether what looks like a time may be something else here: a verb, a name, a length of time."""

import re

from recallmesh.when.grammar import Grammar, Phrase

OPENERS = frozenset({"from", "between"})
TOPICS = frozenset({"about", "around", "for", "by"})
"""Behind these a month's name may as well be somebody's: "written by May"."""
LINKS = re.compile(r"\s+(?:and|to|until|till|through)\b", re.IGNORECASE)
STOPS = re.compile(r"\s*(?:$|[.,;:!?)–-]|(?:and|to|until|till|through)\b)", re.IGNORECASE)
OWNED = re.compile(r"['’]s\b", re.IGNORECASE)
PART_OF = re.compile(
    r"(?:start|beginning|middle|end|month|rest|half|week|weekend|days?|part|\d(?:st|nd|rd|th)) $", re.IGNORECASE
)
"""What "of May" is a part of: else "a photo of June" shows somebody."""
NEAR = 48
"""Characters that are looked at before a match."""
START = re.compile(r"(?:^|[^\W_A-ZÀ-Þ][.!?…]|[¿¡\n:(\"«„“]|[–—])\s*$")
"""Where a sentence begins, and with it a large letter; not behind an initial."""
NEXT_LARGE = re.compile(r"\s[A-ZÀ-Þ]")
NO_WORD = re.compile(r"[\W_]*")


def is_doubtful(match: re.Match[str], phrase: Phrase, text: str, grammar: Grammar, *, own: bool) -> bool:
    """Tell whether the match had better not be read; ``own`` where the text is of no other language."""
    if phrase.own_only and not own and not _is_all(match, text):
        return True
    if grammar.small and _is_name(match, text, grammar):
        return True
    return not phrase.bound and _is_shy(match, text, grammar)


def is_length(phrase: Phrase, text: str, grammar: Grammar) -> bool:
    """Tell whether "in three months" is how long something took: the question is about the past."""
    return phrase.rule == "ago" and phrase.offset > 0 and grammar.past_pattern.search(text) is not None


def _is_all(match: re.Match[str], text: str) -> bool:
    return NO_WORD.fullmatch(text, 0, match.start()) is not None and NO_WORD.fullmatch(text, match.end()) is not None


def _is_name(match: re.Match[str], text: str, grammar: Grammar) -> bool:
    """Tell whether a large letter makes a name of it where the language writes times small: "Julio", "Chris Hoy"."""
    groups = match.groupdict()
    figures = groups.get("year") or groups.get("day") or groups.get("first") or groups.get("rel")
    kind = next((kind for kind in ("month", "weekday") if groups.get(kind)), "day" if not figures else "")
    if figures or kind not in grammar.small:
        return False
    alone = match.group() if kind == "day" else groups[kind]
    if alone is None or " " in alone or not alone.istitle():
        return False
    if kind == "month":
        return True
    if match.group() != alone:
        return False  # "el Viernes" is written so by many
    if not START.search(text[max(0, match.start() - NEAR) : match.start()]):
        return True
    follows = kind == "weekday" and NEXT_LARGE.match(text, match.end()) is not None
    return follows or OWNED.match(text, match.end()) is not None


def _is_shy(match: re.Match[str], text: str, grammar: Grammar) -> bool:
    """Tell whether a month's name may be another word here: "may I", "march on", "June said"."""
    groups = match.groupdict()
    name = groups.get("month")
    if name is None or name.casefold() not in grammar.shy_months or groups.get("year"):
        return False
    if groups.get("day"):
        return name.islower() and not re.search(r"\d(?:st|nd|rd|th)", match.group(), re.IGNORECASE)
    lead = groups.get("lead")
    if lead is None:
        return name.islower()
    if OWNED.match(text, match.end()):
        return True
    if re.match(grammar.month_leads, lead, re.IGNORECASE):
        near = text[max(0, match.start() - NEAR) : match.start()]
        return lead.casefold().strip() == "of" and PART_OF.search(near) is None
    return name.islower() or not _is_backed(lead, match, text)


def _is_backed(lead: str, match: re.Match[str], text: str) -> bool:
    """Tell whether what stands around makes "from April", "to June", "after May" a time."""
    word = lead.split(maxsplit=1)[0].casefold()
    if word in TOPICS:
        return False
    if word in OPENERS:
        return LINKS.match(text, match.end()) is not None
    return STOPS.match(text, match.end()) is not None
