"""The page as one file: the content as data, our own style and script, and a policy that forbids everything else."""

import json
from base64 import b64encode
from hashlib import sha256
from importlib.resources import files
from pathlib import Path
from string import Template
from typing import Any

from recallmesh.cli.page.content import content
from recallmesh.core.errors import FieldViolation, InvalidArgument
from recallmesh.core.recall import RecallAnswer, RecallRequest

SCRIPTS = ("dom.js", "story.js", "lanes.js", "table.js", "page.js")
WORD = "--trace-html"
INERT = {code: f"\\u{code:04x}" for code in map(ord, "<>&")}
"""JSON needs none of these outside strings, and HTML sees none: neither an end tag nor a comment can begin."""


def document(shown: dict[str, Any]) -> str:
    """Return the page that shows a content.

    The content stands in it as JSON in ASCII that cannot be markup, and the script writes it as text alone. Should that
    ever fail, the policy still lets no script and no style run but the page's own, known by their hashes, and nothing
    be loaded or sent.
    """
    style = _read("trace.css")
    body = "".join(_read(name) for name in SCRIPTS)
    script = f'"use strict";\n(() => {{\n{body}}})();\n'
    policy = (
        f"default-src 'none'; style-src {_hash(style)}; script-src {_hash(script)}; base-uri 'none'; "
        "form-action 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
    )
    data = json.dumps(shown, allow_nan=False, separators=(",", ":")).translate(INERT)
    return Template(_read("trace.html")).substitute(policy=policy, style=style, script=script, data=data)


def check_place(path: Path) -> None:
    """Refuse a place where no page can be written, before anybody is asked.

    Raises:
        InvalidArgument: it is a folder, or in none.

    """
    if path.is_dir():
        raise InvalidArgument(FieldViolation(WORD, f"{path} is a folder"))
    if not path.parent.is_dir():
        raise InvalidArgument(FieldViolation(WORD, f"there is no folder {path.parent}"))


def write_page(path: Path, request: RecallRequest, answer: RecallAnswer) -> None:
    """Write the page of a traced answer; blocks.

    Raises:
        InvalidArgument: it cannot be written there.

    """
    if answer.trace is None:
        raise InvalidArgument(FieldViolation(WORD, "the answer has no trace: the server left it out"))
    page = document(content(request, answer, answer.trace))
    try:
        path.write_text(page, encoding="utf-8")
    except OSError as error:
        raise InvalidArgument(FieldViolation(WORD, f"cannot be written: {error.strerror}")) from error


def _read(name: str) -> str:
    return files("recallmesh.cli.page").joinpath(name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    return f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'"
