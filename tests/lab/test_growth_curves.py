"""Growth curves are measured once for a text and a tokenizer."""

import json

from vocadapt.lab.inputs.corpora import load_or_count_words, read_corpus
from vocadapt.lab.reports import growth_curves
from vocadapt.lab.reports.growth_curves import build_curves_path, load_or_measure_growth_curves
from vocadapt.models.language_model import open_model
from vocadapt.vocabulary.growth.growth import SIZES, Reducer
from vocadapt.vocabulary.plan.reduction import REDUCTIONS


def test_growth_curves_are_kept_by_content(long_text, tiny_bert, tmp_path, monkeypatch):
    text, model = read_corpus([long_text]), open_model(tiny_bert)
    counts = load_or_count_words(None, text, model.splitter)
    reducer = Reducer(model.vocabulary, counts.in_sample, counts.held_out)
    measured = load_or_measure_growth_curves(tmp_path, text, model, reducer)
    path = build_curves_path(tmp_path, text, model)
    path.write_text(path.read_text().replace('"tokens": ', '"tokens": 1'))
    kept = load_or_measure_growth_curves(tmp_path, text, model, reducer)
    assert kept["freq"][0].tokens == int(f"1{measured['freq'][0].tokens}")  # read
    assert kept["freq"][3].growth == measured["freq"][3].growth
    # Damaged, hostile or of another version: measured anew.
    point = {"heuristic": "freq", "keep": "x", "vocabulary": None, "tokens": 1, "growth": 0.0}
    point["growth_in_sample"] = 0.0
    for text_of_file in (
        '{"freq": [',
        "{}",
        "[]",
        json.dumps({name: [] for name in REDUCTIONS}),
        json.dumps({name: [point] * SIZES for name in REDUCTIONS}),
    ):
        path.write_text(text_of_file)
        assert load_or_measure_growth_curves(tmp_path, text, model, reducer) == measured
    # A read-only lab writes nothing.
    monkeypatch.setattr(growth_curves, "is_read_only", lambda: True)
    assert load_or_measure_growth_curves(tmp_path / "new", text, model, reducer) == measured
    assert not (tmp_path / "new").exists()
