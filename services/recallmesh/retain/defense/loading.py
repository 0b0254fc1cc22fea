# ruff: noqa: PLC0415 - the libraries are an extra, and loaded for banks that ask for them
"""What finds each kind of thing, loaded when the first bank asks for it."""

from recallmesh.core.defense import DefenseDetector
from recallmesh.core.errors import NotReady
from recallmesh.retain.defense import contact, injection, secret
from recallmesh.retain.defense.finding import Scan


def load(detector: DefenseDetector, language: str) -> tuple[Scan, ...]:
    """Return the scans of a detector, for a bank of this language.

    Raises:
        NotReady: a library that it needs is not installed; nothing may pass unseen.

    """
    try:
        return _load(detector, language)
    except ImportError as error:
        said = f"memory defense looks for {detector} by a library that is not installed here: recallmesh[defense]"
        raise NotReady(said) from error


def _load(detector: DefenseDetector, language: str) -> tuple[Scan, ...]:
    match detector:
        case DefenseDetector.SECRET:
            from recallmesh.retain.defense import detect_secrets

            return secret.scan_private_keys, secret.scan_marked, secret.scan_named, detect_secrets.scan
        case DefenseDetector.PERSONAL_DATA:
            from recallmesh.retain.defense import phonenumbers, stdnum

            return (
                contact.scan_emails,
                stdnum.scan_ibans,
                stdnum.scan_cards,
                stdnum.scan_national_ids,
                phonenumbers.phones(language),
                contact.scan_ip_addresses,
            )
        case DefenseDetector.PROMPT_INJECTION:
            return (injection.scan,)
