"""Phone numbers by phonenumbers, Google's libphonenumber in Python (Apache-2.0): numbers that can be dialled."""

import re
from collections.abc import Iterator
from functools import partial

from phonenumbers import NumberParseException, is_valid_number, parse

from recallmesh.core.defense import DefenseDetector, Severity
from recallmesh.retain.defense.finding import Finding, Kind, Scan

PHONE = Kind("phone number", DefenseDetector.PERSONAL_DATA, Severity.MEDIUM)

REGIONS = {
    "en": ("US", "GB"),
    "de": ("DE", "AT", "CH"),
    "fr": ("FR", "BE", "CH"),
    "es": ("ES", "MX"),
    "it": ("IT", "CH"),
    "pt": ("BR", "PT"),
    "nl": ("NL", "BE"),
    "ja": ("JP",),
    "ko": ("KR",),
    "zh": ("CN", "TW"),
}
"""Where people who speak a bank's language dial from: what a number without a country code is read by."""

_CANDIDATE = re.compile(r"(?<![\w.,:/+-])[(+＋]{0,2}\d[\d ().\-/–\u00a0]{5,22}\d(?![\w-]|[.,:]\d)")
_CUE = re.compile(
    r"phone|\btel|call|mobile|cell|handy|whatsapp|\bfax|\bsms|\btext|nummer|number|anruf|appel|móvil|cellulare|電話|电话|전화",
    re.IGNORECASE,
)
_DATE = re.compile(r"(?:19|20)\d\d[-./ ]\d{1,2}[-./ ]\d{1,2}|\d{1,2}[-./ ]\d{1,2}[-./ ](?:19|20)?\d\d(?!\d)")
_FEWEST, _MOST = 7, 15
"""Digits of a number: the shortest local ones, and E.164's longest."""
_CUE_REACH = 40
_GROUP = re.compile(r"\d+")
_TELLING_GROUPS = 3
_MOST_LOOKED_AT = 5_000
"""Candidates of one text that are looked at closely (a tenth of a millisecond each). Beyond them all are taken for
numbers: a text that holds more is a list, and its rest must neither cost minutes nor pass unseen."""


def phones(language: str) -> Scan:
    """Return what finds phone numbers, in international form or as speakers of a language dial them."""
    return partial(_scan, regions=REGIONS.get(language[:2].lower(), ("US",)))


def _scan(text: str, *, regions: tuple[str, ...]) -> Iterator[Finding]:
    looked = 0
    for found in _CANDIDATE.finditer(text):
        said = found[0]
        groups = _GROUP.findall(said)
        if not _FEWEST <= sum(map(len, groups)) <= _MOST or _DATE.match(said) or not _is_grouped(groups):
            continue
        looked += 1
        if looked > _MOST_LOOKED_AT or _can_be_dialled(text, found.start(), said, groups, regions):
            yield Finding(found.start(), found.end(), PHONE)


def _can_be_dialled(text: str, start: int, said: str, groups: list[str], regions: tuple[str, ...]) -> bool:
    if said.lstrip("(")[:1] in "+＋":
        return _is_valid(said, None)
    # Digits in a row, or in two groups, are a number of anything, unless it is said that they are a phone's.
    if len(groups) < _TELLING_GROUPS and not said.startswith(("0", "(")):
        cue = _CUE.search(text, max(0, start - _CUE_REACH), start)
        return cue is not None and any(_is_valid(said, region) for region in regions)
    return any(_is_valid(said, region) for region in regions)


def _is_grouped(groups: list[str]) -> bool:
    """Tell whether digits stand as people write numbers: not one by one, as in a count or a table."""
    return sum(len(group) == 1 for group in groups) <= 1


def _is_valid(said: str, region: str | None) -> bool:
    try:
        return is_valid_number(parse(said, region))
    except NumberParseException:
        return False
