"""The command advise: saved counts, samples, valid command lines, and its advice and speed on
real text."""

import json
import shlex
import time

import pytest

from tests.material.lab import write_text
from tests.material.workspaces import seed_workspace
from vocadapt.cli import main
from vocadapt.lab.inputs.corpora import load_or_count_words, read_corpus
from vocadapt.lab.reports import advice as lab
from vocadapt.lab.steps.corpus import CorpusStep
from vocadapt.lab.steps.run import run_step
from vocadapt.lab.steps.step import Spec
from vocadapt.lab.workspace.workspace import Workspace
from vocadapt.models.language_model import open_model
from vocadapt.recipe import read_recipe
from vocadapt.text.corpus import CorpusSettings
from vocadapt.vocabulary.advice.advice import Suggestion

KEYS = """
held_out_lines findings verdict sentence reasons corpus task anchors width min_count expected
top_saved added recommended recipes first split_words lines lines_read measured_gains task_file
counts seconds
"""


def test_the_shape_of_the_answer(ask, tiny_bert, tmp_path):
    (tmp_path / "task.tsv").write_text("aspirin\tB\ndrug\tO\n", encoding="utf-8")
    text = write_text(tmp_path / "text.txt")
    answer = ask("advise", text, "--model", tiny_bert, "--task", tmp_path / "task.tsv")
    assert set(answer) == set(KEYS.split())
    assert answer["verdict"] == "keep" and answer["recipes"] == [] and answer["first"] is None
    assert (answer["lines"], answer["lines_read"], answer["counts"]) == (300, 300, "counted")
    assert answer["task_file"] == {"entities": 1, "sentences": 1, "tokens": 2}
    assert answer["task"]["split"] == 1 and answer["width"] == 16
    assert len(answer["corpus"]["pieces"]) == 6 and 0 < answer["corpus"]["split"] < 1
    assert answer["added"][0]["words"] == 5 and answer["added"][0]["model_share"] > 0
    assert [path.name for path in tmp_path.iterdir() if path.is_dir()] == []  # nothing is written


def test_the_recommended_recipe_is_written_and_adapts_with_equal_numbers(
    ask, tiny_bert, tmp_path, capsys
):
    workspace = seed_workspace(tmp_path / "trials", tiny_bert)
    corpus, vectors = workspace.folder("corpora", "trials"), "vectors/trials-vectors"
    file = tmp_path / "recommended.toml"
    answer = ask("advise", corpus, "--model", tiny_bert, "--out", file)
    assert answer["verdict"] == "keep"  # the recipe is written for either verdict
    recipe, recommended = read_recipe(file), answer["recommended"]
    assert recipe.name == "recommended" and answer["sentence"] in recipe.about
    plan = recipe.vocabulary
    assert (plan.max_added, plan.min_count) == (recommended["max_added"], recommended["min_count"])
    assert recommended["min_count"] == 20 and recommended["max_added"] == 5
    assert recipe.initializer.method == "stacked"
    out = tmp_path / "adapted"
    given = ("--recipe", file, "--vectors", workspace.root / vectors, "--model", tiny_bert)
    assert main(["adapt", *map(str, given), "--out", str(out)]) == 0
    capsys.readouterr()
    made = json.loads((out / "vocadapt.json").read_text(encoding="utf-8"))
    assert made["plan"]["added"] == recommended["max_added"]


def test_without_addable_words_there_is_no_recipe_to_write(refused_with, tiny_bert, tmp_path):
    (tmp_path / "text.txt").write_text("the patient\n" * 50, encoding="utf-8")
    refused_with(f"advise text.txt --model {tiny_bert} --out r.toml", "nothing-to-add", "--out")


def test_a_sample_says_n_of_n(ask, tiny_bert, tmp_path):
    answer = ask(
        "advise", write_text(tmp_path / "text.txt"), "--model", tiny_bert, "--sample", "0.5"
    )
    assert answer["lines"] < answer["lines_read"] == 300
    assert "sample" in {reason["code"] for reason in answer["reasons"]}


def test_for_people(show, tiny_bert, tmp_path):
    out = show("advise", write_text(tmp_path / "text.txt"), "--model", tiny_bert)
    assert out.startswith("Do not") and "STOP" in out and " 300 lines" in out


def test_a_bare_vocabulary_will_do(ask, tiny_bert, tmp_path):
    from tests.material.tiny_bert import TINY_TOKENS

    (tmp_path / "vocab.txt").write_text("\n".join(TINY_TOKENS) + "\n", encoding="utf-8")
    answer = ask("advise", write_text(tmp_path / "text.txt"), "--model", tmp_path / "vocab.txt")
    assert answer["width"] is None and answer["added"][0]["parameters"] is None


def test_kept_counts_are_used_and_count_once(ask, tiny_bert, tmp_path):
    workspace, text = Workspace(tmp_path / "w"), write_text(tmp_path / "text.txt")
    folder = workspace.folder("corpora", "trials")
    run_step(Spec(CorpusStep(), {"text": (str(text),)}), folder)  # taken in, not counted
    assert ask("advise", folder, "--model", tiny_bert)["counts"] == "counted"
    assert not (workspace.root / "counts").exists()
    model, corpus = open_model(tiny_bert), read_corpus([folder])
    load_or_count_words(workspace.root, corpus, model.splitter)
    assert lab.advise_on(corpus, model, workspace.root).counts == "kept"
    assert ask("advise", folder, "--model", tiny_bert)["counts"] == "kept"
    assert (
        ask("advise", text, "--model", tiny_bert, "--workspace", workspace.root)["counts"] == "kept"
    )  # the same content


def test_a_text_too_large_is_sampled_and_the_sample_found_again(monkeypatch, tiny_bert, tmp_path):
    text = write_text(tmp_path / "text.txt", lines=2000)
    monkeypatch.setattr(lab, "MAX_COUNTED_BYTES", text.stat().st_size / 4)
    corpus, model = read_corpus([text]), open_model(tiny_bert)
    assert lab.limit_corpus(corpus).settings == CorpusSettings(sample=0.25)
    asked = lab.advise_on(corpus, model, tmp_path)
    assert 400 < asked.lines < 600 and asked.lines_read == 2000 and asked.counts == "counted"
    load_or_count_words(tmp_path, lab.limit_corpus(corpus), model.splitter)
    assert lab.advise_on(corpus, model, tmp_path).counts == "kept"


def test_a_sample_that_was_asked_for_is_only_made_smaller(monkeypatch, tmp_path):
    text = write_text(tmp_path / "text.txt", lines=2000)
    corpus = read_corpus([text], CorpusSettings(sample=0.5))
    assert lab.limit_corpus(corpus) is corpus
    monkeypatch.setattr(lab, "MAX_COUNTED_BYTES", text.stat().st_size / 4)
    assert lab.limit_corpus(corpus).settings.sample == 0.25
    monkeypatch.setattr(lab, "MAX_COUNTED_BYTES", text.stat().st_size)
    assert lab.limit_corpus(corpus) is corpus


def test_parameters_are_counted_from_the_headers(tiny_bert):
    network = open_model(tiny_bert).network
    stored = {id(parameter): parameter.numel() for parameter in network.parameters()}
    assert lab.measure_model_size(open_model(tiny_bert)).parameters == sum(stored.values())


def test_the_suggested_command_lines_run(tiny_bert, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    text, model = write_text(tmp_path / "te xt.txt"), str(tiny_bert)
    lines = [lab.build_training_command([text], model, CorpusSettings(sample=0.9, language=True))]
    lines += [
        lab.build_adapt_command(Suggestion("more words", "green-bert", 3, "", min_count=5), model),
        lab.build_adapt_command(Suggestion("control", "green-bert-random", 2, ""), model),
    ]
    for line in lines:
        assert main(shlex.split(line)[3:]) == 0, line
    capsys.readouterr()
    adapted = json.loads(
        (tmp_path / "adapted-more-words" / "vocadapt.json").read_text(encoding="utf-8")
    )
    assert adapted["plan"]["added"] == 3
    assert adapted["recipe"]["vocabulary"]["min_count"] == 5
    assert (
        json.loads((tmp_path / "adapted-control" / "vocadapt.json").read_text(encoding="utf-8"))[
            "plan"
        ]["added"]
        == 2
    )


def test_news_has_too_few_words_that_occur_often(ask, minilm):
    from gensim.test.utils import datapath

    answer = ask("advise", datapath("lee_background.cor"), "--model", minilm)
    found = {reason["code"]: reason["stops"] for reason in answer["reasons"]}
    assert found["too few words"] and found["little text"] is False
    assert answer["added"][0]["words"] == 83


@pytest.mark.slow
def test_abstracts_are_worth_a_run_within_seconds(ask, minilm, shared):
    start = time.perf_counter()
    task = shared / "data/ner/NCBI-disease/train.tsv"
    answer = ask(
        f"advise {shared}/data/text/biomedical-abstracts.txt.gz --model {minilm} --task {task}"
    )
    assert time.perf_counter() - start < 30
    assert answer["verdict"] == "adapt" and len(answer["recipes"]) == 3
    assert answer["task"]["split"] > 4 * answer["corpus"]["split"]
    # Measured: experiments/advise.json.
    assert answer["expected"]["low"] < 0.557 < answer["expected"]["high"]


@pytest.mark.slow
def test_encyclopedia_is_hardly_worth_it(ask, minilm, shared):
    answer = ask(
        f"advise {shared}/data/text/general-wikipedia.txt.gz --model {minilm} --sample 0.3"
    )
    assert answer["verdict"] == "keep"
