"""``labels.KEY=value,value``: a bank's vocabulary of labels on the command line, read, changed and written."""

from collections.abc import Iterable, Iterator
from dataclasses import replace

from recallmesh.cli.keys import NONE, WORDS, written
from recallmesh.core.bank import LabelKey
from recallmesh.core.errors import FieldViolation, InvalidArgument

LABELS = "labels."
"""What the keys of the vocabulary begin with."""
ABOUT = ".about"
TAGS = ".tags"
LABELS_HELP = """\

the vocabulary of labels, key:value, which match exactly and never by likeness:
  labels.KEY=VALUE,VALUE  the values that KEY may have; labels.KEY= drops it
  labels.KEY.about=TEXT   what KEY means, for an LLM extractor
  labels.KEY.tags=true    write these labels to the memories' tags, too
"""


def apart(pairs: Iterable[str]) -> tuple[list[str], list[str]]:
    """Return the pairs that are about labels, and the others."""
    about: list[str] = []
    others: list[str] = []
    for pair in pairs:
        (about if pair.startswith(LABELS) else others).append(pair)
    return about, others


def relabelled(pairs: Iterable[str], vocabulary: tuple[LabelKey, ...]) -> tuple[LabelKey, ...]:
    """Return what a vocabulary becomes by ``labels.…=`` pairs, in the order of their coming.

    Raises:
        InvalidArgument: names every pair that is wrong, and how it is right.

    """
    keys = {one.key: one for one in vocabulary}
    violations: list[FieldViolation] = []
    for pair in pairs:
        name, sign, text = pair.removeprefix(LABELS).partition("=")
        ending = next((ending for ending in (ABOUT, TAGS) if name.endswith(ending)), "")
        key, said = name.removesuffix(ending), text.strip()
        if not sign or not key:
            violations.append(FieldViolation(pair, f"has no value: {LABELS}KEY=VALUE,VALUE"))
        elif ending and key not in keys:
            violations.append(FieldViolation(pair, f"comes before its values: {LABELS}{key}=VALUE,VALUE"))
        elif ending == TAGS and said.lower() not in WORDS:
            violations.append(FieldViolation(pair, "must be true or false"))
        elif ending:
            change = {"description": said} if ending == ABOUT else {"write_tags": WORDS[said.lower()]}
            keys[key] = replace(keys[key], **change)
        elif said in {"", NONE}:
            keys.pop(key, None)
        else:
            values = tuple(part.strip() for part in said.split(",") if part.strip())
            keys[key] = replace(keys.get(key, LabelKey(key, ())), values=values)
    if violations:
        raise InvalidArgument(*violations)
    return tuple(keys.values())


def own_labels(vocabulary: Iterable[LabelKey]) -> Iterator[str]:
    """Yield a vocabulary as the pairs that make it."""
    for one in vocabulary:
        yield f"{LABELS}{one.key}={','.join(one.values)}"
        if one.description:
            yield f"{LABELS}{one.key}{ABOUT}={one.description}"
        if one.write_tags:
            yield f"{LABELS}{one.key}{TAGS}={written(one.write_tags)}"
