"""The account that a language model gives of passages: its form, as a schema to ask by and a model to check with."""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, Field, ValidationError

from recallmesh.retain.asking import Unusable
from recallmesh.retain.language import Shape

KINDS = ("person", "organisation", "place", "product", "concept")
"""What a name may be."""
MOST_FACTS = 200
"""Facts of one passage; a passage of the largest size has no more sentences worth one."""
MOST_NAMES = 32
"""Names of one fact."""
FACT_CHARS = 2_000
"""Characters of a fact: several sentences, not a passage over again."""
NAME_CHARS = 120
"""Characters of a name."""

_SPELLINGS = {"organization": "organisation", "company": "organisation", "location": "place", "city": "place"}


def _kind(said: object) -> object:
    # An endpoint that does not enforce the schema lets models invent kinds: what it is called harms nobody.
    if not isinstance(said, str):
        return said
    kind = _SPELLINGS.get(said.casefold().strip(), said.casefold().strip())
    return kind if kind in KINDS else "concept"


Words = Annotated[str, Field(max_length=FACT_CHARS)]


class Name(BaseModel):
    """A name in a fact."""

    name: Annotated[str, Field(min_length=1, max_length=NAME_CHARS)]
    kind: Annotated[Literal["person", "organisation", "place", "product", "concept"], BeforeValidator(_kind)]


class Time(BaseModel):
    """When something happened, as exactly as it is told: 2026, 2026-05, 2026-05-11 or 2026-05-11T14:30."""

    start: str
    end: str | None = None


class Because(BaseModel):
    """What caused a fact: another fact of the same passage, by its number."""

    fact: int
    certainty: Literal["certain", "likely", "possible"]


class ToldFact(BaseModel):
    """One fact."""

    number: int
    what: Annotated[str, Field(min_length=1, max_length=FACT_CHARS)]
    when: Words | None = None
    where: Words | None = None
    who: Words | None = None
    why: Words | None = None
    speaker: Annotated[str, Field(max_length=NAME_CHARS)] | None = None
    own: bool = False
    occurred: Time | None = None
    names: Annotated[list[Name], Field(max_length=MOST_NAMES)] = []
    labels: Annotated[list[str], Field(max_length=MOST_NAMES)] = []
    causes: Annotated[list[Because], Field(max_length=MOST_NAMES)] = []
    images: list[int] = []


class ToldPassage(BaseModel):
    """The facts of one passage, in the order of its text."""

    passage: int
    facts: Annotated[list[ToldFact], Field(max_length=MOST_FACTS)]


class Facts(BaseModel):
    """The facts of every passage."""

    passages: list[ToldPassage]


class Description(BaseModel):
    """What a passage that is kept word for word is about."""

    passage: int
    occurred: Time | None = None
    names: Annotated[list[Name], Field(max_length=MOST_NAMES)] = []
    labels: Annotated[list[str], Field(max_length=MOST_NAMES)] = []


class Descriptions(BaseModel):
    """What every passage is about."""

    passages: list[Description]


def shape_of(form: type[BaseModel], name: str) -> Shape:
    """Return a form as a schema in the subset that endpoints enforce: no references, no bounds, every key required."""
    whole = form.model_json_schema()
    return Shape(name, _plain(whole, whole.get("$defs", {})))


def read_account(form: type[BaseModel], answer: dict[str, object]) -> Any:  # noqa: ANN401 - an instance of the form
    """Return an answer as its form.

    Raises:
        Unusable: it has another; says where.

    """
    try:
        return form.model_validate(answer)
    except ValidationError as error:
        raise Unusable(*(f"{_place(problem['loc'])}: {problem['msg']}" for problem in error.errors())) from error


_KEPT = frozenset({"type", "enum", "items", "properties", "anyOf"})


def _plain(schema: dict[str, Any], known: dict[str, Any]) -> dict[str, Any]:
    if "$ref" in schema:
        return _plain(known[schema["$ref"].rpartition("/")[2]], known)
    plain = {key: value for key, value in schema.items() if key in _KEPT}
    if "properties" in plain:
        plain["properties"] = {name: _plain(one, known) for name, one in plain["properties"].items()}
        plain |= {"required": list(plain["properties"]), "additionalProperties": False}
    if "items" in plain:
        plain["items"] = _plain(plain["items"], known)
    if "anyOf" in plain:
        plain["anyOf"] = [_plain(one, known) for one in plain["anyOf"]]
    return plain


def _place(where: tuple[int | str, ...]) -> str:
    place = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in where)
    return place.removeprefix(".") or "the answer"
