"""The command initializers with word vectors, with a target model, and with a vocabulary and a
text."""

import json
import shlex

import pytest

from tests.material.lab import NEW, write_text
from tests.material.stated_numbers import list_numbers
from tests.material.tiny_bert import LETTERS, SPECIAL, TINY_TOKENS, build_tiny_bert
from vocadapt.analysis.leaderboard.inputs import HeldOutLoss
from vocadapt.analysis.leaderboard.leaderboard import LeaderboardSettings
from vocadapt.cli import main
from vocadapt.errors import InputError
from vocadapt.lab.steps import initializers
from vocadapt.lab.steps.initializers import InitializersStep, load_comparison
from vocadapt.lab.steps.run import run_step
from vocadapt.lab.steps.step import Spec
from vocadapt.lab.workspace.strict_json import dumps
from vocadapt.lab.workspace.workspace import open_artifact
from vocadapt.vocabulary.initializers.initialize import INITIALIZERS

FLOORS = {"global-mean", "common-mean", "random-normal", "random-uniform"}


@pytest.fixture(scope="module")
def other(tmp_path_factory):
    """A target of another width that shares most tokens with the tiny model."""
    tokens = [
        *SPECIAL,
        *LETTERS,
        *(f"##{letter}" for letter in LETTERS),
        *TINY_TOKENS[-40:],
        *NEW,
        "##pnea",
    ]
    return build_tiny_bert(
        tmp_path_factory.mktemp("other") / "other", dim=24, tokens=list(dict.fromkeys(tokens))
    )


def test_word_vectors(ask, tiny_bert, vectors):
    found = ask("initializers", "--model", tiny_bert, "--vectors", vectors, "--held-out", 10)
    judged = {row["initializer"]: row for row in found["board"]["rows"]}
    assert judged.keys() | found["board"]["skipped"].keys() == set(INITIALIZERS) - {
        "distilled",
        "attention",
        "grounded",
    }
    assert found["board"]["skipped"].keys() == {"target"}
    assert len(found["board"]["hidden"]) == 10
    assert found["board"]["candidates"] == len(TINY_TOKENS)
    assert found["board"]["added"] == len(NEW)
    assert judged.keys() >= FLOORS and judged["global-mean"]["centered_cosine"] == 0
    assert {
        "centered_cosine",
        "p1",
        "mrr",
        "norm_ratio",
        "neighbor_overlap",
        "masked_loss",
    } <= judged["focus"].keys()
    assert found["masked"] is None
    assert "held-out text" in found["why_not"]
    assert judged["focus"]["masked_loss"] is None


def test_a_target_of_another_width_and_the_masked_word_loss(ask, tiny_bert, other, text):
    found = ask(
        f"initializers --model {tiny_bert} --target {other} --held-out 10 --text {text}"
        " --methods syntactic target"
    )
    assert list_numbers(found["board"]["skipped"]["target"]) == ["24", "16"]
    losses = {row["initializer"]: row["masked_loss"] for row in found["board"]["rows"]}
    assert all(loss > 0 for loss in losses.values()) and len(set(losses.values())) == 5
    assert found["masked"]["words"] > 100 and found["masked"]["before"] > 0


def test_a_bare_vocabulary_takes_vectors_trained_on_a_text(ask, tiny_bert, tmp_path, text):
    (tmp_path / "vocab.txt").write_text("\n".join([*TINY_TOKENS, "aspirin", "##mia"]) + "\n")
    target = ("--target", tmp_path / "vocab.txt", "--corpus", text)
    found = ask(
        f"initializers --model {tiny_bert}", *target, "--methods", "semantic", "--held-out", 8
    )
    assert found["board"]["added"] == 2
    assert found["masked"]["words"] > 0  # asked on the lines that were held out
    assert (
        next(row for row in found["board"]["rows"] if row["initializer"] == "semantic")[
            "masked_loss"
        ]
        > 0
    )


def test_a_model_without_a_head_has_no_loss_and_says_so(ask, make_bert, vectors, tmp_path):
    headless = make_bert(head="BertModel")
    unseen = write_text(tmp_path / "unseen.txt", seed=2)
    found = ask(
        f"initializers --model {headless} --vectors {vectors} --held-out 8 --text {unseen}"
        " --methods focus"
    )
    assert found["masked"] is None and "head" in found["why_not"]


def test_the_text_output_reports_n_candidates_and_chance(show, tiny_bert, vectors):
    line = f"initializers --model {tiny_bert} --vectors {vectors} --held-out 10 --norm-matched"
    out = show(f"{line} --methods semantic target")
    assert "global-mean (baseline)" in out and "semantic, norm-matched" in out
    assert "10 of " in out and "chance P@1" in out and ": target (" in out
    assert "10 held-out" in out.splitlines()[-1]


def test_a_leaderboard_is_kept_where_asked_and_repeated_by_its_own_command(
    ask, tiny_bert, vectors, text, tmp_path
):
    unseen = write_text(tmp_path / "unseen.txt", seed=2)
    answer = ask(
        f"initializers --model {tiny_bert} --vectors {vectors} --held-out 8"
        f" --methods semantic focus --text {unseen} --out {tmp_path}/kept"
    )
    assert {"out", "seconds", "manifest", "board", "masked"} <= answer.keys()
    kept = open_artifact(tmp_path / "kept")
    assert json.loads(dumps(load_comparison(kept.folder))).items() <= answer.items()
    assert kept.kind == "initializers"
    assert (kept.manifest.numbers["held_out"], kept.manifest.seed) == (8, 1)
    line = shlex.split(kept.manifest.command)[3:]
    assert main([*line[:-1], str(tmp_path / "again"), "--json"]) == 0
    rows = [
        [row.centered_cosine for row in load_comparison(tmp_path / name).board.rows]
        for name in ("kept", "again")
    ]
    assert rows[0] == rows[1]


def test_a_loss_on_a_text_that_was_seen_is_refused(
    refused_with, tiny_bert, vectors, text, tmp_path
):
    """The text of the vectors, and the text that embeddings are fitted to."""
    line = f"initializers --model {tiny_bert} --vectors {vectors} --held-out 8"
    refused_with(f"{line} --text {text}", "", "vectors", "held-out text")
    unseen = write_text(tmp_path / "unseen.txt", seed=2)
    line = f"{line} --methods distilled --corpus {unseen} --text {unseen}"
    refused_with(line, "", "embeddings", "held-out text")


def test_embeddings_are_not_fitted_to_the_lines_of_the_loss(ask, tiny_bert, tmp_path, monkeypatch):
    (tmp_path / "vocab.txt").write_text("\n".join([*TINY_TOKENS, "aspirin"]) + "\n")
    lines = [
        f"{line} {number}"
        for number, line in enumerate(write_text(tmp_path / "raw.txt").read_text().splitlines())
    ]
    (tmp_path / "text.txt").write_text("\n".join(lines) + "\n")
    asked, fitted = [], []
    kept = HeldOutLoss.of
    monkeypatch.setattr(
        HeldOutLoss,
        "of",
        lambda model, plan, chosen: asked.extend(chosen) or kept(model, plan, chosen),
    )
    monkeypatch.setattr(
        initializers,
        "Distiller",
        lambda model, file, *_: fitted.extend(file.read_text().splitlines()),
    )
    target = ("--target", tmp_path / "vocab.txt", "--corpus", tmp_path / "text.txt")
    ask("initializers", "--model", tiny_bert, *target, "--methods", "distilled", "--held-out", 8)
    assert asked and len(asked) + len(fitted) == len(lines)
    assert not {line.strip() for line in asked} & set(fitted)


def test_progress_never_runs_backwards_where_rows_are_distilled(tiny_bert, vectors, tmp_path):
    seen = []
    text = write_text(tmp_path / "text.txt", lines=30)
    asked = InitializersStep(LeaderboardSettings(methods=("distilled", "syntactic"), held_out=8))
    spec = Spec(asked, {"model": str(tiny_bert), "vectors": str(vectors), "text": str(text)})
    run_step(
        spec, tmp_path / "board", lambda fraction, message="": seen.append((fraction, message))
    )
    known = [fraction for fraction, _ in seen if fraction is not None]
    assert known == sorted(known) and any("distance" in message for _, message in seen)


def test_a_folder_without_a_leaderboard_is_refused(tmp_path):
    with pytest.raises(InputError, match="leaderboard"):
        load_comparison(tmp_path)
