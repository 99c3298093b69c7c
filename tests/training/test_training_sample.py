"""The draw of a limited number of training examples."""

from collections import Counter

import pytest

from tests.material.stated_numbers import find_numbers
from vocadapt.training.examples.examples import Question, Sentence, Split, Text, sample_split
from vocadapt.training.tasks.kinds import TASK_KINDS
from vocadapt.training.tasks.training_sample import sample_training_split

NER, TEXTS = TASK_KINDS["ner"], TASK_KINDS["classification"]


def build_sentences(n: int, every: int, kind: str = "Species") -> Split:
    """Sentences of which every so many has an entity."""
    found = []
    for number in range(n):
        tag = f"B-{kind}" if number % every == 0 else "O"
        found.append(Sentence((f"w{number}", "x"), (tag, "O")))
    return Split(tuple(found))


def test_rare_entities_are_drawn_until_half_of_the_sample_has_one():
    """1,000 sentences with 100 entities: 100 drawn at random hold about 10, then 50."""
    split = build_sentences(1000, 10)
    sample = sample_training_split(split, NER, 100)
    assert len(sample.split) == 100 and sample.labels == {"Species": 50}
    assert sample.at_random["Species"] < 20
    words = [example.words[0] for example in sample.split.examples]
    assert words == sorted(words, key=lambda word: int(word[1:])) and len(set(words)) == 100
    again = sample_training_split(split, NER, 100)
    assert again.split.examples == sample.split.examples
    assert find_numbers(sample.describe()) == [100, 1_000, 50, sample.at_random["Species"]]


def test_a_sample_with_enough_of_each_label_is_the_random_one():
    split = build_sentences(600, 1)
    sample = sample_training_split(split, NER, 50)
    assert sample.split.examples == sample_split(split, 50).examples
    assert find_numbers(sample.describe()) == [50, 600]


def test_no_more_is_drawn_than_a_training_needs():
    split = build_sentences(9000, 10)
    sample = sample_training_split(split, NER, 1000)
    assert len(sample.split) == 1000 and sample.labels["Species"] == NER.target_per_label


def test_all_of_a_label_is_taken_if_there_is_less_than_needed():
    split = build_sentences(1000, 250)
    sample = sample_training_split(split, NER, 100)
    assert len(sample.split) == 100 and sample.labels == {"Species": 4}


@pytest.mark.parametrize("limit", [0, 40, 41])
def test_without_a_limit_all_examples_are_kept(limit):
    split = build_sentences(40, 2)
    sample = sample_training_split(split, NER, limit)
    assert sample.split is split and sample.describe() == "" and sample.labels == {"Species": 20}


def test_each_of_several_labels_is_raised():
    """Half of 40 is shared by two types: 10 each."""
    many = build_sentences(800, 2, "A").examples
    few = build_sentences(200, 10, "B").examples
    sample = sample_training_split(Split((*many, *few)), NER, 40)
    assert len(sample.split) == 40
    assert sample.labels["B"] == 10 and sample.labels["A"] >= 10


def build_texts(labels: str) -> Split:
    """A text for each label, which is one character."""
    return Split(tuple(Text(str(n), f"t{n}", (label,)) for n, label in enumerate(labels)))


@pytest.mark.parametrize("kind", ["classification", "relations", "nli", "multilabel"])
def test_each_class_is_represented(kind):
    """Half of 20 is shared by two classes: 5 each; 20 drawn at random of 995 + 5 hold none of b."""
    split = build_texts("a" * 995 + "b" * 5)
    sample = sample_training_split(split, TASK_KINDS[kind], 20)
    assert sample.at_random == {"a": 20} and sample.labels == {"a": 15, "b": 5}
    assert sample.labels == Counter(one.labels[0] for one in sample.split.examples)
    assert find_numbers(sample.describe())[2:] == [15, 20, 5, 0]  # a and b, drawn and at random


@pytest.mark.parametrize(("limit", "represented"), [(13, 13), (14, 13), (25, 13), (40, 13)])
def test_a_class_is_in_the_sample_if_there_is_room_for_each(limit, represented):
    split = build_texts("a" * 500 + "bcdefghijklm")
    sample = sample_training_split(split, TEXTS, limit)
    assert len(sample.split) == limit and len(sample.labels) == represented


def test_a_sample_that_is_smaller_than_the_number_of_classes_is_the_random_one():
    split = build_texts("a" * 50 + "bcdefghijklm")
    sample = sample_training_split(split, TEXTS, 12)
    assert sample.split.examples == sample_split(split, 12).examples


def test_answers_to_questions_are_no_classes():
    examples = tuple(Question(str(n), "who", "a b c", ()) for n in range(30))
    sample = sample_training_split(Split(examples), TASK_KINDS["qa"], 10)
    assert sample.split.examples == sample_split(Split(examples), 10).examples
    assert sample.labels == {}
