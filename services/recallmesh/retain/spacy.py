"""Names by a spaCy pipeline: any that has an entity recogniser, from a package or a folder."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType

import spacy
from spacy.language import Language
from spacy.tokens import Span

from recallmesh.core.errors import NotReady
from recallmesh.retain.extraction import FoundName

# The labels of spaCy's own pipelines: OntoNotes for English, Chinese and Japanese, WikiNER for the rest.
KINDS: Mapping[str, str] = MappingProxyType(
    {
        "PERSON": "person",
        "PER": "person",
        "ORG": "organisation",
        "GPE": "place",
        "LOC": "place",
        "FAC": "place",
        "PRODUCT": "product",
        "WORK_OF_ART": "concept",
        "EVENT": "concept",
        "MISC": "concept",
    }
)
_ARTICLES = ("the ", "The ")
_POSSESSIVES = ("'s", "\u2019s")
# What an entity recogniser does not need, whichever of them a pipeline has.
_UNUSED = ("parser", "tagger", "attribute_ruler", "lemmatizer", "morphologizer", "senter")


class SpacyNameFinder:
    """Finds names with a spaCy pipeline; the same texts give the same names."""

    def __init__(self, pipeline: Language) -> None:
        """Take a loaded pipeline."""
        self._pipeline = pipeline
        meta = pipeline.meta
        self.fingerprint = f"spacy-{meta['lang']}_{meta['name']}-{meta['version']}"

    def find(self, texts: Sequence[str]) -> tuple[tuple[FoundName, ...], ...]:
        """Return each text's names in order."""
        return tuple(
            tuple(FoundName(name, KINDS[span.label_]) for span in document.ents if (name := _named(span)))
            for document in self._pipeline.pipe(texts)
        )


def load_spacy(model: str) -> SpacyNameFinder:
    """Load a pipeline by the name of its package (``en_core_web_sm``) or by its folder.

    Raises:
        NotReady: there is none such, or it recognises no entities.

    """
    try:
        pipeline = spacy.load(model, exclude=_UNUSED)
    except (OSError, ValueError) as error:
        raise NotReady(f"spaCy has no pipeline {model}: install its package or give its folder") from error
    if "ner" not in pipeline.pipe_names:
        raise NotReady(f"the spaCy pipeline {model} has no entity recogniser")
    return SpacyNameFinder(pipeline)


def _named(span: Span) -> str:
    if span.label_ not in KINDS:
        return ""
    name: str = span.text.strip()
    for article in _ARTICLES:
        name = name.removeprefix(article)
    for ending in _POSSESSIVES:
        name = name.removesuffix(ending)
    return name
