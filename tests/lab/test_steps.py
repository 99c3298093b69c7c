import json
import shlex
from dataclasses import replace
from importlib import import_module

import numpy as np
import pytest

from tests.material.cases import check_each
from tests.material.input_errors import raises_input_error
from tests.material.lab import KNOWN, NEW, QUICK, write_text
from vocadapt.cli.parser import Options, Parser
from vocadapt.cli.run import COMMANDS, find_command, load_command
from vocadapt.errors import Canceled, InputError
from vocadapt.lab.experiments import STEPS
from vocadapt.lab.inputs.alignments import load_score_lines, load_table
from vocadapt.lab.inputs.corpora import build_counts_path, load_or_count_words, read_corpus
from vocadapt.lab.steps.adapt import AdaptStep
from vocadapt.lab.steps.alignment import RANKS, AlignmentStep, load_evaluation, save_evaluation
from vocadapt.lab.steps.command_lines import build_command
from vocadapt.lab.steps.contextual import ContextualStep
from vocadapt.lab.steps.continue_pretraining import ContinuePretrainingStep
from vocadapt.lab.steps.convert import ConvertStep
from vocadapt.lab.steps.corpus import CorpusStep
from vocadapt.lab.steps.finetune import FinetuneStep
from vocadapt.lab.steps.import_vectors import ImportVectorsStep
from vocadapt.lab.steps.packs import ApplyPackStep, MakePackStep, RemovePackStep
from vocadapt.lab.steps.projection import ProjectionStep
from vocadapt.lab.steps.run import run_step
from vocadapt.lab.steps.step import Spec, register_step
from vocadapt.lab.steps.vectors import VectorsStep
from vocadapt.lab.workspace.manifest import Manifest
from vocadapt.lab.workspace.workspace import Artifact, Workspace, open_artifact
from vocadapt.models.contextual.occurrences import ContextualSettings
from vocadapt.models.language_model import open_model
from vocadapt.presets import PRESETS, get_preset
from vocadapt.recipe import Recipe
from vocadapt.spaces.alignment.alignment import Alignment, AlignmentSettings, AnchorFilter
from vocadapt.spaces.alignment.anchors import Anchors
from vocadapt.spaces.alignment.cross_validation import HeldOutQuality
from vocadapt.spaces.io.storage import load_space
from vocadapt.spaces.projection.methods import ProjectionSettings
from vocadapt.spaces.projection.token_choice import TokenChoice
from vocadapt.spaces.word2vec.trainer import Word2VecSettings
from vocadapt.system.cores import count_cores
from vocadapt.system.footprint import Footprint
from vocadapt.text.corpus import CorpusSettings
from vocadapt.text.words import Splitter
from vocadapt.training.finetune.settings import training_preset
from vocadapt.training.masked.continued import ContinuedSettings
from vocadapt.training.masked.settings import pretraining_preset
from vocadapt.ui.jobs.results import PLACES
from vocadapt.ui.state.pages import PARTS
from vocadapt.vocabulary.initializers.initialize import InitializerSettings


@pytest.fixture(scope="module")
def vectors(vectors):
    return open_artifact(vectors)


def test_a_step_is_registered_once_under_its_own_name_with_its_own_settings():
    assert all(step.name == name for name, step in STEPS.items())
    with raises_input_error("taken-name", "corpus"):
        register_step(STEPS["corpus"])
    with raises_input_error("taken-settings", "corpus"):
        register_step(replace(STEPS["corpus"], name="another"))


def test_a_step_its_settings_and_its_module_have_one_name():
    for name, step in STEPS.items():
        words = name.split("-")
        assert step.settings.__name__ == "".join(map(str.capitalize, words)) + "Step"
        module = step.settings.__module__.rpartition(".")[2]
        assert module in ("_".join(words), "step", "packs"), name


def test_a_step_names_a_command_and_a_part_that_exist():
    assert all(" ".join(step.command) in COMMANDS for step in STEPS.values())
    assert set(PLACES) <= set(STEPS)
    assert {place.part for place in PLACES.values()} <= set(PARTS)
    assert {step for part in PARTS.values() for step in part.steps} <= set(STEPS)


def test_vectors_are_trained_in_the_models_words_and_width(vectors):
    space = load_space(vectors.folder)
    assert space.dim == 16
    assert set(space.words) == {*KNOWN, *NEW, "."}
    numbers = dict(vectors.manifest.numbers)
    assert 0 < numbers.pop("training_seconds") < vectors.manifest.seconds
    assert numbers == {
        "words": 39,
        "dim": 16,
        "occurrences": 3300,
        "new_words": 5,
        "workers": 1,
        "left_out": {},
        "trainer": "gensim",
        "epochs": 1,
        "beyond_memory": 0,
    }


def test_the_manifest_is_complete(vectors, text, tiny_bert):
    manifest = vectors.manifest
    assert (manifest.kind, manifest.name, manifest.seed) == ("vectors", "v", 1)
    assert manifest.settings["word2vec"]["epochs"] == 1
    assert manifest.inputs["text"].paths == (str(text),)
    assert manifest.inputs["model"].paths == (str(tiny_bert),)
    assert {"python", "vocadapt", "gensim", "numpy"} <= set(manifest.versions)
    assert manifest.seconds > 0
    assert manifest.command.startswith("python -m vocadapt vectors train")


def test_one_worker_gives_the_same_vectors_again(vectors, text, tiny_bert, tmp_path):
    np.random.seed(77)  # noqa: NPY002 - disturbed on purpose
    again = run_step(
        Spec(VectorsStep(word2vec=QUICK), {"text": text, "model": tiny_bert}), tmp_path / "again"
    )
    assert (again.folder / "vectors.safetensors").read_bytes() == (
        vectors.folder / "vectors.safetensors"
    ).read_bytes()


def mean_over_folds(anchors, rank):
    hits = {}
    for anchor in anchors:
        hits.setdefault(anchor.fold, []).append(getattr(anchor, rank) < 5)
    return np.mean([np.mean(found) for found in hits.values()])


def test_an_evaluation_whose_anchors_lack_a_rank_is_damaged(tmp_path):
    (tmp_path / "heldout.json").write_text('{"alignments": []}')
    lines = "word\tfold\tcosine\trandom_cosine\trank\nheart\t0\t0.5\t0.1\t3\n"
    (tmp_path / "anchors.tsv").write_text(lines)
    with raises_input_error("no-evaluation", "anchors.tsv"):
        load_evaluation(tmp_path)


def test_an_anchor_that_looks_like_a_formula_is_escaped_in_its_file_and_read_back(tmp_path):
    words = ("=1+1", "'-", "\ufeff@x", 'a"b', "heart")
    rows = np.arange(len(words))
    values = np.full(len(words), 0.5, dtype=np.float32)
    quality = HeldOutQuality(
        AlignmentSettings("ridge"),
        Anchors(words, rows, rows),
        rows % 2,
        *[values] * 3,
        {name: rows for name in RANKS.values()},
        dict.fromkeys(RANKS.values(), 9),
        1.0,
    )
    save_evaluation([quality], tmp_path)
    assert [anchor.word for anchor in load_evaluation(tmp_path).anchors] == list(words)
    lines = (tmp_path / "anchors.tsv").read_text(encoding="utf-8").splitlines()[1:]
    assert [line[0] for line in lines] == ["'", "'", "'", '"', "h"]


def test_the_table_of_an_alignment_is_read_without_its_anchors(tmp_path):
    with raises_input_error("no-evaluation", "heldout.json"):
        load_table(tmp_path)
    table = tmp_path / "heldout.json"
    held_out = {"cosine": 0.5, "folds": 3, "verdict": "chance"}
    scores = {"p@1": 0.1, "p@5": 0.3, "p@10": 0.4, "chance@5": 0.01, "candidates": 500}
    held_out |= {**scores, "all_pieces": scores, "csls": {**scores, "all_pieces": scores}}
    line = {"method": "ridge", "settings": {"method": "ridge"}, "anchors": 500, "seconds": 1.0}
    table.write_text(json.dumps({"alignments": [{**line, "held_out": held_out}]}))
    (found,) = load_table(tmp_path)
    assert found.settings == AlignmentSettings("ridge") and found.held_out.csls.all_pieces.p5 == 0.3
    assert found.at_chance and found.held_out.stacked is None
    table.write_text(json.dumps({"alignments": [line]}))
    with raises_input_error("no-evaluation", "heldout.json"):
        load_table(tmp_path)
    table.write_text('{"other": []}')
    assert load_score_lines([Artifact(tmp_path, Manifest("alignments", "a", {}), "")]) == []


def test_an_alignment_artifact_has_the_matrix_the_table_and_the_anchors(
    vectors, tiny_bert, tmp_path
):
    step = AlignmentStep(AlignmentSettings("ridge"), folds=3, compare=True)
    made = run_step(Spec(step, {"vectors": vectors.folder, "model": tiny_bert}), tmp_path / "a")
    assert Alignment.load(made.folder).settings == AlignmentSettings("ridge")
    judged = load_evaluation(made.folder)
    assert judged.alignments[0].method == "ridge"
    assert {row.method for row in judged.alignments} >= {"least-squares", "identity", "random"}
    assert sum(row.best for row in judged.alignments) == 1
    assert judged.alignments[0].against_first is None
    assert judged.alignments[1].against_first.folds == 3
    assert len(judged.anchors) == made.manifest.numbers["anchors"] == 34
    assert {anchor.word for anchor in judged.anchors} == {*KNOWN, "."}
    held = judged.alignments[0].held_out
    # P@5 is the mean over folds; the ranks of the anchors give the same.
    assert mean_over_folds(judged.anchors, "rank") == pytest.approx(held.p5)
    assert mean_over_folds(judged.anchors, "csls_rank") == pytest.approx(held.csls.p5)
    assert mean_over_folds(judged.anchors, "all_rank") == pytest.approx(held.all_pieces.p5)
    all_csls = mean_over_folds(judged.anchors, "csls_all_rank")
    assert all_csls == pytest.approx(held.csls.all_pieces.p5)
    assert made.manifest.numbers["best"]["method"]
    assert made.manifest.numbers["verdict"] == "chance"


@pytest.mark.parametrize("given", ["vectors", "text"])
def test_a_model_is_adapted_certified_and_keeps_its_recipe(
    vectors, text, tiny_bert, tmp_path, given
):
    recipe = replace(PRESETS["green-bert"], vectors=QUICK)
    source = {"vectors": vectors.folder} if given == "vectors" else {"text": text}
    made = run_step(Spec(AdaptStep(recipe), {"model": tiny_bert, **source}), tmp_path / "m")
    assert made.manifest.numbers["added"] == 5
    assert made.manifest.numbers["certificate"] is True
    record = json.loads((made.folder / "vocadapt.json").read_text())
    assert record["certificate"]["passed"] is True
    assert set(NEW) <= set(open_model(made.folder).vocabulary.tokens)
    assert (made.folder / "recipe.toml").is_file()


def test_departures_from_the_exact_word_rule_are_counted_on_the_text_behind_the_vectors(
    tiny_bert, tmp_path
):
    text = tmp_path / "symbols.txt"
    text.write_text(
        write_text(tmp_path / "plain.txt").read_text(encoding="utf-8") + "sepsis® and sepsis_x\n",
        encoding="utf-8",
    )
    inputs = {"text": text, "model": tiny_bert}
    vectors = run_step(Spec(VectorsStep(word2vec=QUICK), inputs), tmp_path / "v")
    step = AdaptStep(PRESETS["green-bert-random"], certify=False)
    spec = Spec(step, {"vectors": vectors.folder, "model": tiny_bert})
    made = run_step(spec, tmp_path / "m")
    # sepsis does not fire beside the underscore; sepsis® is a word.
    assert made.manifest.numbers["departures"] == 1
    text.write_text("sepsis_x again, and this was not trained on\n", encoding="utf-8")
    edited = run_step(spec, tmp_path / "edited")
    assert "departures" not in edited.manifest.numbers
    why = edited.manifest.numbers["departures_not_counted"]
    assert why in (edited.folder / "README.md").read_text(encoding="utf-8")
    record = json.loads((edited.folder / "vocadapt.json").read_text())
    assert list(record["departures"]) == ["departures_not_counted"]
    assert "departures_not_counted" not in made.manifest.numbers
    text.unlink()
    assert "departures" not in run_step(spec, tmp_path / "gone").manifest.numbers


def test_a_text_that_fails_while_departures_are_counted_does_not_fail_the_model(
    vectors, tiny_bert, tmp_path, monkeypatch
):
    def unreadable(*arguments):
        raise InputError("not UTF-8")

    monkeypatch.setattr("vocadapt.lab.steps.adapt.count_departures", unreadable)
    step = AdaptStep(PRESETS["green-bert-random"], certify=False)
    made = run_step(Spec(step, {"vectors": vectors.folder, "model": tiny_bert}), tmp_path / "m")
    assert made.manifest.numbers["added"] == 5 and "departures" not in made.manifest.numbers
    assert made.manifest.numbers["departures_not_counted"]


def test_the_words_file_lies_in_the_draft_and_is_gone_in_the_end(
    text, tiny_bert, tmp_path, monkeypatch
):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "never-used"))
    inputs = {"text": text, "model": tiny_bert}
    recipe = replace(PRESETS["green-bert-random"], vectors=replace(QUICK, workers=0))
    made = run_step(Spec(VectorsStep(word2vec=QUICK), inputs), tmp_path / "v")
    names = {"manifest.json", "vectors.safetensors", "words.txt"}
    assert {path.name for path in made.folder.iterdir()} == names
    adapted = run_step(Spec(AdaptStep(recipe, certify=False), inputs), tmp_path / "m")
    left = {path.name for path in adapted.folder.rglob("*")}
    assert not [name for name in left if name.startswith("vocadapt-") or name == "sentences.txt"]
    assert adapted.manifest.numbers["workers"] == count_cores()


def test_cased_words_are_folded_before_they_are_looked_up_in_the_text(text, tiny_bert, tmp_path):
    file = tmp_path / "foreign.vec"
    file.write_text("3 2\nWarfarin 1 2\nParis 5 6\ndrug 7 8\n")
    inputs = {"file": file, "model": tiny_bert, "text": text}
    made = run_step(Spec(ImportVectorsStep(fold=True), inputs), tmp_path / "v")
    assert load_space(made.folder).words == ("warfarin", "drug")
    assert any(note.startswith("2 of 3 ") for note in made.manifest.numbers["notes"])
    file.write_text("1 2\nParis 5 6\n")
    with raises_input_error("no-word-of-text", "1 words"):
        run_step(Spec(ImportVectorsStep(fold=True), inputs), tmp_path / "none")


@pytest.mark.parametrize("given", ["vectors", "text"])
def test_a_model_from_an_alignment_at_chance_is_marked(vectors, text, tiny_bert, tmp_path, given):
    step = AdaptStep(replace(PRESETS["green-bert"], vectors=QUICK), certify=False)
    source = {"vectors": vectors.folder} if given == "vectors" else {"text": text}
    numbers = run_step(Spec(step, {**source, "model": tiny_bert}), tmp_path / "m").manifest.numbers
    assert numbers["verdict"] == "chance"  # the tiny model's rows are random
    assert 0 <= numbers["p@5"] <= 1 and numbers["chance@5"] == pytest.approx(5 / 34)


def test_what_others_put_into_an_artifact_is_never_overwritten(vectors, text, tiny_bert, tmp_path):
    spec = Spec(VectorsStep(word2vec=QUICK), {"text": text, "model": tiny_bert})
    made = run_step(spec, tmp_path / "v")
    run_step(spec, tmp_path / "v", overwrite=True)
    (made.folder / "notes.txt").write_text("mine")
    with raises_input_error("foreign-files", "notes.txt"):
        run_step(spec, tmp_path / "v", overwrite=True)
    assert (made.folder / "notes.txt").read_text() == "mine"


def test_adapting_needs_exactly_one_source(vectors, text, tiny_bert, tmp_path):
    both = {"vectors": vectors.folder, "text": text}
    for code, inputs in (("missing-source", {}), ("two-sources", both)):
        with raises_input_error(code):
            run_step(Spec(AdaptStep(), {"model": tiny_bert, **inputs}), tmp_path / "m")
    assert list(tmp_path.iterdir()) == []


def test_vectors_are_imported_limited_folded_and_filtered(text, tiny_bert, tmp_path):
    file = tmp_path / "foreign.vec"
    file.write_text("4 2\nAspirin 1 2\naspirin 3 4\nParis 5 6\ndrug 7 8\n")
    plain = run_step(Spec(ImportVectorsStep(limit=2), {"file": file}), tmp_path / "plain")
    assert load_space(plain.folder).words == ("Aspirin", "aspirin")
    folded = run_step(
        Spec(ImportVectorsStep(fold=True), {"file": file, "model": tiny_bert}), tmp_path / "folded"
    )
    assert load_space(folded.folder).words == ("aspirin", "paris", "drug")
    assert folded.manifest.numbers["notes"]
    filtered = run_step(
        Spec(ImportVectorsStep(), {"file": file, "model": tiny_bert, "text": text}),
        tmp_path / "filtered",
    )
    assert load_space(filtered.folder).words == ("aspirin", "drug")
    with raises_input_error("no-model"):
        run_step(Spec(ImportVectorsStep(fold=True), {"file": file}), tmp_path / "x")


def test_a_corpus_refers_to_its_files_or_copies_them(text, tiny_bert, workspace):
    by_name = run_step(
        Spec(CorpusStep(), {"text": text, "model": tiny_bert}), workspace.folder("corpora", "a")
    )
    copied = run_step(Spec(CorpusStep(copy=True), {"text": text}), workspace.folder("corpora", "b"))
    assert read_corpus([by_name.folder]).files == (text,)
    assert read_corpus([copied.folder]).files == (copied.folder / "text" / "0000-text.txt",)
    assert list(read_corpus([copied.folder])) == list(read_corpus([text]))
    assert by_name.manifest.numbers == {
        "files": 1,
        "bytes": text.stat().st_size,
        "words": 3300,
        "distinct": 39,
        "lines": 300,
        "identical_lines": 0,
    }


def test_a_corpus_brings_its_own_settings(text, tmp_path):
    settings = CorpusSettings(sample=0.1)
    made = run_step(Spec(CorpusStep(corpus=settings), {"text": text}), tmp_path / "c")
    assert read_corpus([made.folder]).settings == settings
    with raises_input_error("own-settings"):
        read_corpus([made.folder], CorpusSettings(sample=0.5))
    with raises_input_error("own-settings"):
        read_corpus([made.folder, text])


def test_a_name_that_is_too_long_and_a_negative_seed_are_reported(text, tiny_bert, tmp_path):
    with raises_input_error("missing-file"):
        read_corpus(["x" * 5000])
    with raises_input_error("out-of-range", "seed"):
        CorpusSettings(seed=-1)
    for step, role in ((VectorsStep(), "text"), (AlignmentStep(), "vectors")):
        for long in ("x" * 300, "x/" * 3000, "nothing"):
            with pytest.raises(InputError):
                run_step(Spec(step, {role: long, "model": tiny_bert}), tmp_path / "v")
    assert list(tmp_path.iterdir()) == []


def test_counts_are_kept_by_content(text, tmp_path):
    corpus, splitter = read_corpus([text]), Splitter.bert()
    counts = load_or_count_words(tmp_path, corpus, splitter)
    kept = build_counts_path(tmp_path, corpus, splitter)
    kept.write_text(kept.read_text().replace("aspirin", "aspirim"))
    assert "aspirim" in load_or_count_words(tmp_path, corpus, splitter).counts  # read, not counted
    assert "aspirin" in counts.counts
    other = write_text(tmp_path / "other.txt", seed=2)
    assert build_counts_path(tmp_path, read_corpus([other]), splitter) != kept
    assert build_counts_path(tmp_path, corpus, Splitter.bert(lowercase=False)) != kept
    assert [path.suffix for path in (tmp_path / "counts").iterdir()] == [".tsv"]


def test_a_step_that_fails_or_is_canceled_leaves_nothing(text, tiny_bert, tmp_path):
    def stop(fraction, message=""):
        raise Canceled

    spec = Spec(VectorsStep(word2vec=QUICK), {"text": text, "model": tiny_bert})
    with pytest.raises(Canceled):
        run_step(spec, tmp_path / "w" / "v", stop)
    impossible = replace(QUICK, min_count=10_000)
    with pytest.raises(InputError):
        run_step(replace(spec, settings=VectorsStep(word2vec=impossible)), tmp_path / "w" / "v")
    assert list(tmp_path.iterdir()) == []


def test_a_text_that_changes_during_the_step_makes_the_result_stale(tiny_bert, tmp_path):
    text, workspace = write_text(tmp_path / "text.txt"), Workspace(tmp_path / "w")

    def edit(fraction, message=""):
        text.write_text("another text")

    spec = Spec(CorpusStep(), {"text": text, "model": tiny_bert})
    made = run_step(spec, workspace.folder("corpora", "c"), edit)
    assert made.explain_staleness(workspace) == ["text.txt was changed since"]


SPECS = [
    Spec(
        CorpusStep(corpus=CorpusSettings("body", 5, 0.5, 7, True)),
        {"text": ["a.txt", "b.txt"], "model": "m"},
    ),
    Spec(VectorsStep(), {"text": ["a b.txt"], "model": "m"}),
    Spec(
        VectorsStep(
            CorpusSettings(seed=3, sample=0.5),
            Word2VecSettings(7, 2, 3, 4, True, 0.05, 6, 1e-4, 9, 1),
        ),
        {"text": ["a.txt", "b.txt"], "model": "m"},
        offline=True,
    ),
    Spec(
        VectorsStep(word2vec=Word2VecSettings(dim=8)),
        {"text": ["a.txt"], "model": "vocab.txt"},
        casing="uncased",
    ),
    Spec(VectorsStep(resample=3), {"text": ["a.txt"], "model": "m"}),
    Spec(ContextualStep(), {"text": ["a.txt"], "model": "m"}),
    Spec(
        ContextualStep(
            CorpusSettings("b", 2, 0.5, 3, True),
            ContextualSettings(0, 7, 64, 8, "tokens", 2, 100, 9),
        ),
        {"text": ["a.txt", "b c.txt"], "model": "m", "words": "w.txt"},
        offline=True,
    ),
    Spec(ImportVectorsStep(fold=True), {"file": "x.vec", "model": "vocab.txt"}, casing="cased"),
    Spec(ImportVectorsStep(), {"file": "x.vec"}),
    Spec(
        ImportVectorsStep(10, True, "mean", CorpusSettings(field="x")),
        {"file": "f", "words": "w", "model": "m", "text": ["a", "b"]},
    ),
    Spec(AlignmentStep(), {"vectors": "v", "model": "m"}),
    Spec(
        AlignmentStep(
            AlignmentSettings(
                "mlp", True, True, 0.5, "reliability", AnchorFilter(True, True, True, 4), 8
            ),
            5,
            True,
        ),
        {"vectors": "v", "model": "m"},
    ),
    Spec(AdaptStep(), {"model": "m", "vectors": "v"}),
    Spec(
        AdaptStep(PRESETS["green-bert-replace"], CorpusSettings(seed=4), False),
        {"model": "m", "text": ["a", "b"]},
    ),
    Spec(
        FinetuneStep(
            training_preset("exbert", epochs=2, with_dev=True, ungrouped=True),
            "both",
            (3, 4),
            "ner",
            "token",
            limit=9,
        ),
        {"model": "m", "train": "a.txt", "test": "b.txt"},
    ),
    Spec(AdaptStep(PRESETS["exbert-s3"]), {"model": "m", "text": ["a"]}),
    Spec(
        ContinuePretrainingStep(
            CorpusSettings(sample=0.05),
            ContinuedSettings(
                "extension", True, keep_minutes=5.0, training=pretraining_preset("exbert", lr=2e-4)
            ),
        ),
        {"model": "m", "text": ["a", "b"]},
    ),
    *(
        Spec(
            ContinuePretrainingStep(
                pretraining=ContinuedSettings(
                    "whole", training=pretraining_preset("exbert", **budget)
                )
            ),
            {"model": "m", "text": ["a"]},
        )
        for budget in ({"hours": 1.5}, {"tokens": 5_000_000}, {"epochs": 1.0})
    ),
    Spec(ConvertStep(), {"model": "m"}, offline=True),
    Spec(MakePackStep("my words"), {"model": "m", "adapted": "a"}),
    Spec(ApplyPackStep(certify=False), {"model": "m", "pack": "p"}),
    Spec(RemovePackStep(), {"model": "m"}, offline=True),
    Spec(ProjectionStep(), {"space": "m"}),
    Spec(
        ProjectionStep(TokenChoice(around="--x $y$ <s>", search="-a")),
        {"space": "m", "other": "n"},
        offline=True,
    ),
    Spec(
        ProjectionStep(
            TokenChoice(7, 2, True, True, True, "count", 3, 9, "x", "y", 5),
            ProjectionSettings(
                "umap",
                iterations=300,
                neighbors=6,
                min_dist=0.3,
                metric="euclidean",
                pca=20,
                seed=8,
            ),
        ),
        {"space": "m"},
    ),
    Spec(
        ProjectionStep(projection=ProjectionSettings("tsne", 9.5, 4.0, 300, 70.0, seed=8)),
        {"space": "m"},
    ),
]


@check_each("spec", SPECS, lambda spec: spec.step)
def test_a_spec_survives_json(spec):
    assert Spec.from_json(spec.to_json()) == spec


@pytest.mark.parametrize(
    "spec", [spec for spec in SPECS if spec.step != "corpus"], ids=lambda spec: spec.step
)
def test_the_command_line_of_a_spec_means_the_spec(spec, tmp_path, monkeypatch):
    """The command shown for a step, parsed by that command, asks for the same step."""
    asked = []
    name, rest = find_command(shlex.split(build_command(spec, tmp_path / "out"))[3:])
    command = load_command(name)
    monkeypatch.setattr(
        import_module(command.run.__module__),
        "write_artifact",
        lambda spec, options: asked.append((spec, options.out)) or 1 / 0,
    )
    parser = Parser(name, "")
    command.add_options(parser)
    with pytest.raises(ZeroDivisionError):
        command.run(Options(**vars(parser.parse(rest))))
    meant = spec.declaration.express(spec, tmp_path / "out")
    assert asked == [(meant, str(tmp_path / "out"))]


def test_a_recipe_of_the_user_is_repeated_from_the_file_beside_the_model(
    vectors, tiny_bert, tmp_path
):
    recipe = Recipe("mine", initializer=InitializerSettings("random-normal", 3))
    spec = Spec(AdaptStep(recipe, certify=False), {"model": tiny_bert, "vectors": vectors.folder})
    made = run_step(spec, tmp_path / "m")
    assert f"--recipe {tmp_path / 'm' / 'recipe.toml'} --no-certificate" in made.manifest.command


VECTORS = {"step": "vectors", "inputs": {"text": "t", "model": "m"}}


@pytest.mark.parametrize(
    ("values", "code", "value"),
    [
        ({"step": "fly"}, "unknown-choice", "'fly'"),
        ({"step": "vectors", "inputs": {"model": "m"}}, "missing-input", "text"),
        (VECTORS | {"inputs": {"text": "t", "model": ["a", "b"]}}, "several-inputs", "model"),
        (VECTORS | {"inputs": {"text": "t", "model": "m", "moon": "x"}}, "unknown-role", "'moon'"),
        (VECTORS | {"settings": {"word2vec": {"epoch": 1}}}, "unknown-setting", "'epoch'"),
        (VECTORS | {"settings": {"word2vec": {"epochs": "1"}}}, "wrong-type", "int"),
        (VECTORS | {"settings": []}, "no-tables", "settings"),
        (VECTORS | {"shell": "rm"}, "unknown-entry", "'shell'"),
        (VECTORS | {"casing": "camel"}, "unknown-choice", "'camel'"),
        (
            {"step": "import-vectors", "inputs": {"file": "f"}, "casing": "cased"},
            "unneeded-casing",
            "vocab.txt",
        ),
        ({}, "no-step", "step"),
    ],
)
def test_a_bad_spec_says_what_is_wrong(values, code, value):
    with raises_input_error(code, value):
        Spec.from_dict(values)


@pytest.mark.parametrize("above", [False, True])
def test_a_result_never_takes_the_place_of_what_it_is_made_from(tmp_path, tiny_bert, above):
    place = tmp_path / "lib" / "model"
    recipe = get_preset("reduced-last-10")
    made = run_step(Spec(AdaptStep(recipe, certify=False), {"model": tiny_bert}), place)
    again = Spec(AdaptStep(recipe, certify=False), {"model": made.folder})
    with raises_input_error("output-is-input", "model"):
        run_step(again, place.parent if above else place, overwrite=True)
    assert (place / "model.safetensors").is_file()


def test_a_step_measures_its_energy_with_the_rates_of_its_workspace(vectors, tiny_bert, workspace):
    workspace.root.mkdir()
    rates = workspace.root / "footprint.toml"
    rates.write_text('country = "SWE"\nwatts_per_core = 100\npue = 2\n')
    step = AdaptStep(PRESETS["green-bert-random"], certify=False)
    spec = Spec(step, {"model": tiny_bert, "vectors": vectors.folder})
    made = run_step(spec, workspace.folder("models", "m"))
    footprint = Footprint.from_dict(made.manifest.footprint)
    assert footprint is not None and (footprint.country, footprint.pue) == ("SWE", 2.0)
    assert 0 < footprint.seconds <= made.manifest.seconds
    assert footprint.kwh == pytest.approx(footprint.watts * footprint.seconds * 2 / 3.6e6)
    assert footprint.kg_co2 == pytest.approx(0.041 * footprint.kwh)
    card = (made.folder / "README.md").read_text(encoding="utf-8")
    assert "(SWE)" in card
    rates.write_text('country = "Atlantis"\n')
    with raises_input_error("unknown-choice", "'Atlantis'"):
        run_step(spec, workspace.folder("models", "n"))


def test_a_model_and_its_base_must_differ_also_by_another_path(tmp_path, tiny_bert):
    link = tmp_path / "link"
    link.symlink_to(tiny_bert)
    spec = Spec(MakePackStep(), {"model": str(tiny_bert), "adapted": str(link)})
    with raises_input_error("same-inputs", "base model", "adapted model"):
        run_step(spec, tmp_path / "pack")
    assert not (tmp_path / "pack").exists()
