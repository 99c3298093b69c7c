"""The commands change and vectors contextual; noise baselines trained again from the text of the
vectors."""

import numpy as np
import pytest

from tests.material.commands import run_line
from tests.material.lab import KNOWN, NEW, QUICK, write_text
from tests.material.tiny_bert import build_tiny_bert
from tests.material.workspaces import HOSTILE, hostile_vectors
from vocadapt.errors import InputError
from vocadapt.lab.inputs.open_space import open_space
from vocadapt.lab.steps.contextual import ContextualStep
from vocadapt.lab.steps.noise_baselines import (
    BOOTSTRAP,
    find_other_seeds,
    open_vectors_artifact,
    train_noise_baseline,
)
from vocadapt.lab.steps.run import run_step
from vocadapt.lab.steps.step import Spec
from vocadapt.lab.steps.vectors import VectorsStep
from vocadapt.lab.workspace.workspace import Workspace, open_artifact
from vocadapt.models.contextual.occurrences import ContextualSettings
from vocadapt.spaces.io.storage import load_space
from vocadapt.spaces.word2vec.trainer import Word2VecSettings
from vocadapt.text.corpus import CorpusSettings


def list_codes(answer):
    return [finding["code"] for finding in answer["findings"]]


def test_a_space_and_itself(ask, tiny_bert):
    answer = ask("change", "--before", tiny_bert, "--after", tiny_bert, "-n", 3)
    assert answer["mean_overlap"] == 1
    assert answer["histogram"] == [0] * 10 + [len(open_space(tiny_bert).space) - 1]
    assert answer["left_out"] == {"vector is zero": 1}  # [PAD]
    assert answer["null"] is None
    assert list_codes(answer) == ["half_keep_all", "no_baseline_needed"]
    assert len(answer["words"]) == 3 and answer["words"][0]["overlap"] == 1
    keys = "k shared of mean_overlap chance histogram words compared seconds"
    assert set(keys.split()) <= set(answer)


def test_a_model_and_word_vectors(ask, tiny_bert, vectors):
    answer = ask(
        f"change --before {tiny_bert} --after {vectors} -k 3 --without special --without"
        f" unused --word heart --noise-baseline {vectors} {vectors}"
    )
    assert answer["shared"] == answer["compared"] == 34
    assert answer["of"][1] == 39
    assert answer["left_out"] == {}
    assert sum(answer["histogram"]) == 34 and "count" in answer["words"][0]
    word = answer["word"]
    assert (
        len(word["only_before"]) + len(word["both"])
        == len(word["only_after"]) + len(word["both"])
        == 3
    )
    assert list_codes(answer)[1] == "identical_baseline"
    assert answer["words"][0]["null"]["z"] is None
    overlaps = [row["overlap"] for row in answer["words"]]
    assert overlaps == sorted(overlaps)


def test_tokens_of_the_kinds_named_are_left_out(ask, tiny_bert, make_bert):
    kinds = ("--without", "special", "--without", "continuation", "--without", "unused")
    answer = ask("change", "--before", tiny_bert, "--after", make_bert(dim=32), *kinds)
    assert answer["left_out"]["special"] == 5 and answer["left_out"]["unused"] == 1
    assert answer["compared"] == answer["shared"] - sum(answer["left_out"].values())
    assert not any(row["word"].startswith(("##", "[un")) for row in answer["words"])


@pytest.mark.parametrize("how", ["--noise-baseline-seed", "--noise-baseline-bootstrap"])
def test_a_noise_baseline_is_trained_from_the_text_of_the_vectors(
    ask, tiny_bert, vectors, how, tmp_path
):
    before = sorted(vectors.rglob("*"))
    answer = ask("change", "--before", vectors, "--after", tiny_bert, "-k", 5, how)
    null = answer["null"]
    assert 0 < null["mean_overlap"] < 1 and sum(null["histogram"]) == 34 and null["bands"] == 1
    assert 0 <= null["baseline_fraction_below"] <= 0.05 and null["quantile"] == 0.05
    assert {"overlap", "quantile", "z"} == set(answer["words"][0]["null"])
    assert list_codes(answer)[1] == "compared_with_noise"
    assert sorted(vectors.rglob("*")) == before
    assert ("bootstrap" in null["about"]) == how.endswith("bootstrap")


def test_the_second_seed_is_the_training_with_that_seed(vectors, text, tiny_bert, tmp_path):
    from dataclasses import replace

    pair = train_noise_baseline(open_artifact(vectors))
    other = VectorsStep(word2vec=replace(QUICK, seed=2))
    again = run_step(Spec(other, {"text": text, "model": tiny_bert}), tmp_path / "again")
    assert (pair.second.matrix == load_space(again.folder).matrix).all()
    assert pair.second.name.endswith("(seed 2)")
    assert (pair.first.matrix == load_space(vectors).matrix).all()


def test_a_bootstrap_draws_as_many_lines_and_keeps_the_words(tmp_path, tiny_bert):
    from vocadapt.spaces.word2vec.trainer import resample

    sentences = tmp_path / "s.txt"
    sentences.write_text("".join(f"line {i}\n" for i in range(1000)))
    counts = resample(sentences, tmp_path / "a.txt", 1)
    lines = (tmp_path / "a.txt").read_text().splitlines()
    assert len(lines) == counts["line"] == 1000 and 600 < len(set(lines)) < 660  # 1 − 1/e of them
    assert (
        counts
        == resample(sentences, tmp_path / "b.txt", 1)
        != resample(sentences, tmp_path / "c.txt", 2)
    )
    text = write_text(tmp_path / "t.txt")
    made = [
        run_step(
            Spec(
                VectorsStep(word2vec=QUICK, resample=n),
                {"text": text, "model": tiny_bert},
            ),
            tmp_path / f"v{n}",
        )
        for n in (0, 1, 2)
    ]
    plain, one, two = (load_space(artifact.folder) for artifact in made)
    assert set(plain.words) == set(one.words) == set(two.words)
    assert one.counts.sum() == pytest.approx(plain.counts.sum(), rel=0.1)
    assert not np.array_equal(one.matrix, two.matrix)
    assert sorted(path.name for path in made[1].folder.iterdir()) == [
        "manifest.json",
        "vectors.safetensors",
        "words.txt",
    ]


def test_the_two_baseline_runs_differ_only_in_the_seed(tmp_path, tiny_bert):
    from dataclasses import replace

    workspace, text = Workspace(tmp_path / "w"), write_text(tmp_path / "t.txt", lines=100)
    settings = {"a": QUICK, "b": replace(QUICK, seed=2), "c": replace(QUICK, seed=3, window=2)}
    for name, word2vec in settings.items():
        lines = CorpusSettings(
            seed=word2vec.seed
        )  # all of them: --seed says that too, and it does nothing
        spec = Spec(VectorsStep(lines, word2vec), {"text": text, "model": tiny_bert})
        run_step(spec, workspace.folder("vectors", name))
    a, b, c = (workspace.artifact("vectors", name) for name in "abc")
    assert [twin.name for twin in find_other_seeds(a, workspace)] == ["b"]
    assert [twin.name for twin in find_other_seeds(b, workspace)] == ["a"]
    assert find_other_seeds(c, workspace) == []
    text.write_text("something else\n")
    with pytest.raises(InputError, match=r"trained again: .* changed"):
        train_noise_baseline(a)


def test_what_was_not_trained_here_has_no_second_seed(tmp_path, tiny_bert):
    assert open_vectors_artifact(tiny_bert) is None and open_vectors_artifact("no/such") is None
    assert (
        run_line("vectors import", hostile_vectors(tmp_path / "h.vec"), "--out", tmp_path / "h")
        == 0
    )
    with pytest.raises(InputError, match="not trained"):
        train_noise_baseline(open_artifact(tmp_path / "h"))


def test_hostile_words_come_through(ask, tmp_path):
    assert (
        run_line("vectors import", hostile_vectors(tmp_path / "h.vec"), "--out", tmp_path / "h")
        == 0
    )
    answer = ask(f"change --before {tmp_path}/h --after {tmp_path}/h --word {HOSTILE[0]} -n 100")
    assert set(HOSTILE) <= {row["word"] for row in answer["words"]}
    assert answer["word"]["word"] == HOSTILE[0]
    assert list_codes(answer)[1] == "no_baseline_needed"
    assert run_line(f"change --before {tmp_path}/h --after {tmp_path}/h --word {HOSTILE[1]}") == 0


def test_vectors_in_context_are_word_vectors_like_any_other(ask, text, tiny_bert, tmp_path):
    line = f"vectors contextual --model {tiny_bert} --corpus {text} --length 64 --min-count 2"
    answer = ask(f"{line} --layer 1 --out {tmp_path}/one")
    numbers = answer["numbers"]
    assert set(answer) == {"out", "seconds", "manifest", "numbers"}
    assert (numbers["words"], numbers["dim"], numbers["layer"], numbers["layers"]) == (39, 16, 1, 2)
    assert numbers["averaged"] == 39 * 20 and numbers["occurrences"] == 3300
    assert ask(f"{line} --out {tmp_path}/top")["numbers"]["layer"] == 2
    space = open_space(tmp_path / "one").space
    assert set(space.words) == {*KNOWN, *NEW, "."} and space.counts is not None
    change = ask(
        f"change --before {tmp_path}/one --after {tmp_path}/top -k 5 --noise-baseline-seed"
    )
    assert change["compared"] == 39 and 0 < change["null"]["mean_overlap"] < 1
    neighbors = ask(f"neighbors heart --vectors {tmp_path}/one --model {tiny_bert}")
    assert neighbors["heart"]["within_words"]


def test_requested_words_are_reported(ask, text, tiny_bert, tmp_path):
    (tmp_path / "w.txt").write_text("Heart\naspirin\nnosuchword\n\ntwo words\n")
    answer = ask(
        f"vectors contextual --model {tiny_bert} --corpus {text} --length 64 --words"
        f" {tmp_path}/w.txt --layer last --out {tmp_path}/c"
    )
    assert set(open_space(tmp_path / "c").space.words) == {"heart", "aspirin"}
    assert answer["numbers"]["left_out"] == {"not in the text": 2}


def test_a_bootstrap_of_vectors_in_context_is_refused(text, tiny_bert, tmp_path):
    step = ContextualStep(contextual=ContextualSettings(length=64))
    made = run_step(Spec(step, {"text": text, "model": tiny_bert}), tmp_path / "c")
    with pytest.raises(InputError, match="resampled"):
        train_noise_baseline(made, BOOTSTRAP)
    assert made.manifest.seed == 1


def test_counted_vectors_are_the_same_with_every_seed(text, tiny_bert, tmp_path):
    step = VectorsStep(word2vec=Word2VecSettings(min_count=1))
    made = run_step(Spec(step, {"text": text, "model": tiny_bert}), tmp_path / "v")
    assert made.manifest.settings["word2vec"]["trainer"] == "counts"
    assert "--trainer counts" in made.manifest.command
    with pytest.raises(InputError, match="v was counted"):
        train_noise_baseline(made)
    assert len(train_noise_baseline(made, BOOTSTRAP).first) > 0


def test_a_model_of_another_width_and_vocabulary(ask, tiny_bert, tmp_path):
    other = build_tiny_bert(
        tmp_path / "other",
        dim=8,
        tokens=["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *KNOWN, "zzz"],
    )
    answer = ask("change", "--before", tiny_bert, "--after", other, "-k", 4, "--among", "all")
    assert answer["of"][1] == len(KNOWN) + 6 and answer["shared"] == len(KNOWN) + 5
    assert answer["mean_overlap"] == pytest.approx(answer["chance"], abs=0.1)
