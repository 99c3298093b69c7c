"""Every command on tiny data: its JSON, its errors, and no files left behind after an error."""

import json
import math
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import asdict
from pathlib import Path

import pytest

from tests.material.articles import JATS, JATS_LINES, SPANISH
from tests.material.cases import check_each
from tests.material.commands import run_line
from tests.material.lab import KNOWN, NEW, write_text
from tests.material.tiny_bert import TINY_TOKENS
from vocadapt.cli import main
from vocadapt.cli.run import COMMANDS
from vocadapt.cli.tables import format_facts, format_number, format_table
from vocadapt.lab.sharing import Sharing
from vocadapt.presets import PRESETS
from vocadapt.recipe import read_recipe
from vocadapt.report.formats import format_chance, format_fraction
from vocadapt.spaces.alignment import cross_validation
from vocadapt.spaces.alignment.choose import list_fast_alignments
from vocadapt.spaces.alignment.methods import METHODS
from vocadapt.vocabulary.advice.advice import DEFAULT_PRESET

ROOT = Path(__file__).parents[2]
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(ROOT)}
TRAIN = "--epochs 1 --min-count 1 --workers 1"


@pytest.fixture(scope="module")
def adapted(tmp_path_factory, vectors, tiny_bert):
    folder = tmp_path_factory.mktemp("adapted") / "m"
    assert run_line(f"adapt --model {tiny_bert} --vectors {vectors} --out {folder}") == 0
    return folder


def test_words_count(ask, text, tiny_bert):
    answer = ask("words", "count", text, "--model", tiny_bert)
    assert (answer["words"], answer["distinct"], answer["lines"]) == (3300, 39, 300)
    assert answer["megabytes"] == pytest.approx(text.stat().st_size / 1e6)
    assert answer["seconds"] > 0


def test_words_count_takes_the_options_of_text(ask, tmp_path, tiny_bert):
    (tmp_path / "a.jsonl").write_text('{"body": "the drug"}\n{"body": "a"}\n')
    answer = ask(f"words count {tmp_path}/a.jsonl --model {tiny_bert} --field body --min-length 3")
    assert (answer["words"], answer["lines"]) == (2, 1)
    many = write_text(tmp_path / "many.txt")
    half = f"words count {many} --model {tiny_bert} --sample 0.5 --seed"
    shares = [ask(half, seed)["lines"] for seed in (1, 1, 2)]
    assert shares[0] == shares[1] and 100 < shares[0] < 200


def test_words_count_says_what_was_left_out(ask, tmp_path, tiny_bert):
    (tmp_path / "a.nxml").write_text(JATS, encoding="utf-8")
    (tmp_path / "b.nxml").write_text(SPANISH, encoding="utf-8")
    (tmp_path / "c.json").write_text('{"name": "x"}')
    answer = ask("words", "count", tmp_path, "--model", tiny_bert)
    assert (answer["articles"], answer["articles_not_english"]) == (4, 2)
    assert (answer["articles_without_text"], answer["files_left_out"]) == (0, 1)
    assert answer["lines"] == len(JATS_LINES)


def test_context(ask, text, tiny_bert, tmp_path):
    answer = ask(f"context Aspirin --corpus {text} --model {tiny_bert} -n 3 --width 8")
    assert (answer["word"], len(answer["hits"])) == ("aspirin", 3) and answer["total"] > 50
    for hit in answer["hits"]:
        assert (hit["match"], hit["file"]) == ("aspirin", str(text)) and hit["line"] >= 1
    again = f"context aspirin --corpus {text} -n 3 --width 8"
    assert ask(again) == answer != ask(again, "--seed", 2)
    assert len(ask(f"context the --corpus {text} -n 2 --first")["hits"]) == 2
    nothing = {"word": "nosuchword", "total": 0, "hits": []}
    assert ask(f"context nosuchword --corpus {text}") == nothing
    assert ask(f"context ##piri --corpus {text} --model {tiny_bert}", code=2)
    pieces = ask(f"context ##s --corpus {text} --model {tiny_bert}")
    assert pieces["total"] > answer["total"]


def test_context_for_people_is_aligned_and_harmless(ask, show, tmp_path):
    (tmp_path / "a.txt").write_text(
        "one drug\x1b[31m red\nno\nlonger line with Drugs of a drug too\n"
    )
    out = show("context", "drug", "--corpus", tmp_path / "a.txt")
    assert "\x1b" not in out
    *lines, last = out.splitlines()
    assert len({line.index("[drug]") for line in lines}) == 1
    assert len(lines) == 2
    assert last == "drug: 2 of 2"


def test_vectors_train(ask, text, tiny_bert, tmp_path):
    answer = ask(
        f"vectors train {text} --model {tiny_bert} --out {tmp_path}/v --dim 8 --skip-gram {TRAIN}"
    )
    assert answer["out"] == str(tmp_path / "v") and answer["seconds"] > 0
    word2vec = json.loads(Path(answer["manifest"]).read_text())["settings"]["word2vec"]
    assert (word2vec["dim"], word2vec["skip_gram"], word2vec["epochs"]) == (8, True, 1)
    assert answer["numbers"]["words"] == 39


def test_an_artifact_may_be_put_into_a_workspace_by_name(
    ask, text, tiny_bert, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    answer = ask(f"vectors train {text} --model {tiny_bert} --name mine {TRAIN}")
    assert Path(answer["out"]) == tmp_path / "workspace" / "vectors" / "mine"
    answer = ask(f"vectors train {text} --model {tiny_bert} --workspace w --name mine {TRAIN}")
    assert Path(answer["out"]) == tmp_path / "w" / "vectors" / "mine"


def test_overwriting_needs_a_flag(ask, text, tiny_bert, tmp_path):
    command = f"vectors train {text} --model {tiny_bert} --out {tmp_path}/v {TRAIN}"
    assert ask(command)
    assert "already exists" in ask(command, code=2)
    assert ask(command, "--overwrite")


def test_vectors_import(ask, tmp_path):
    (tmp_path / "x.vec").write_text("2 2\naspirin 1 2\ndrug 3 4\n")
    answer = ask(f"vectors import {tmp_path}/x.vec --out {tmp_path}/v --limit 1")
    assert (answer["numbers"]["words"], answer["numbers"]["dim"]) == (1, 2)
    assert {"out", "seconds", "manifest"} <= set(answer)


def test_the_casing_of_a_bare_vocabulary_can_be_given(ask, tmp_path):
    (tmp_path / "vocab.txt").write_text("\n".join(TINY_TOKENS) + "\n")
    (tmp_path / "a.txt").write_text("Aspirin aspirin Drug\n" * 5)
    arguments = f"vectors train {tmp_path}/a.txt --model {tmp_path}/vocab.txt {TRAIN}"
    assert "--dim" in ask(arguments, "--out", tmp_path / "none", code=2)
    for casing, words in (
        ("cased", {"Aspirin", "aspirin", "Drug"}),
        ("uncased", {"aspirin", "drug"}),
    ):
        answer = ask(arguments, "--dim", 4, "--casing", casing, "--out", tmp_path / casing)
        assert set((tmp_path / casing / "words.txt").read_text().split()) == words
        assert f"--casing {casing}" in json.loads(Path(answer["manifest"]).read_text())["command"]
    (tmp_path / "x.vec").write_text("Aspirin 1 2\naspirin 3 4\n")
    fold = f"vectors import {tmp_path}/x.vec --fold-case --model {tmp_path}/vocab.txt --casing"
    sizes = [
        ask(fold, casing, "--out", tmp_path / f"folded-{casing}")["numbers"]["words"]
        for casing in ("cased", "uncased")
    ]
    assert sizes == [2, 1]


def test_vectors_evaluate(ask, vectors, tmp_path):
    (tmp_path / "mine.tsv").write_text(
        "drug\tdrugs\t9\ncell\tcells\t8\nheart\tblood\t5\npain\tunicorn\t0\n"
    )
    (tmp_path / "a.txt").write_text(": plural\ndrug drugs cell cells\n")
    answer = ask(
        f"vectors evaluate {vectors} --pairs {tmp_path}/mine.tsv --analogies {tmp_path}/a.txt"
    )
    assert set(answer["pairs"]["mine"]) == {"spearman", "covered", "of"}
    assert (answer["pairs"]["mine"]["covered"], answer["pairs"]["mine"]["of"]) == (3, 4)
    assert answer["analogies"]["plural"]["of"] == 1
    bundled = ask("vectors", "evaluate", vectors)
    assert set(bundled["pairs"]) == {"wordsim353", "simlex999"}
    assert bundled["pairs"]["simlex999"]["of"] == 999
    assert bundled["analogies"] is None


def test_align(ask, vectors, tiny_bert):
    given = f"align --vectors {vectors} --model {tiny_bert} --folds 3"
    answer = ask(given, "--method", "least-squares")
    assert answer["method"] == "least-squares" and answer["anchors"] == 34 and answer["seconds"] > 0
    held = answer["held_out"]
    assert {"cosine", "p@1", "p@5", "p@10", "chance@5", "all_pieces", "csls"} <= set(held)
    assert held["chance@5"] == pytest.approx(5 / 34)
    assert held["all_pieces"]["chance@5"] == pytest.approx(5 / len(TINY_TOKENS))
    assert "p@1" in held["csls"]


@pytest.mark.parametrize("folds", [2, 5])
def test_align_without_a_method_chooses_one_by_other_words(
    folds, ask, show, vectors, tiny_bert, tmp_path
):
    given = f"align --vectors {vectors} --model {tiny_bert}"
    answer = ask(given, "--folds", folds, "--save", tmp_path / "a")
    assert answer["anchors"] == 34
    held = answer["held_out"]
    assert 0 < held["words"] < 34 and held["chance@5"] == pytest.approx(5 / 34)
    fast = {one.method for one in list_fast_alignments()}
    assert answer["method"] == answer["settings"]["method"] in fast
    # The manifest and its command name what was chosen.
    manifest = json.loads(Path(answer["manifest"]).read_text())
    assert manifest["settings"]["alignment"]["method"] == answer["method"]
    saved = json.loads((tmp_path / "a" / "alignment.json").read_text())
    assert saved["settings"] == answer["settings"]
    assert "chosen" in show(given)


def test_align_saves_the_alignment_and_shows_all_methods(ask, show, vectors, tiny_bert, tmp_path):
    arguments = f"align --vectors {vectors} --model {tiny_bert} --folds 2 --all --save {tmp_path}/a"
    answer = ask(arguments)
    assert {"least-squares", "ridge", "procrustes", "identity", "random"} <= {
        row["method"] for row in answer["alignments"]
    }
    assert (tmp_path / "a" / "alignment.safetensors").is_file()
    assert Path(answer["manifest"]).is_file() and answer["out"] == str(tmp_path / "a")
    out = show(f"align --vectors {vectors} --model {tiny_bert} --folds 2")
    assert "CSLS" in out and "Anchors" in out
    assert answer["findings"][-1]["code"] == "at_chance"


def test_align_fits_and_compares_on_the_chosen_anchors(ask, vectors, tiny_bert):
    arguments = f"align --vectors {vectors} --model {tiny_bert} --folds 2 --method ridge"
    more = "--all --anchors-without single-characters --normalize --center --weights reliability"
    answer = ask(f"{arguments} {more}")
    assert {row["anchors"] for row in answer["alignments"]} == {32}  # "a" and "." are out
    assert all("--iterative" in reason for reason in answer["left_out"].values())
    assert ask(arguments, "--min-count", 10_000, code=2)


def test_align_all_evaluates_feasible_methods_and_reports_the_others(
    ask, show, text, tiny_bert, tmp_path
):
    ask(f"vectors train {text} --model {tiny_bert} --out {tmp_path}/v --dim 24 {TRAIN}")
    arguments = f"align --vectors {tmp_path}/v --model {tiny_bert} --folds 3"
    answer = ask(arguments, "--all", "--save", tmp_path / "a")
    assert answer["method"] == answer["alignments"][0]["method"] == "ridge"
    infeasible = {
        "least-squares": "22 of 34 anchors to fit on in each of 3 folds, for 24 dimensions",
        "identity": "the vectors have 24 dimensions, the model 16",
    }
    slow = {name for name, method in METHODS.items() if method.iterative}
    evaluated = {row["method"] for row in answer["alignments"]}
    assert evaluated == {*METHODS} - {*infeasible} - slow
    assert answer["left_out"] == infeasible | dict.fromkeys(slow, "takes minutes: add --iterative")
    every = ask(arguments, "--all", "--iterative")
    assert {row["method"] for row in every["alignments"]} == {*METHODS} - {*infeasible}
    assert every["left_out"] == infeasible
    assert (
        json.loads((tmp_path / "a" / "alignment.json").read_text())["settings"]["method"] == "ridge"
    )
    assert " least-squares (22 " in show(arguments, "--all")
    # Named, it is still a mistake; without a method, one is chosen that can be fitted.
    assert ask(arguments, "--method", "least-squares", code=2)
    assert ask(arguments)["method"] != "least-squares"
    assert ask(arguments, "--all", "--folds", 0, code=2)


def test_neighbors(ask, show, vectors, tiny_bert):
    answer = ask(f"neighbors aspirin drug ##ing --vectors {vectors} --model {tiny_bert} -k 3")
    assert set(answer) == {"aspirin", "drug", "##ing"}
    assert set(answer["drug"]) == {"within_words", "within_pieces", "to_pieces", "to_words"}
    assert all(len(listed) == 3 for listed in answer["drug"].values())
    word, cosine = answer["drug"]["within_words"][0]
    assert word in {*KNOWN, *NEW, "."} and -1 <= cosine <= 1.001
    assert answer["aspirin"]["within_pieces"] is None and answer["aspirin"]["to_words"] is None
    assert answer["##ing"]["within_words"] is None and answer["##ing"]["to_pieces"] is None
    out = show(f"neighbors drug --vectors {vectors} --model {tiny_bert} --csls")
    assert "within wordpieces" in out and "CSLS across" in out
    # The vectors are in no workspace: the command that measures is named.
    assert out.endswith(f": python -m vocadapt align --vectors {vectors} --model {tiny_bert}\n")


def test_neighbors_take_their_accuracy_from_the_saved_evaluation(
    ask, show, vectors, tiny_bert, tmp_path, monkeypatch
):
    measured = []
    cross_validate = cross_validation.cross_validate

    def count(*arguments, **options):
        measured.append(arguments)
        return cross_validate(*arguments, **options)

    monkeypatch.setattr(cross_validation, "cross_validate", count)
    inside = tmp_path / "w" / "vectors" / "v"
    shutil.copytree(vectors, inside)
    arguments = f"neighbors drug --vectors {inside} --model {tiny_bert}"
    settings = ("--method", "ridge", "--ridge", "2.0")

    # 1. Without an evaluation, the command that saves one is named; nothing is measured.
    command = show(arguments, *settings).splitlines()[-1]
    _, _, command = command.partition(": ")
    assert not measured
    program, *words = shlex.split(command.removeprefix("python -m vocadapt "))
    assert program == "align" and words[:4] == ["--vectors", str(inside), "--model", str(tiny_bert)]
    assert words[-4:] == ["--workspace", str(tmp_path / "w"), "--name", "v-ridge"]

    # 2. After that command its scores are stated, those of the ranking of the lists.
    assert ask(program, *words) and measured
    measured.clear()
    table = json.loads((tmp_path / "w/alignments/v-ridge/heldout.json").read_text())
    held_out, anchors = table["alignments"][0]["held_out"], table["alignments"][0]["anchors"]
    everything = ("--csls", "--among", "all wordpieces")
    for more, scores in (((), held_out), (everything, held_out["csls"]["all_pieces"])):
        line = show(arguments, *settings, *more).splitlines()[-1]
        level = format_chance(scores["chance@5"])
        assert f"is {format_fraction(scores['p@5'])} (chance {level}, {anchors} words)" in line
        assert ("by CSLS" in line) is bool(more)
    # Without an option of the alignment, it is the one that was evaluated.
    assert ask(arguments) == ask(arguments, *settings)
    assert ask(arguments) != ask(arguments, "--method", "least-squares")
    assert not measured

    # 3. Another alignment, and rebuilt vectors, are not described by it.
    unknown = "is not known yet"
    assert unknown in show(arguments, "--method", "ridge")
    manifest = json.loads((inside / "manifest.json").read_text())
    (inside / "manifest.json").write_text(json.dumps({**manifest, "created": "2001-01-01"}))
    assert unknown in show(arguments, *settings)


def test_neighbors_of_a_word_as_the_model_normalizes_it(ask, show, vectors, tiny_bert):
    arguments = f"neighbors Drug drug --vectors {vectors} --model {tiny_bert}"
    answer = ask(arguments)
    assert list(answer) == ["Drug", "drug"] and answer["Drug"] == answer["drug"]
    assert "Drug: drug\n" in show(arguments)


def test_neighbors_by_euclid(ask, show, vectors, tiny_bert):
    arguments = f"neighbors drug --vectors {vectors} --model {tiny_bert} --metric euclidean"
    answer = ask(arguments)
    for listed in answer["drug"].values():
        distances = [distance for _, distance in listed]
        assert distances == sorted(distances) and distances[0] >= 0
    assert "smaller" in show(arguments)


def test_adapt_and_certify(ask, show, adapted, tiny_bert, vectors, text, tmp_path):
    tokenizer = json.loads((adapted / "tokenizer.json").read_text())
    added = {token["content"] for token in tokenizer["added_tokens"]}
    assert set(NEW) <= added | set(tokenizer["model"]["vocab"])
    answer = ask(f"certify --before {tiny_bert} --after {adapted} --text {text} --lines 5")
    assert answer["passed"] is True
    assert all(set(check) == {"name", "passed", "detail"} for check in answer["checks"])
    assert answer["departures"] == 0 and answer["added_occurrences"] > 0
    shown = show("certify", "--before", tiny_bert, "--after", adapted)
    assert "not counted" in shown


def test_a_failing_certificate_is_exit_1(ask, adapted, tiny_bert, tmp_path):
    import shutil

    from safetensors.numpy import load_file, save_file

    broken = shutil.copytree(adapted, tmp_path / "broken")
    tensors = load_file(broken / "model.safetensors")
    name = next(name for name in tensors if name.endswith("word_embeddings.weight"))
    tensors[name][10] += 1
    save_file(tensors, broken / "model.safetensors", metadata={"format": "pt"})
    answer = ask("certify", "--before", tiny_bert, "--after", broken, code=1)
    assert answer["passed"] is False


def test_adapt_from_a_text_and_from_a_recipe(ask, show, text, tiny_bert, vectors, tmp_path):
    recipe = tmp_path / "mine.toml"
    recipe.write_text(
        '[vectors]\nepochs = 1\nmin_count = 1\n[initializer]\nmethod = "random-normal"\n'
    )
    arguments = f"adapt --recipe {recipe} --model {tiny_bert} --no-certificate"
    given = f"adapt --model {tiny_bert} --vectors {vectors} --out"
    published = ("--preset", "green-bert")
    shown = show(given, tmp_path / "c", *published)
    assert "Chance:" in shown
    # Without a preset, embeddings come from context and form.
    numbers = ask(given, tmp_path / "d")["numbers"]
    assert numbers["preset"] == DEFAULT_PRESET == "new-words"
    assert numbers["stacked"]["reweighted"]["new_words"] == 5 and numbers["verdict"] is None
    # The expected precision is that of the words that are added, not of all that could be.
    fewer = ask(given, tmp_path / "two", "--max-added", 2)["numbers"]
    assert fewer["added"] == fewer["stacked"]["reweighted"]["new_words"] == 2
    # An alignment that is named is used.
    named = ask(given, tmp_path / "e", "--method", "procrustes")["numbers"]
    assert named["preset"].startswith("green-bert") and "verdict" in named
    answer = ask(arguments, "--corpus", text, "--out", tmp_path / "m")
    assert answer["numbers"]["added"] == 5
    record = json.loads((tmp_path / "m" / "vocadapt.json").read_text())
    assert record["recipe"]["initializer"]["method"] == "random-normal"


def test_tokenize(ask, adapted, tiny_bert):
    answer = ask("tokenize", "Hypertension aspirin", "--model", tiny_bert, "--model", adapted)
    before, after = answer[str(tiny_bert)], answer[str(adapted)]
    assert before["tokens"][:2] == ["hyper", "##tension"] and len(before["tokens"]) > 3
    assert after["tokens"] == ["hyper", "##tension", "aspirin"]
    assert after["offsets"] == [[0, 5], [5, 12], [13, 20]]
    assert after["ids"][2] == len(TINY_TOKENS) + place_among_added(adapted, "aspirin")


def place_among_added(folder, token):
    record = json.loads((folder / "vocadapt.json").read_text())["plan"]["added_tokens"]
    return [word for word, *_ in record].index(token)


def test_tokenize_with_a_bare_vocabulary(ask, show, shared):
    vocab = shared / "data" / "vocab" / "bert-base-cased.txt"
    tokens = ask("tokenize euthymia --model", vocab)[str(vocab)]["tokens"]
    assert tokens == ["e", "##uth", "##ym", "##ia"]
    assert "cased" in show("tokenize x --model", vocab)


def test_a_preset_printed_as_toml_is_a_recipe(ask, show, text, tiny_bert, tmp_path):
    assert set(PRESETS) == set(ask("presets")) and "Poerner" in show("presets")
    printed = show("presets", "--toml", "green-bert-random")
    assert ask("presets", "--toml", "green-bert-random")["initializer"]["method"] == "random-normal"
    (tmp_path / "mine.toml").write_text(printed)
    assert read_recipe(tmp_path / "mine.toml") == PRESETS["green-bert-random"]
    assert ask("presets", "--toml", "green-brt", code=2)


def test_convert(ask, tiny_bert, tmp_path):
    import torch
    from safetensors.torch import load_file

    source = tmp_path / "published"
    source.mkdir()
    for name in ("config.json", "tokenizer.json", "tokenizer_config.json"):
        (source / name).write_bytes((tiny_bert / name).read_bytes())
    torch.save(load_file(tiny_bert / "model.safetensors"), source / "pytorch_model.bin")
    answer = ask("convert", source, "--out", tmp_path / "converted")
    assert answer["numbers"]["tensors"] > 10
    assert ask("tokenize", "the drug", "--model", tmp_path / "converted")


def test_app_becomes_the_server(ask, tmp_path, monkeypatch):
    started = []
    monkeypatch.setattr(os, "execve", lambda *given: started.extend(given) or 1 / 0)
    with pytest.raises(ZeroDivisionError):
        main(["app", "--workspace", str(tmp_path / "w"), "--port", "8600", "--no-browser"])
    _, command, environment = started
    assert command[1:] == [
        *f"-P -m vocadapt.ui.shell.server --workspace {tmp_path}/w --port 8600 --sharing".split(),
        json.dumps(asdict(Sharing())),
        "--no-browser",
    ]
    assert str(ROOT) in environment["PYTHONPATH"]


def test_the_overview_names_every_command(capsys):
    for arguments in ([], ["--help"], ["-h"]):
        assert main(arguments) == 0
        out = capsys.readouterr().out
        assert all(name in out for name in COMMANDS) and "\n  job " not in out


@check_each("name", COMMANDS)
def test_every_command_explains_itself(name, capsys):
    with pytest.raises(SystemExit) as ended:
        main([*name.split(), "--help"])
    assert ended.value.code == 0
    assert "--json" in capsys.readouterr().out


def test_stdout_is_json_and_nothing_else_even_when_verbose(text, tiny_bert, tmp_path, capfd):
    line = f"vectors train {text} --model {tiny_bert} --out {tmp_path}/v {TRAIN} --json -v"
    assert run_line(line) == 0
    out, err = capfd.readouterr()  # also what C libraries print
    assert json.loads(out)["out"] == str(tmp_path / "v")
    assert out.count("\n") == 1 and err


def test_stderr_is_silent_when_nobody_watches(text, tiny_bert, capfd):
    assert run_line(f"words count {text} --model {tiny_bert}") == 0
    out, err = capfd.readouterr()
    assert err == "" and re.search(r"words\s+3,300", out)


def test_ctrl_c_is_130_and_leaves_nothing(text, tiny_bert, tmp_path):
    """The handler is that of SIGTERM, too: see the next test."""
    line = f"vectors train {text} --model {tiny_bert} --out {tmp_path}/w/v --epochs 20000"
    running = subprocess.Popen(
        [sys.executable, "-m", "vocadapt", *line.split(), "--min-count", "1"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=ENVIRONMENT,
    )
    end = time.monotonic() + 60
    while not (tmp_path / "w").exists():
        assert time.monotonic() < end and running.poll() is None
        time.sleep(0.05)
    running.send_signal(signal.SIGINT)
    out, err = running.communicate(timeout=60)
    assert running.returncode == 130
    assert out == "" and "Traceback" not in err and len(err.splitlines()) == 1
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("sign", ["SIGINT", "SIGTERM"])
def test_a_signal_in_the_middle_of_an_import_is_130_too(sign, tmp_path):
    """Python ends by SIGINT where a KeyboardInterrupt has passed through exec of a string, as in
    making a dataclass.
    """
    signalled = f"import os, signal, time; os.kill(os.getpid(), signal.{sign}); time.sleep(5)"
    code = (
        "import sys, vocadapt.cli, vocadapt.cli.run as run\n"
        f"run.run = lambda arguments: exec({signalled!r})\n"
        "sys.exit(vocadapt.cli.main())"
    )
    done = run_python(code)
    assert (done.returncode, done.stdout) == (130, "") and done.stderr.startswith("Canceled")


def run_python(code: str) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-c", code]
    return subprocess.run(command, capture_output=True, text=True, env=ENVIRONMENT, check=False)


def test_the_help_and_the_list_of_artifacts_are_quick_and_load_nothing_heavy(tmp_path):
    done = run_python(
        "import sys, time; from vocadapt.cli import main; main(['--help'])\n"
        "help_alone = time.process_time()\n"
        f"main(['workspace', 'list', '--workspace', {str(tmp_path)!r}])\n"
        "print({'numpy', 'torch', 'vocadapt.lab.steps'} & set(sys.modules), help_alone,"
        " time.process_time())"
    )
    loaded, help_alone, both = done.stdout.splitlines()[-1].split()
    assert loaded == "set()" and float(help_alone) < 1 and float(both) < 2


def test_light_commands_import_no_large_library(tmp_path):
    """All of them in one process: a library that one of them imports stays in sys.modules."""
    commands = [["--help"], ["--schema"], ["presets"], ["tasks", "list"]]
    for name in COMMANDS:
        commands += [[*name.split(), "--help"], [*name.split(), "--schema"]]
    for kind in ("workspace", "jobs"):
        commands.append([kind, "list", "--workspace", str(tmp_path)])
    code = (
        f"import contextlib, sys; from vocadapt.cli import main\nfor command in {commands!r}:\n"
        "    with contextlib.suppress(SystemExit): main(command)\n"
        "print({'defusedxml', 'pandas', 'pyarrow', 'torch', 'transformers'} & set(sys.modules))"
    )
    assert run_python(code).stdout.splitlines()[-1] == "set()"


def test_numbers_are_shown_to_three_digits():
    shown = [
        format_number(value)
        for value in (0.123456, 12.3456, 1234.5, 1234567, True, None, math.nan, "x", 0.0)
    ]
    assert shown == ["0.123", "12.3", "1,234", "1,234,567", "yes", "–", "–", "x", "0"]


def test_tables_align_their_columns():
    assert (
        format_table(("name", "n"), [("a", 1), ("bb", 1000)])
        == "name      n\na         1\nbb    1,000"
    )
    assert format_table(("name",), []) == "name"
    assert format_facts({"a": 1, "long": 0.5}) == "a     1\nlong  0.5"
