"""The commands vocabulary compare and vocabulary study: the structure of their JSON, and errors
for invalid files."""

from itertools import compress

import pytest

from tests.material.tiny_bert import TINY_TOKENS
from vocadapt.models.language_model import open_model
from vocadapt.text.corpus import open_corpus
from vocadapt.text.identical_lines import find_held_out, hash_lines
from vocadapt.text.words import count_words
from vocadapt.vocabulary.plan.reduction import ReductionSettings, select_removed_tokens


def test_compare_a_model_and_a_faulty_vocabulary(ask, show, tiny_bert, tmp_path):
    (tmp_path / "v.txt").write_text("[PAD]\n[unk]\nheart\n\nheart\nzzz", encoding="utf-8")
    found = ask("vocabulary", "compare", tiny_bert, tmp_path / "v.txt")
    rows = found["vocabularies"]
    assert [row["model"] for row in rows] == [str(tiny_bert), str(tmp_path / "v.txt")]
    assert [row["size"] for row in rows] == [len(TINY_TOKENS), 5]
    assert found["common"] == [[len(TINY_TOKENS), 2], [2, 5]]
    assert found["share"][1] == [0.4, 1.0]
    assert [fault["line"] for fault in found["faults"][str(tmp_path / "v.txt")]] == [2, 5, 6, 0]
    assert found["lengths_common"] == {"5": 1}
    assert rows[0]["unreachable"]["unused"] == 1
    shown = show("vocabulary compare", tiny_bert, tmp_path / "v.txt")
    assert "line 5" in shown and "'heart'" in shown


def test_compare_the_shared_vocabularies(ask, shared):
    names = ("bert-base-uncased", "pubmedbert-abstract-fulltext")
    found = ask("vocabulary", "compare", *(shared / f"data/vocab/{name}.txt" for name in names))
    assert [row["size"] for row in found["vocabularies"]] == [30522, 30522] and found["common"][0][
        1
    ] == 12309
    assert round(found["share"][0][1], 2) == 0.40 and found["faults"] == {}


def test_study_has_a_row_for_every_cell(ask, tiny_bert, text, tmp_path):
    line = f"vocabulary study --model {tiny_bert} --corpus {text} --workspace {tmp_path}/w"
    found = ask(f"{line} --keep 0.95 0.9 --heuristics last longest freq random cost")
    assert found["held_out_lines"] > 0 and found["left_out"] == {}
    assert [(row["heuristic"], row["keep"]) for row in found["rows"]] == [
        (name, keep)
        for name in ("last", "longest", "freq", "random", "cost")
        for keep in (0.95, 0.9)
    ]
    for row in found["rows"]:
        assert (row["sd"] is not None) == (row["heuristic"] == "random")
        assert row["vocabulary"] == round(row["keep"] * len(TINY_TOKENS))
        assert row["tokens"] >= found["tokens"]
        assert row["growth"] == pytest.approx(row["tokens"] / found["tokens"] - 1, abs=1e-3)
    again = ask(f"{line} --keep 0.95 0.9")
    assert again["rows"] == found["rows"][:8]  # from the counts that the workspace kept


def test_study_says_what_it_leaves_out(ask, show, tiny_bert, text):
    line = f"vocabulary study --model {tiny_bert} --corpus {text} --keep 1 0.5"
    found = ask(line)
    assert {row["keep"] for row in found["rows"]} == {1.0}
    assert all(row["growth"] == 0 for row in found["rows"])
    assert found["left_out"].keys() == {"0.5"}
    assert "Keeping 0.5" in show(line)


@pytest.mark.parametrize(("heuristic", "keep"), [("last", 0.9), ("cost", 0.9), ("freq", 1.0)])
def test_reduce_makes_a_smaller_model_of_the_studied_size(
    ask, tiny_bert, text, tmp_path, heuristic, keep
):
    corpus = [] if heuristic == "last" else ["--corpus", text]
    asked = ("--model", tiny_bert, "--heuristic", heuristic, "--keep", keep, *corpus)
    made = ask("vocabulary", "reduce", *asked, "--out", tmp_path / "m")
    assert {"out", "seconds", "manifest"} <= set(made)
    model, old = open_model(tmp_path / "m"), open_model(tiny_bert)
    settings = ReductionSettings(heuristic, keep)
    counts = count_words(open_corpus([text]), old.splitter).in_sample
    kept = [
        token
        for token in old.vocabulary.tokens
        if token not in select_removed_tokens(old.vocabulary, settings, counts)
    ]
    assert list(model.vocabulary.tokens) == kept and len(kept) == round(keep * len(TINY_TOKENS))
    assert (
        model.space.matrix == old.space.matrix[[old.vocabulary.ids[token] for token in kept]]
    ).all()
    cells = ask(
        f"vocabulary study --model {tiny_bert} --corpus {text} --heuristics {heuristic}"
        f" --keep {keep}"
    )
    # The tokenizer itself reads the held-out lines.
    lines = text.read_text(encoding="utf-8").splitlines()
    lines = list(compress(lines, find_held_out(hash_lines(lines))))
    real = sum(map(len, model.fast_tokenizer.encode_batch(lines, add_special_tokens=False)))
    assert cells["rows"][0]["tokens"] == real > 0 and cells["held_out_lines"] == len(lines)
