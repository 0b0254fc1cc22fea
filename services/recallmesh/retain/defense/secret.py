"""Secrets that no library looks for: keys that begin with their maker's mark, tokens, and passwords that people say."""

import re
from collections.abc import Iterator

from recallmesh.core.defense import DefenseDetector, Severity
from recallmesh.retain.defense.finding import Finding, Kind


def secret(name: str) -> Kind:
    """Return the kind of a secret."""
    return Kind(name, DefenseDetector.SECRET, Severity.HIGH)


API_KEY = secret("API key")
JWT = secret("token")
PASSWORD = secret("password")
PRIVATE_KEY = secret("private key")

_MARKED = re.compile(
    r"""(?<![A-Za-z0-9_-])(?:
        sk-(?:ant-|proj-|svcacct-|admin-|or-v1-)?[A-Za-z0-9_-]{20,200}   # OpenAI, Anthropic, OpenRouter
      | (?:glpat|gldt|glrt|glptt)-[A-Za-z0-9_-]{20,64}                   # GitLab
      | github_pat_[A-Za-z0-9_]{22,120}
      | pypi-[A-Za-z0-9_-]{40,255}
      | npm_[A-Za-z0-9]{36}
      | hf_[A-Za-z0-9]{30,60}
      | AIza[A-Za-z0-9_-]{35}                                            # Google
      | ya29\.[A-Za-z0-9_-]{20,255}
      | xox[abposr]-[A-Za-z0-9-]{10,255}
      | (?:sk|rk|pk|whsec)_(?:live_|test_)?[A-Za-z0-9]{24,128}           # Stripe
      | dop_v1_[a-f0-9]{64}
      | shpat_[a-fA-F0-9]{32}
      | \d{8,10}:AA[A-Za-z0-9_-]{33}                                     # Telegram
    )(?![A-Za-z0-9])""",
    re.VERBOSE,
)
_JWT = re.compile(r"(?<![A-Za-z0-9_-])eyJ[A-Za-z0-9_-]{10,4000}\.[A-Za-z0-9_-]{10,8000}\.[A-Za-z0-9_-]{0,2000}")
_BEARER = re.compile(r"\b[Bb]earer +([A-Za-z0-9._~+/-]{20,2000}=*)")
_NAMED = re.compile(
    r"""(?<![A-Za-z0-9])(?:
        pass ?(?:word|wd|phrase|code)s? | passwort | kennwort | mot\ de\ passe | contraseña | clave | senha | wachtwoord
      | parola | (?:api|access|secret|private|auth|client)[ _-]?(?:key|token|secret) | token | pin(?:[ -]?code)?
      | пароль | 密码 | 密碼 | パスワード | 비밀번호
    )["'`*]{0,3}
    \ ?(?:(?:is\ nu|is|was|ist|lautet|est|es|é|は|是|为|은|는)\ ?[:=：]?|:=|=>|[:=：—-])
    \ {0,3}["'`“„«(]{0,2}
    (?P<value>[^\s"'`“”„«»()\[\],;]{4,256})""",
    re.VERBOSE | re.IGNORECASE,
)
_FOUR = 4
_BEGIN, _END, _DASHES = "-----BEGIN ", "-----END ", "-----"
_KEY_CHARS = 20_000
"""More than the longest private key that is written (RSA with 16,384 bits: 12,700)."""


def scan_marked(text: str) -> Iterator[Finding]:
    """Find keys and tokens by what they begin with."""
    for found in _MARKED.finditer(text):
        yield Finding(found.start(), found.end(), API_KEY)
    for found in _JWT.finditer(text):
        yield Finding(found.start(), found.end(), JWT)
    for found in _BEARER.finditer(text):
        yield Finding(*found.span(1), JWT)


def scan_named(text: str) -> Iterator[Finding]:
    """Find what is said to be a password, a PIN, a key: "my password is hunter2!"."""
    for found in _NAMED.finditer(text):
        value = found["value"].rstrip(".!?:…")
        if _is_secretive(value):
            start = found.start("value")
            yield Finding(start, start + len(value), PASSWORD)


def scan_private_keys(text: str) -> Iterator[Finding]:
    """Find private keys in armour, whole: from BEGIN to END, or as far as they go."""
    start = text.find(_BEGIN)
    while start >= 0:
        head = text.find(_DASHES, start + len(_BEGIN))
        title = text[start + len(_BEGIN) : head] if 0 <= head - start <= len(_BEGIN) + 60 else ""
        after = start + len(_BEGIN)
        if "PRIVATE KEY" in title:
            end = text.find(_END, head, start + _KEY_CHARS)
            tail = text.find(_DASHES, end + len(_END)) if end >= 0 else -1
            after = tail + len(_DASHES) if tail >= 0 else min(len(text), start + _KEY_CHARS)
            yield Finding(start, after, PRIVATE_KEY)
        start = text.find(_BEGIN, after)


def _is_secretive(value: str) -> bool:
    """Tell a password from a word of a sentence: it holds a digit or a sign within, or is nothing but digits."""
    inner = value[1:-1]
    if value.isdecimal():
        return len(value) >= _FOUR
    mixed = any(sign.isdecimal() for sign in value) and any(sign.isalpha() for sign in value)
    signs = any(not (sign.isalnum() or sign in "-'’._/:") for sign in inner)
    return len(value) > _FOUR and (mixed or signs)
