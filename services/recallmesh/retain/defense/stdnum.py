"""Numbers of persons, accounts and cards by python-stdnum (LGPL-2.1 or later): their form, and their check digits."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import import_module

from stdnum import iban, luhn

from recallmesh.core.defense import DefenseDetector, Severity
from recallmesh.retain.defense.finding import Finding, Kind

IBAN = Kind("IBAN", DefenseDetector.PERSONAL_DATA, Severity.HIGH)
CARD = Kind("card number", DefenseDetector.PERSONAL_DATA, Severity.HIGH)
NATIONAL_ID = Kind("national id", DefenseDetector.PERSONAL_DATA, Severity.HIGH)

_IBAN = re.compile(r"(?<![A-Za-z0-9])[A-Z]{2}\d{2}(?:[ -]?[A-Z0-9]{2,4}){3,8}(?:[ -]?[A-Z0-9]{1,3})?(?![A-Za-z0-9])")
_CARD = re.compile(r"(?<![\d.,-])(?:\d{4}([ -]?)\d{4}\1\d{4}\1\d{1,7}|3[47]\d{2}([ -]?)\d{6}\2\d{5})(?![\d-])")
_CARD_LENGTHS = {"4": (13, 16, 19), "5": (16,), "2": (16,), "3": (14, 15, 16), "6": (16, 17, 18, 19)}
"""Digits of a card's number by the first: Visa, Mastercard (two), American Express and others, Discover and others."""
_LIKELY = re.compile(r"\d[ ./+-]?\d[ ./+-]?\d[ ./+-]?\d[ ./+-]?\d|[A-Z]{6}\d\d")
"""What every form below holds; most texts do not, and are done with."""
_SHORTEST_IBAN = 15
"""Norway's; the form above is at most 48 characters long, spaces included."""
_CUE_REACH = 48


@dataclass(frozen=True, slots=True)
class _Id:
    """A number of persons: its checker, its form, and for a form of many numbers the words before it."""

    module: str
    form: str
    cue: str = ""


_ELEVEN = r"\d{2} ?\d{3} ?\d{3} ?\d{3}|\d{11}"
_IDS = (
    _Id("us.ssn", r"\d{3}-\d{2}-\d{4}"),
    _Id("us.ssn", r"\d{9}|\d{3} \d{2} \d{4}", "social security|ssn"),
    _Id("ca.sin", r"\d{3}[ -]?\d{3}[ -]?\d{3}", r"social insurance|\bsin\b"),
    _Id("gb.nhs", r"\d{3} ?\d{3} ?\d{4}", r"\bnhs\b"),
    _Id("de.idnr", _ELEVEN, r"steuer-?id|idnr|identifikationsnummer|\btax id"),
    _Id("fr.nir", r"[12] ?\d{2} ?\d{2} ?\d[\dAB] ?\d{3} ?\d{3} ?\d{2}"),
    _Id("es.dni", r"\d{8}-?[A-Z]"),
    _Id("es.nie", r"[XYZ]-?\d{7}-?[A-Z]"),
    _Id("it.codicefiscale", r"[A-Z]{6}\d{2}[A-EHLMPR-T]\d{2}[A-Z]\d{3}[A-Z]"),
    _Id("nl.bsn", r"\d{9}|\d{4}\.\d{2}\.\d{3}", r"\bbsn\b|burgerservice|sofi"),
    _Id("be.nn", r"\d{2}\.?\d{2}\.?\d{2}[ -]?\d{3}[ .]?\d{2}", "rijksregister|registre national|national number"),
    _Id("pt.nif", r"\d{3} ?\d{3} ?\d{3}", r"\bnif\b|contribuinte"),
    _Id("br.cpf", r"\d{3}\.\d{3}\.\d{3}-\d{2}"),
    _Id("br.cpf", r"\d{11}", r"\bcpf\b"),
    _Id("pl.pesel", r"\d{11}", "pesel"),
    _Id("se.personnummer", r"(?:\d{2})?\d{6}[-+]\d{4}", "personnummer|personal number"),
    _Id("fi.hetu", r"\d{6}[-+A]\d{3}[0-9A-Y]"),
    _Id("no.fodselsnummer", r"\d{6} ?\d{5}", "fødselsnummer|personnummer|national identity"),
    _Id("dk.cpr", r"\d{6}-?\d{4}", r"\bcpr\b"),
    _Id("ch.ssn", r"756\.?\d{4}\.?\d{4}\.?\d{2}"),
    _Id("kr.rrn", r"\d{6}-\d{7}"),
    _Id("cn.ric", r"[1-9]\d{5}(?:19|20)\d{9}[\dX]"),
    _Id("in_.aadhaar", r"\d{4} ?\d{4} ?\d{4}", "aadhaar|aadhar"),
    _Id("tr.tckimlik", r"\d{11}", "kimlik"),
)


def scan_ibans(text: str) -> Iterator[Finding]:
    """Find account numbers whose country, length and check digits are right."""
    for found in _IBAN.finditer(text):
        # What follows an account number may look like its end: the longest part that is one counts.
        values = ["" if sign in " -" else str(int(sign, 36)) for sign in found[0]]
        for length in range(len(values), _SHORTEST_IBAN - 1, -1):
            # ISO 7064: the remainder by 97 of the number, its first four signs last, is 1. Cheaper than the whole test.
            remainder = int("".join(values[4:length] + values[:4])) % 97
            if remainder == 1 and values[length - 1] and iban.is_valid(found[0][:length], check_country=False):
                yield Finding(found.start(), found.start() + length, IBAN)
                break


def scan_cards(text: str) -> Iterator[Finding]:
    """Find card numbers whose first digit, length and check digit are right."""
    for found in _CARD.finditer(text):
        digits = re.sub(r"\D", "", found[0])
        if len(digits) in _CARD_LENGTHS.get(digits[0], ()) and len(set(digits)) > 1 and luhn.is_valid(digits):
            yield Finding(found.start(), found.end(), CARD)


def scan_national_ids(text: str) -> Iterator[Finding]:
    """Find numbers of persons of some twenty countries; those that look like any number only after their name."""
    if not _LIKELY.search(text):
        return
    for form, cue, is_valid in _FORMS:
        for found in form.finditer(text):
            named = cue is None or cue.search(text, max(0, found.start() - _CUE_REACH), found.start())
            if named and is_valid(found[0]):
                yield Finding(found.start(), found.end(), NATIONAL_ID)


def _form(one: _Id) -> tuple[re.Pattern[str], re.Pattern[str] | None, Callable[[str], bool]]:
    check: Callable[[str], bool] = import_module(f"stdnum.{one.module}").is_valid
    cue = re.compile(one.cue, re.IGNORECASE) if one.cue else None
    return re.compile(rf"(?<![\w.-])(?:{one.form})(?![\w-]|\.\d)"), cue, check


_FORMS = tuple(map(_form, _IDS))
