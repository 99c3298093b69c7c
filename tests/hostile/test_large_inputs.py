"""Large inputs, such as thousands of labels or a context of a megabyte, are refused immediately
or take seconds."""

import time

import numpy as np
import pytest

from tests.material.commands import run_line
from tests.material.input_errors import raises_input_error
from tests.material.stated_numbers import list_numbers
from vocadapt.analysis.errors.confusion import build_confusion_matrix
from vocadapt.training.examples import context_windows
from vocadapt.training.examples.context_windows import find_best_spans, find_word_bounds
from vocadapt.training.examples.examples import Sentence, Text
from vocadapt.training.finetune.outputs import Outputs, check_logits_size
from vocadapt.training.prediction.answering import find_best_answers
from vocadapt.training.scoring.counts import MAX_CELLS, check_cells, count_items
from vocadapt.training.tasks.kinds import TASK_KINDS


def sentences(types):
    return [Sentence(("the", "fever"), ("O", f"B-T{number}")) for number in range(types)]


def test_entity_types_are_bounded():
    most = TASK_KINDS["ner"].max_labels
    assert len(Outputs.of(TASK_KINDS["ner"], sentences(most)).names) == 2 * most + 1
    with raises_input_error("too-many-labels", "1,001", "1,000"):
        Outputs.of(TASK_KINDS["ner"], sentences(most + 1))


@pytest.mark.parametrize("kind", ["classification", "multilabel", "relations"])
def test_classes_are_bounded(kind):
    most = TASK_KINDS[kind].max_labels
    texts = [Text(str(number), "a", (f"L{number}",)) for number in range(most + 1)]
    with raises_input_error("too-many-labels", "10,001", "10,000"):
        Outputs.of(TASK_KINDS[kind], texts)


def test_ten_thousand_entity_types_are_refused_before_any_training(tiny_bert, tmp_path, capsys):
    """They trained for minutes without a word."""
    lines = "".join(f"the\tO\nfever\tB-T{number}\n\n" for number in range(10_000))
    (tmp_path / "train.tsv").write_text(lines)
    (tmp_path / "test.tsv").write_text(lines)
    given = ["--train", str(tmp_path / "train.tsv"), "--test", str(tmp_path / "test.tsv")]
    begin = time.process_time()
    code = run_line(f"finetune --model {tiny_bert} --task ner", *given, "--out", tmp_path / "out")
    assert code == 2 and time.process_time() - begin < 30 and not (tmp_path / "out").exists()
    assert {"10,000", "1,000"} <= set(list_numbers(capsys.readouterr().err))


def test_what_cannot_be_counted_or_held_is_refused():
    check_cells(10_000, 5_000)
    with raises_input_error("too-many-counts", "50,000,000"):
        check_cells(MAX_CELLS, 2)
    items = [frozenset({(f"L{number}", 0)}) for number in range(8_000)]
    with raises_input_error("too-many-counts"):
        count_items(items, items)
    check_logits_size("test", 100_000, 133, 2)
    with raises_input_error("too-many-outputs", "test:", "10,000,000", "2,001"):
        check_logits_size("test", 10_000_000, 2001, 1)


def test_targets_of_many_labels_take_no_time_per_label():
    outputs = Outputs.of(
        TASK_KINDS["multilabel"], [Text("1", "a", tuple(f"L{number:04}" for number in range(5000)))]
    )
    begin = time.process_time()
    for _ in range(200):
        assert outputs.kind.build_targets(("L0000", "L4999", "unknown"), outputs.index).sum() == 2
    assert time.process_time() - begin < 2


def test_a_confusion_of_thousands_of_classes_takes_seconds_and_shows_the_most_confused():
    gold = [(f"L{number:04}",) for number in range(3000)]
    said = [*gold[:2990], *[("L0000",)] * 10]
    begin = time.process_time()
    found = build_confusion_matrix(TASK_KINDS["classification"], gold, said)
    assert time.process_time() - begin < 5 and found.counts.sum() == 3000
    few = found.most_confused(5)
    assert few.gold[0] == "L0000" and len(few.gold) == len(few.predicted) == 5
    assert few.counts[0, 0] == 1
    assert set(few.gold[1:]) < {f"L{number}" for number in range(2990, 3000)}


@pytest.mark.parametrize("most", [1, 3, 20, 500])
def test_spans_are_the_same_in_blocks(most, monkeypatch):
    rng = np.random.default_rng(most)
    context = " ".join("ab" * int(rng.integers(1, 4)) for _ in range(120))
    bounds = find_word_bounds(context)
    start, end = (
        rng.integers(0, 6, len(bounds)).astype(np.float64) for _ in range(2)
    )  # many equal scores
    whole = find_best_spans(start, end, bounds, 40, most)
    brute = sorted(
        (
            (i, j, start[i] + end[j])
            for i in range(len(bounds))
            for j in range(i, len(bounds))
            if bounds[j, 1] - bounds[i, 0] <= 40
        ),
        key=lambda span: -span[2],
    )
    assert whole == brute[:most]
    monkeypatch.setattr(context_windows, "SPANS", 37)
    assert find_best_spans(start, end, bounds, 40, most) == whole


def test_the_answer_in_a_megabyte_takes_seconds_and_little_memory():
    context = "cancer " * 150_000
    words = len(find_word_bounds(context))
    logits = np.zeros((words, 2), dtype=np.float32)
    logits[100_000] = 5
    begin = time.process_time()
    (found,) = find_best_answers(logits, context)
    assert (found.text, found.start) == ("cancer", 700_000) and time.process_time() - begin < 60
