"""Gates by kind of token: means worked by hand, open and closed gates, sampled lines, the
command and its errors."""

import json
import shutil

import numpy as np
import pytest
import torch

from tests.material.exbert import made
from tests.material.input_errors import raises_input_error
from tests.material.lab import write_text
from tests.material.stated_numbers import find_numbers
from vocadapt.analysis.figures.training import plot_gates
from vocadapt.analysis.gates import KINDS, classify_tokens, measure_gates
from vocadapt.lab.reports.pretraining import GateSettings, measure_gates_on_text, sample_lines
from vocadapt.models.add_extension import list_gates
from vocadapt.models.language_model import open_model
from vocadapt.text.corpus import open_corpus
from vocadapt.training.trained_parameters import find_new_ids

LINE = "the tachycardia, 7 drugs in patients"


@pytest.fixture(scope="module")
def text(tmp_path_factory):
    return write_text(tmp_path_factory.mktemp("text") / "text.txt", lines=60)


@pytest.fixture(scope="module")
def exbert(tmp_path_factory, tiny_bert, text):
    return made("exbert-s3", tmp_path_factory.mktemp("models") / "exbert", tiny_bert, text)


def test_kinds_by_hand(tiny_bert):
    vocabulary = open_model(tiny_bert).vocabulary
    tokens = ["[CLS]", "the", "hyper", "##tension", ",", "7", "##s", "a", "[UNK]", "[SEP]"]
    ids = np.array([vocabulary.ids[token] for token in tokens])
    new = np.zeros(len(vocabulary), dtype=bool)
    word, piece = "whole word", "continuation"
    expected = ["special", word, "first piece", piece, "punctuation", "number", piece, word]
    expected += ["special", "special"]
    assert [list(KINDS)[kind] for kind in classify_tokens(ids, vocabulary, new)] == expected
    new[[vocabulary.ids["the"], vocabulary.ids["##tension"], vocabulary.ids[","]]] = True
    for place in (1, 3, 4):
        expected[place] = "added"
    assert [list(KINDS)[kind] for kind in classify_tokens(ids, vocabulary, new)] == expected


def test_means_are_those_of_the_gates_themselves(exbert):
    model = open_model(exbert)
    found = measure_gates(model, [LINE])
    ids = [
        model.vocabulary.ids[token]
        for word in model.splitter.words(LINE)
        for token in model.vocabulary.tokenize(word)
    ]
    ids = [model.vocabulary.ids["[CLS]"], *ids, model.vocabulary.ids["[SEP]"]]
    with torch.no_grad():
        own = model.reader.base_model(torch.tensor([ids]), output_gates=True).gates
    shares = 1 - torch.stack(own)[:, 0, :, 0].double().numpy()
    new = np.isin(ids, find_new_ids(model))
    assert new.any() and found.counts[found.kinds.index("added")] == new.sum()
    np.testing.assert_allclose(
        found.means[:, found.kinds.index("added")], shares[:, new].mean(axis=1), atol=1e-6
    )
    np.testing.assert_allclose(found.means[:, -1], shares.mean(axis=1), atol=1e-6)
    np.testing.assert_allclose(found.deviations[:, -1], shares.std(axis=1), atol=1e-6)
    assert found.kinds[-1] == "all"
    assert found.counts[-1] == len(ids) == sum(found.counts[:-1])
    assert found.layers == 2


def test_a_model_stored_in_half_is_read_in_float32(exbert, tmp_path):
    stored = open_model(exbert).network.half()
    shutil.copytree(exbert, tmp_path / "half")
    stored.save_pretrained(tmp_path / "half")
    half = open_model(tmp_path / "half")
    assert half.network.dtype == torch.float16 and half.reader.dtype == torch.float32
    assert half.network.dtype == torch.float16  # what is adapted or saved stays as it is stored
    found, whole = measure_gates(half, [LINE]), measure_gates(open_model(exbert), [LINE])
    np.testing.assert_allclose(found.means, whole.means, atol=2e-3)


def test_padding_counts_for_nothing(exbert):
    model, short = open_model(exbert), "the drug"
    long = " ".join(["tachycardia"] * 9)
    together, alone = measure_gates(model, [short, long]), measure_gates(model, [short])
    assert together.counts[-1] == alone.counts[-1] + measure_gates(model, [long]).counts[-1]
    place = together.kinds.index("whole word")  # only the short line has one
    np.testing.assert_allclose(
        together.means[:, place], alone.means[:, alone.kinds.index("whole word")], atol=1e-5
    )


@pytest.mark.parametrize(("bias", "share"), [(100.0, 0.0), (-100.0, 1.0)])
def test_the_gate_is_the_weight_of_berts_own_layer(exbert, bias, share):
    model = open_model(exbert)
    with torch.no_grad():
        for gate in list_gates(model.reader):
            gate.weight.zero_()
            gate.bias.fill_(bias)
    assert np.allclose(measure_gates(model, [LINE]).means, share, atol=1e-6)


def test_a_line_longer_than_the_network_is_truncated_and_reported(exbert):
    model = open_model(exbert)  # 64 positions: windows of 21 words
    found = measure_gates(model, [" ".join(["the"] * 50), " ".join(["xyxyxyxyxy"] * 21)])
    assert (found.windows, found.too_long) == (3, 1)
    with raises_input_error("no-words"):
        measure_gates(model, [" ".join(["xyxyxyxyxy"] * 21)])


def test_lines_are_sampled_reproducibly_in_order_and_counted(text):
    corpus = open_corpus([text])
    lines, of = sample_lines(corpus, GateSettings(10))
    every, _ = sample_lines(corpus, GateSettings(0))
    assert of == len(every) == 60
    assert len(lines) == 10
    assert sample_lines(corpus, GateSettings(10))[0] == lines
    places = [every.index(line) for line in lines]
    assert places == sorted(places) and sample_lines(corpus, GateSettings(10, seed=2))[0] != lines
    assert sample_lines(corpus, GateSettings(1000)) == (every, 60)
    hits = np.zeros(60)
    for seed in range(300):
        hits[[every.index(line) for line in sample_lines(corpus, GateSettings(10, seed))[0]]] += 1
    assert hits.min() > 20 and hits.max() < 90  # 50 each, by chance ± 6.5


def test_only_newlines_end_sampled_lines(tmp_path):
    first, second = "one\u2028a\x85b", "two\x0bc\x0cd"
    (tmp_path / "a.txt").write_text(f"{first}\n\n {second}\n", encoding="utf-8")
    lines, of = sample_lines(open_corpus([tmp_path / "a.txt"]), GateSettings(0))
    assert (lines, of) == ([first, second], 2)


def test_the_command_prints_and_writes_the_same_values(exbert, text, tmp_path, ask, show):
    command = f"gates --model {exbert} --corpus {text} --lines 7 --out {tmp_path}"
    answer = ask(f"{command}/g.json")
    assert json.loads((tmp_path / "g.json").read_text()) == answer
    assert (answer["lines"], answer["of"], answer["layers"]) == (7, 60, 2)
    assert all(
        len(kind["share"]) == len(kind["sd"]) == 2 and kind["tokens"] > 0
        for kind in answer["kinds"].values()
    )
    assert [7, 60] in [find_numbers(line) for line in show(f"{command}/g.tsv").splitlines()]
    rows = [line.split("\t") for line in (tmp_path / "g.tsv").read_text().splitlines()[1:]]
    told = {(row[0], row[1]): float(row[3]) for row in rows}
    assert told["2", "added"] == pytest.approx(answer["kinds"]["added"]["share"][1], abs=1e-6)
    assert "already exists" in ask(f"{command}/g.tsv", code=2)


@pytest.mark.parametrize("gate", [0.5, 0.98])
def test_the_initial_gate_value_is_reported(gate, exbert, text, tmp_path, show):
    shutil.copytree(exbert, tmp_path / "begun")
    config = json.loads((tmp_path / "begun" / "config.json").read_text()) | {"gate_start": gate}
    (tmp_path / "begun" / "config.json").write_text(json.dumps(config))
    assert measure_gates_on_text(
        open_model(tmp_path / "begun"), open_corpus([text]), GateSettings(3)
    ).start == pytest.approx(1 - gate)
    shown = show(f"gates --model {tmp_path}/begun --corpus {text} --lines 3")
    assert f"about {1 - gate:.2g}" in shown


def test_a_model_without_a_module_is_refused(tiny_bert, text, tmp_path):
    bare = made("exbert-no-module", tmp_path / "bare", tiny_bert, text)
    for folder in (tiny_bert, bare):
        with raises_input_error("no-gates"):
            measure_gates(open_model(folder), [LINE])


def test_the_picture_shows_the_values_it_is_given(exbert):
    found = measure_gates(open_model(exbert), [LINE])
    heat = plot_gates(found).data[0]
    np.testing.assert_array_equal(heat.z, found.means)
    assert heat.zmin + heat.zmax == pytest.approx(1)
    assert heat.zmax - 0.5 >= abs(found.means - 0.5).max()
