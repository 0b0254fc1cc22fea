"""A language model for tests: reads the passages out of the question, and tells the facts that the rules find."""

from datetime import datetime

from endpoint import Asked, says

from recallmesh.core.bank import ExtractionMode, RetainTuning
from recallmesh.core.time import Occurrence, Precision
from recallmesh.retain.extraction import Fact, FoundName, Passage
from recallmesh.retain.local import LocalExtractor
from recallmesh.retain.speaker import is_first_person, split_turns
from recallmesh.when.reader import GrammarTimeReader

FORMS = {Precision.DAY: "%Y-%m-%d", Precision.MONTH: "%Y-%m", Precision.YEAR: "%Y"}


async def takes_notes(asked: Asked, writer) -> None:
    """Answer as a good model does."""
    await says({"passages": [await _account(asked, *passage) for passage in asked.passages]})(asked, writer)


async def _account(asked: Asked, number: int, head: dict, text: str) -> dict:
    context = head.get("context", "")
    now = None if head["said"] == "not known" else datetime.fromisoformat(head["said"].split(" ", 1)[1])
    before = Passage(head["before"], context, now) if "before" in head else None
    known = tuple(FoundName(name) for name in head.get("names", ()))
    passage = Passage(text, context, now, before, known)
    if "kept word for word" in asked.system:
        (fact,) = await _facts(passage, ExtractionMode.VERBATIM)
        return {"passage": number, "occurred": _time(fact.occurred), "names": _names(fact)}
    mode = ExtractionMode.VERBOSE if "Leave nothing out" in asked.system else ExtractionMode.CONCISE
    facts = await _facts(passage, mode)
    return {"passage": number, "facts": [_told(index, fact, passage) for index, fact in enumerate(facts, 1)]}


async def _facts(passage: Passage, mode: ExtractionMode) -> tuple[Fact, ...]:
    (facts,) = await LocalExtractor(GrammarTimeReader()).extract((passage,), mode, RetainTuning())
    return facts


def _told(number: int, fact: Fact, passage: Passage) -> dict:
    turns = split_turns(fact.text, passage.context) or split_turns(passage.text, passage.context)
    return {
        "number": number,
        "what": fact.text,
        "when": None,
        "where": None,
        "who": None,
        "why": None,
        "speaker": turns[-1].speaker or None if turns else None,
        "own": is_first_person(fact.text),
        "occurred": _time(fact.occurred),
        "names": _names(fact),
        "causes": [{"fact": cause.index + 1, "certainty": "likely"} for cause in fact.causes],
        "images": [],
    }


def _names(fact: Fact) -> list[dict]:
    return [{"name": name.name, "kind": name.kind} for name in fact.names]


def _time(occurred: Occurrence | None) -> dict | None:
    if occurred is None:
        return None
    form = FORMS.get(occurred.precision, "%Y-%m-%d")
    start, end = occurred.window.start.strftime(form), occurred.window.end.strftime(form)
    return {"start": start, "end": None if start == end else end}
