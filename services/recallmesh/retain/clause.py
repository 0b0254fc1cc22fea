"""Clauses: whether a time is that of what a sentence tells, or of something it only refers to."""

import re

# What stands before a time in these is a reason, a condition or another event, not what is told. Complements are
# told ("I heard that Ida moved last year"), and so is what happens at the same time ("when", "while").
_ASIDE = re.compile(
    r"""(?ix)(?<!\w)(?:
      because | 'cause | cuz | since | although | though | unless | if | whether | after | before | until | till
    | by\sthe\stime | in\scase | so\sthat | than | compared\s(?:to|with)
    | which | whom? | whose | where
    | weil | obwohl | falls | ob | nachdem | bevor | als\sob | parce\sque? | puisque | si | avant\sque | après\sque
    | porque | aunque | perché | embora | omdat | hoewel | nadat | voordat
    )(?!\w)"""
)
_RELATIVE = re.compile(
    r"(?i)\b(?:an?|the|one|some|any|every|my|our|his|her|their|your)\s+(?:[\w'\u2019-]+\s+){0,2}"
    r"(?!(?:fact|news|idea|hope|feeling|way|day|time)\b)[\w'\u2019-]+\s+that\s+\w"
)
# After one of these the main clause goes on or another begins.
_BOUND = re.compile(r"[,;:)\u2014]|\s[-\u2013]\s")
_LIKENED = re.compile(r"(?i)\b(?:un)?like\s+$|\bas\s+in\s+$")
_ORIGIN = re.compile(r"(?i)\b(?:from|aus|de|del|van)\s+(?:the\s+)?$")
_YEARS = re.compile(r"(?:the\s+)?(?:\d{4}|'?\d{2,4}'?s)", re.IGNORECASE)
_QUESTION = re.compile(r"\?[\"'\u201d\u2019)\]]*$")


def is_aside(sentence: str, begin: int, end: int) -> bool:
    """Tell whether the time at ``sentence[begin:end]`` may be another's than that of what the sentence tells.

    So it is in a subordinate clause of reason, condition, sequence or relation, in a comparison, where a thing is said
    to be *from* a year, and in a question, which tells nothing. A sentence without such a word is taken to tell.
    """
    before = sentence[:begin]
    if _QUESTION.search(sentence) or _LIKENED.search(before) or _is_origin(before, sentence[begin:end]):
        return True
    openings = [match.end() for pattern in (_ASIDE, _RELATIVE) for match in pattern.finditer(before)]
    return bool(openings) and _BOUND.search(before, max(openings)) is None


def _is_origin(before: str, named: str) -> bool:
    # "An oven from 1998" was not bought in 1998; "from Monday" is when something begins.
    return _ORIGIN.search(before) is not None and _YEARS.fullmatch(named) is not None
