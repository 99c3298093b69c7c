"""The shared data sets as they are read: their published sizes, and the figures in the papers
and the issue."""

import pytest

from tests.material.nightly import mark_slow
from vocadapt.training.tasks.benchmarks import cards, checksum
from vocadapt.training.tasks.formats.conll import read_sentences
from vocadapt.training.tasks.formats.squad import NOT_IN_CONTEXT, REPAIRED, read_questions
from vocadapt.training.tasks.kinds import TASK_KINDS
from vocadapt.training.tasks.kinds.multilabel import merge_documents
from vocadapt.training.tasks.word_endings import count_suffix

SENTENCES = {
    "NCBI-disease": ("devel", (5424, 923, 940), (5134, 787, 960)),
    "BC5CDR-disease": ("devel", (4560, 4581, 4797), (4182, 4246, 4424)),
    "BC5CDR-chem": ("devel", (4560, 4581, 4797), (5203, 5347, 5385)),
    "JNLPBA-untyped": ("dev", (16807, 1739, 3856), (46750, 4551, 8662)),
}


@pytest.mark.parametrize(
    "name", ["NCBI-disease", *mark_slow(name for name in SENTENCES if name != "NCBI-disease")]
)
def test_ner_sets_have_the_published_sizes(shared, name):
    dev, sentences, entities = SENTENCES[name]
    splits = [
        read_sentences(shared / f"data/ner/{name}/{split}.tsv") for split in ("train", dev, "test")
    ]
    assert tuple(map(len, splits)) == sentences
    assert tuple(split.notes["entities"] for split in splits) == entities
    if name != "JNLPBA-untyped":
        sizes = cards()[f"mtl/{name}"].sizes.values()
        assert [(held["sentences"], held["entities"]) for held in sizes] == list(
            zip(sentences, entities, strict=True)
        )


def test_jnlpba_names_its_documents(shared):
    assert len(set(read_sentences(shared / "data/ner/JNLPBA-untyped/dev.tsv").documents)) == 200


def test_four_in_five_words_that_end_in_ia_are_diseases(shared):
    """The paper's 82 %: occurrences in the training split, whatever the case."""
    found = count_suffix(
        read_sentences(shared / "data/ner/BC5CDR-disease/train.tsv").examples, "-ia"
    )
    assert (found.inside, found.occurrences) == (499, 607)
    assert found.share == pytest.approx(0.822, abs=5e-4)
    assert (found.distinct_inside, found.distinct) == (100, 122)


def test_legacy_seqeval_counts_jnlpba_as_the_old_release_did(shared):
    """8 662 entities become 13 858: every B I is two of them."""
    gold = read_sentences(shared / "data/ner/JNLPBA-untyped/test.tsv").gold
    counted = {
        name: TASK_KINDS["ner"].scorer(name).score(gold, gold).by_label
        for name in ("entity-strict", "legacy-seqeval")
    }
    assert counted["entity-strict"]["entity"]["gold"] == 8662
    assert {label: own["gold"] for label, own in counted["legacy-seqeval"].items()} == {
        "B": 8662,
        "I": 13858 - 8662,
    }


def test_relations(shared):
    sizes, labels = [], set()
    for split in ("train", "dev", "test"):
        found = TASK_KINDS["relations"].read(shared / f"data/relations/ChemProt/{split}.txt")
        sizes.append(len(found))
        labels |= {label for own in found.gold for label in own}
    assert sizes == [4169, 2427, 3469]
    assert sorted(labels) == list(cards()["other/ChemProt-SciBERT"].labels)
    gad = [
        TASK_KINDS["relations"].read(shared / f"data/relations/GAD/{split}.tsv")
        for split in ("train", "dev", "test")
    ]
    assert list(map(len, gad)) == [4261, 535, 534]
    assert {own for split in gad for own in split.gold} == {("0",), ("1",)}
    assert all(not count for split in gad for count in split.notes.values())


def test_hallmarks_by_sentence_and_by_document(shared):
    splits = [
        TASK_KINDS["multilabel"].read(shared / f"data/documents/HoC/{split}.tsv")
        for split in ("train", "dev", "test")
    ]
    assert list(map(len, splits)) == [12119, 1798, 3547]
    documents = [merge_documents(split.examples) for split in splits]
    assert list(map(len, documents)) == [1295, 186, 371]
    bare = sum(not document.labels for part in documents for document in part)
    assert bare == 272
    assert sum(map(len, documents)) - bare == 1580  # BLUE's abstracts are those with a hallmark


def test_covid_qa_has_234_answers_away_from_their_offset(shared):
    split = read_questions(shared / "data/qa/200423_covidQA.json")
    assert len(split) == 1380
    assert split.notes["documents"] == 98
    assert split.notes[REPAIRED] == 234
    assert split.notes[NOT_IN_CONTEXT] == 0
    assert [split.notes[f"moved by {shift}"] for shift in ("-1", "+3", "+2")] == [196, 28, 10]
    for question in split.examples:
        for answer in question.answers:
            assert question.context.startswith(answer.text, answer.start)
    gold = [[answer.strip() for answer in question.gold] for question in split.examples]
    assert (
        TASK_KINDS["qa"].scorer().score(gold, [answers[0] for answers in gold]).values["exact"]
        == 1.0
    )


def test_xquad_needs_no_correction(shared):
    split = read_questions(shared / "data/qa/xquad.en.json")
    assert (len(split), split.notes["documents"], split.notes[REPAIRED]) == (1190, 240, 0)


def test_the_checksums_of_the_cards_are_those_of_the_shared_files(shared):
    places = {
        "mtl/NCBI-disease": {
            "train": "ner/NCBI-disease/train.tsv",
            "dev": "ner/NCBI-disease/devel.tsv",
        },
        "mtl/BC5CDR-disease": {"test": "ner/BC5CDR-disease/test.tsv"},
        "other/ChemProt-SciBERT": {
            "train": "relations/ChemProt/train.txt",
            "test": "relations/ChemProt/test.txt",
        },
        "qa/Covid-QA": {"test": "qa/200423_covidQA.json"},
        "qa/XQuAD-en": {"train": "qa/xquad.en.json"},
    }
    for name, files in places.items():
        for split, place in files.items():
            assert cards()[name].files[split].sha256 == checksum(shared / "data" / place)
