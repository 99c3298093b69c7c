"""The demo's constructed task: training and test share no template and no entity, and the shipped files
are what the script writes."""

import importlib.util
import tomllib
from itertools import combinations

import pytest

from tests.material.cases import check_each
from vocadapt.lab.demo import DEMO, TASK
from vocadapt.training.tasks.kinds import find_kind
from vocadapt.training.tasks.task import read_task, read_task_file

SENTENCES = tomllib.loads((DEMO / "sentences.toml").read_text(encoding="utf-8"))
WORD_LISTS = ("diseases", "others", "drugs", "findings")


@pytest.fixture(scope="module")
def task():
    return read_task(DEMO.joinpath(*TASK))


@check_each("pair", combinations(SENTENCES, 2), "-".join)
def test_splits_share_no_template_and_no_filler(pair):
    one, other = (SENTENCES[split] for split in pair)
    assert not set(one["templates"]) & set(other["templates"])
    words, others = (
        {entry for name in WORD_LISTS for entry in split[name]} for split in (one, other)
    )
    assert not words & others


def list_entities(split):
    return {entity.lower() for example in split.examples for entity in example.entities}


def list_sentences(split):
    return {" ".join(example.words).lower() for example in split.examples}


def test_no_tagged_entity_and_no_sentence_of_the_files_is_in_two_splits(task):
    for one, other in combinations(task.splits.values(), 2):
        assert list_entities(one) and not list_entities(one) & list_entities(other)
        assert not list_sentences(one) & list_sentences(other)


def test_the_task_is_what_the_script_writes_and_says_that_it_is_constructed(task, tmp_path):
    script = importlib.util.spec_from_file_location("make_task", DEMO / "make_task.py")
    module = importlib.util.module_from_spec(script)
    script.loader.exec_module(module)
    module.main(tmp_path)
    for split, name in read_task_file(DEMO.joinpath(*TASK, "task.toml")).splits.items():
        assert (tmp_path / f"{split}.tsv").read_bytes() == DEMO.joinpath(*TASK, name).read_bytes()
    assert {name: len(split) for name, split in task.splits.items()} == {
        name: parts["sentences"] for name, parts in SENTENCES.items()
    }
    assert task.findings[0].startswith("constructed:")
    assert task.kind == find_kind("ner")
