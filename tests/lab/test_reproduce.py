"""Reproducing published tables: what is found, computed, compared, and not started."""

import json
from pathlib import Path

import pytest

from tests.material.input_errors import raises_input_error
from tests.material.tiny_bert import SPECIAL
from vocadapt.cli import main
from vocadapt.lab.experiments.published.imports import fill_imported, import_values
from vocadapt.lab.experiments.published.materials import Materials, is_name_of
from vocadapt.lab.experiments.published.measures import MEASURES, find_missing
from vocadapt.lab.experiments.published.plan import plan_table
from vocadapt.lab.experiments.published.reproduce import compare_cells, reproduce
from vocadapt.lab.experiments.published.trainings import (
    METHOD,
    SCALES,
    Scale,
    plan_trainings,
    score_trainings,
    write_file,
)
from vocadapt.lab.experiments.studies.grid import expand
from vocadapt.lab.experiments.studies.study import StudyStep
from vocadapt.lab.experiments.studies.study_file import read_study
from vocadapt.lab.workspace.manifest import Manifest
from vocadapt.lab.workspace.workspace import Workspace
from vocadapt.models.language_model import open_model
from vocadapt.presets import get_preset
from vocadapt.published import base_models
from vocadapt.published.base_models import digest_tokens, find_contradiction
from vocadapt.published.comparison import Score
from vocadapt.published.reader import find_table, load_tables
from vocadapt.training.finetune.settings import FINETUNING_PRESETS

FULLTEXT = "microsoft/BiomedNLP-PubMedBERT-base-uncased-abstract-fulltext"
TINY = SCALES["tiny"]
SENTENCE = "patients\tO\nwith\tO\nleukemia\tB-Disease\nin\tO\nindia\tO\n\n"


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A folder of data: two vocabularies, a text, and two benchmarks of unknown version."""
    folder = tmp_path / "data"
    words = {
        "bert-base-uncased": ["leukemia", "hyper", "##tension", "the", "of"],
        "pubmedbert-abstract-fulltext": ["leukemia", "hypertension", "the"],
    }
    (folder / "vocab").mkdir(parents=True)
    for name, own in words.items():
        content = "".join(f"{token}\n" for token in (*SPECIAL, *own))
        (folder / "vocab" / f"{name}.txt").write_text(content, encoding="utf-8")
    (folder / "text").mkdir()
    (folder / "text" / "abstracts.txt").write_text("the hypertension of\n" * 5, encoding="utf-8")
    for name, sentences in {"NCBI-disease": 8, "BC5CDR-disease": 12}.items():
        (folder / "ner" / name).mkdir(parents=True)
        for split in ("train", "devel", "test"):
            content = SENTENCE * sentences
            (folder / "ner" / name / f"{split}.tsv").write_text(content, encoding="utf-8")
    return folder


@pytest.fixture
def known(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The vocabularies of the folder of data are those of the published models."""
    names = {"bert-base-uncased": "bert-base-uncased", FULLTEXT: "pubmedbert-abstract-fulltext"}
    for name, file in names.items():
        digest = digest_tokens(open_model(data / "vocab" / f"{file}.txt").vocabulary.tokens)
        monkeypatch.setitem(base_models.VOCABULARIES, name.rpartition("/")[2], digest)


def materials(folder: Path, model: Path | str = "") -> Materials:
    return Materials(Workspace(folder.parent / "w"), (folder,), stand_in=str(model))


def run(name: str, given: Materials, scale: Scale = TINY):
    assert given.workspace is not None
    return reproduce(find_table(name), given, scale, given.workspace.root / "studies" / "s")


def test_every_table_is_computed_or_says_what_it_needs() -> None:
    for table in load_tables().values():
        assert table.method in {*MEASURES, METHOD, ""}, table.id
        assert bool(table.method) != bool(table.needs), table.id
        if table.method == METHOD:
            assert table.settings in FINETUNING_PRESETS, table.id
            needs = {cell.facts.recipe for cell in table.cells if cell.facts.recipe}
            transfers = any("target" in get_preset(one).needs for one in needs)
            assert bool(table.target) == transfers, table.id


@pytest.mark.parametrize(
    ("file", "model", "same"),
    [
        ("pubmedbert-abstract-fulltext", FULLTEXT, True),
        ("pubmedbert-abstract", FULLTEXT, False),
        ("pubmedbert-abstract-fulltext", FULLTEXT.removesuffix("-fulltext"), False),
        ("bert-base-uncased", "bert-base-uncased", True),
        ("bert-base-uncased", "bert-base-cased", False),
        ("uncased", "bert-base-uncased", False),
        ("pubmedbert-abstract-fulltext", "PubMedBERT; which of the two is not stated", True),
    ],
)
def test_a_file_is_named_after_a_model(file: str, model: str, same: bool) -> None:
    assert is_name_of(file, model) == same


def test_common_tokens_are_compared_where_both_vocabularies_are_there(
    data: Path, known: None
) -> None:
    found = run("fast-3.1", materials(data)).comparisons
    # 7 of the 10 tokens of the first vocabulary are in the second.
    one = found["BERT", "PubMedBERT-fulltext"]
    assert one.published == 40 and one.ours == pytest.approx(70) and one.is_comparable
    assert one.difference == pytest.approx(30)
    other = found["BERT", "BlueBERT"]
    assert other.ours is None and other.why.startswith("not available: the vocabulary of bluebert")


def test_a_vocabulary_is_recognized_by_its_content(data: Path, known: None) -> None:
    file = data / "vocab" / "bert-base-uncased.txt"
    assert find_contradiction("bert-base-uncased", open_model(file)) == ""
    assert find_contradiction("google/bert-base-uncased", open_model(file)) == ""
    other = "its vocabulary is different"
    assert find_contradiction(FULLTEXT, open_model(file)) == other
    assert find_contradiction("bionlp/bluebert", open_model(file)) is None
    # A file of another content is not taken for what it is named after.
    file.write_text("[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\nthe\n", encoding="utf-8")
    assert materials(data).find_vocabulary("bert-base-uncased") is None
    one = run("fast-3.1", materials(data)).comparisons["BERT", "BERT"]
    assert one.ours is None and one.why.startswith("not available: the vocabulary of bert-base")


def test_a_name_alone_is_not_compared(data: Path, known: None) -> None:
    (data / "vocab" / "bert-base-uncased.txt").rename(data / "vocab" / "bluebert.txt")
    (data / "vocab" / "scibert.txt").write_bytes((data / "vocab" / "bluebert.txt").read_bytes())
    found = run("fast-2.1", materials(data)).comparisons["hypertension", "SciBERT"]
    assert found.ours == "hyper-tension" and found.equal is None
    assert "only its name says that it is SciBERT" in found.why


def test_terms_are_tokenized_as_the_table_prints_them(data: Path, known: None) -> None:
    found = run("fast-2.1", materials(data)).comparisons
    assert found["hypertension", "BERT"].ours == "hyper-tension"
    assert found["hypertension", "BERT"].equal is True
    assert found["leukemia", "BERT"].ours == "✓"
    assert "which of the two is not stated" in found["hypertension", "PubMedBERT"].why
    assert found["hypertension", "SciBERT"].ours is None


def test_a_text_that_is_not_the_published_one_is_not_compared(data: Path, known: None) -> None:
    found = run("fast-6.10-totals", materials(data)).comparisons
    one = found["PubMed abstracts", "BERT"]
    assert one.ours == pytest.approx(20 / 1e6)  # the, hyper, ##tension, of: five times
    assert one.why.startswith("not comparable: data version") and one.difference is None
    more = found["PubMed abstracts", "BERT more than PubMedBERT-fulltext"]
    assert more.ours == pytest.approx(100 * (20 / 15 - 1))


def test_the_parameters_of_a_smaller_vocabulary(data: Path) -> None:
    found = run("fast-figure-3.1", materials(data)).comparisons["model size", "50 % removed"]
    assert found.ours == pytest.approx(-100 * 15261 * 768 / 109482240)
    assert found.is_comparable and abs(found.difference or 1) < 0.05


def test_words_inside_entities_are_counted(data: Path) -> None:
    found = run("poerner-ia", materials(data)).comparisons[
        "words ending in -ia", "inside a disease"
    ]
    assert found.ours == 50  # leukemia is a disease, india is not
    assert "data version" in found.why


def test_the_cards_of_the_tasks() -> None:
    table = find_table("fast-4.1")
    found = reproduce(table, Materials(), TINY, Path("unused")).comparisons
    assert found["MedNLI", "Domain"].equal and found["JNLPBA", "Domain"].equal
    assert found["MedNLI", "Metric"].ours == "accuracy"


def test_a_stand_in_is_measured_and_not_compared(data: Path, tiny_bert: Path) -> None:
    found = run("fast-3.2", materials(data, tiny_bert)).comparisons
    one = found["BERT", "BERT"]
    assert isinstance(one.ours, float) and one.difference is None
    assert one.why == "not comparable: base model: bert-base-uncased published, tiny-bert ours"
    assert found["BlueBERT", "BlueBERT"].why.startswith("not available: the weights of bluebert")


def test_a_model_is_what_the_user_says_unless_its_content_contradicts(
    data: Path, tiny_bert: Path
) -> None:
    with raises_input_error("another-model", "bert-base-uncased"):
        Materials(None, (data,), {"bert-base-uncased": str(tiny_bert)})
    # Nothing is known of the content of this one.
    blue = "bluebert_pubmed_uncased_L-12_H-768_A-12"
    named = Materials(None, (data,), {blue: str(tiny_bert)})
    found = reproduce(find_table("fast-3.3"), named, TINY, Path("unused")).comparisons
    one = found["BlueBERT", "BlueBERT"]
    assert one.difference == 0 and one.remark == f"taken to be {blue} as you stated"


def test_a_plan_agrees_with_what_is_computed(data: Path, known: None) -> None:
    given = materials(data)
    for name in ("fast-2.1", "fast-3.1", "fast-3.2", "fast-6.10-totals", "poerner-ia"):
        table = find_table(name)
        plan = plan_table(table, given, TINY, Path("unused"))
        assert plan.computable == run(name, given).computed, name
        assert len(find_missing(table, given)) == plan.cells - plan.computable


def test_the_tiny_scale_takes_the_smallest_task_and_two_variants(
    data: Path, tiny_bert: Path
) -> None:
    plan = plan_trainings(find_table("fast-6.4"), materials(data, tiny_bert), TINY)
    assert plan.study is not None
    assert [one.name for one in plan.study.variants] == [
        "tiny-bert-plain",
        "tiny-bert-reduced-last-25",
    ]
    assert [one.name for one in plan.study.tasks] == ["NCBI-disease"]
    assert plan.study.seeds == (1, 2, 3)
    assert plan.missing["JNLPBA", "BERT"].startswith("the benchmark bio-lm/JNLPBA")
    assert plan.missing["NCBI-disease", "last 50 %"] == "not trained at this scale"


def test_the_full_scale_has_the_seeds_and_settings_of_the_publication(
    data: Path, tiny_bert: Path
) -> None:
    plan = plan_trainings(find_table("fast-6.4"), materials(data, tiny_bert), SCALES["full"])
    assert plan.study is not None and plan.study.seeds == (142,)
    assert plan.study.settings == {"settings": "thesis"}
    assert len(plan.study.tasks) == 2 and len(plan.study.variants) == 13


def test_a_target_that_is_not_the_published_one_is_named(
    data: Path, tiny_bert: Path, known: None
) -> None:
    table = find_table("fast-6.6")
    published = plan_trainings(table, materials(data, tiny_bert), SCALES["full"])
    names = {one.variant.name: one.base_model for one in published.variants.values()}
    assert (
        names["tiny-bert-transfer-syntactic"] == "tiny-bert"
    )  # the vocabulary is the published one
    assert "tiny-bert-transfer-target" not in names  # its embeddings are not there
    other = Materials(None, (data,), stand_in=str(tiny_bert), target=str(tiny_bert))
    variants = plan_trainings(table, other, SCALES["full"]).variants
    assert variants["tiny-bert-transfer-target"].base_model == "tiny-bert, target tiny-bert"


def test_vectors_of_another_width_are_no_source_of_identity_embeddings(
    data: Path, tiny_bert: Path, tmp_path: Path
) -> None:
    vectors = tmp_path / "vectors"
    vectors.mkdir()
    Manifest("vectors", "vectors", {}, numbers={"dim": 99}).save(vectors)
    given = Materials(None, (data,), stand_in=str(tiny_bert), vectors=str(vectors))
    plan = plan_trainings(find_table("poerner-ablation"), given, TINY)
    assert list(plan.variants) == ["tiny-bert-green-bert", "tiny-bert-green-bert-random"]
    lack = plan.missing["NCBI-disease", "not aligned (W = 1)"]
    assert lack.startswith("word vectors of ") and lack.endswith(" dimensions")


def test_a_training_that_failed_says_why(data: Path, tiny_bert: Path, tmp_path: Path) -> None:
    given, table = materials(data, tiny_bert), find_table("fast-6.4")
    plan = plan_trainings(table, given, TINY)
    assert plan.study is not None
    grid = expand(plan.study, tmp_path / "s")
    place = ("NCBI-disease", "BERT")
    own = next(cell.step.name for cell in grid.cells if cell.variant == plan.cells[place][0])
    for name, why in ((own, "the disk is full"), ("another", "it has no result yet")):
        failures = [{"name": name, "problem": "the disk is full"}]
        found, _ = score_trainings(table, plan, given, tmp_path / "s", failures)
        assert found[place] == f"its training: {why}"


def test_tables_share_trainings(data: Path, tiny_bert: Path, tmp_path: Path) -> None:
    given = materials(data, tiny_bert)
    steps = []
    for name in ("fast-6.4", "fast-6.7"):
        plan = plan_trainings(find_table(name), given, TINY)
        assert plan.study is not None
        steps.append({cell.step.name for cell in expand(plan.study, tmp_path / "s").cells})
    assert len(steps[0] & steps[1]) == 3  # the plain model, three seeds


def test_a_table_that_takes_too_long_is_not_started(data: Path, tiny_bert: Path) -> None:
    given = materials(data, tiny_bert)
    found = run("fast-6.4", given, Scale("", 1, 2, (1,), {}, seconds=1))
    assert found.refusal == "needs less than 0.1 hours"
    assert found.computed == 0 and given.workspace and not given.workspace.root.exists()


def finish_cells(name: str, given: Materials, scores: dict[str, float], collapsed: int = 0) -> None:
    """Write the results of all trainings of a table: variant → F1, the same for each seed but for
    a hundredth. collapsed: whether those with an F1 of 0 are.
    """
    assert given.workspace is not None
    root = given.workspace.root / "studies" / "s"
    plan = plan_trainings(find_table(name), given, TINY)
    assert plan.study is not None
    for cell in expand(plan.study, root, workspace=given.workspace).cells:
        folder = cell.step.find_folder(root)
        folder.mkdir(parents=True)
        f1 = scores[cell.variant] + cell.seed / 100
        own = collapsed if scores[cell.variant] == 0 else 0
        numbers = {"mean": {"f1": f1}, "scorer": "entity-strict", "collapsed": own}
        Manifest("runs", cell.step.name, {}, numbers=numbers).save(folder)
        if cell.step.needs:
            model = cell.step.needs.find_folder(root)
            model.mkdir(parents=True, exist_ok=True)
            Manifest("models", model.name, {}).save(model)
    Manifest("studies", "s", {}).save(root, lists_files=False)


def test_scores_are_means_over_seeds_and_changes_are_against_the_plain_model(
    data: Path, tiny_bert: Path
) -> None:
    given = materials(data, tiny_bert)
    finish_cells("fast-6.4", given, {"tiny-bert-plain": 0.50, "tiny-bert-reduced-last-25": 0.45})
    found = run("fast-6.4", given).comparisons
    plain = found["NCBI-disease", "BERT"]
    assert plain.ours == pytest.approx(52) and plain.sd == pytest.approx(1) and plain.n == 3
    assert plain.why.startswith("not comparable: data version")
    assert found["NCBI-disease", "last 25 %"].ours == pytest.approx(-5)
    assert found["Mean (all)", "BERT"].why == "not available: 1 of 18 tasks are computed"


def test_collapsed_runs_are_shown_and_not_compared(data: Path, tiny_bert: Path) -> None:
    given = materials(data, tiny_bert)
    finish_cells("fast-6.4", given, {"tiny-bert-plain": 0.0, "tiny-bert-reduced-last-25": 0.4}, 1)
    found = run("fast-6.4", given)
    assert found.collapsed == 2 and found.comparable == 0
    one = found.comparisons["NCBI-disease", "BERT"]
    assert one.ours is not None and one.difference is None
    assert one.why == "not comparable: 3 runs collapsed"
    # Those of the model that a change is from count, too.
    change = found.comparisons["NCBI-disease", "last 25 %"]
    assert change.difference is None and change.why == "not comparable: 3 runs collapsed"


def test_a_mean_over_collapsed_runs_is_not_compared() -> None:
    table = find_table("fast-6.4")
    tasks = [row.name for row in table.rows if not row.mean_of]
    own = {(task, "BERT"): Score(0.5, 3, "", "test", "", "bert-base-uncased") for task in tasks}
    found = compare_cells(table, own, {(tasks[0], "BERT"): 2})["Mean (all)", "BERT"]
    assert found.ours == pytest.approx(50) and found.difference is None
    assert found.why == "not comparable: 2 runs collapsed"


def test_a_task_with_other_scores_than_the_benchmark_of_its_name(
    data: Path, tiny_bert: Path
) -> None:
    given = materials(data, tiny_bert)
    finish_cells("fast-6.4", given, {"tiny-bert-plain": 0.5, "tiny-bert-reduced-last-25": 0.4})
    for place in given.workspace.root.glob("studies/s/runs/*/manifest.json"):
        place.write_text(place.read_text().replace('"f1"', '"pearson"'))
    one = run("fast-6.4", given).comparisons["NCBI-disease", "BERT"]
    assert one.ours is None and one.why == "not available: its task is not scored by f1"


def test_the_file_of_the_trainings_is_the_study_that_was_planned(
    data: Path, tiny_bert: Path, known: None, tmp_path: Path
) -> None:
    given = materials(data, tiny_bert)
    for scale in (TINY, SCALES["full"]):
        study = plan_trainings(find_table("fast-6.6"), given, scale).study
        assert study is not None
        path = write_file(study, tmp_path / "s")
        planned, read = (expand(one, tmp_path) for one in (study, read_study(path)))
        assert [one.name for one in read.steps] == [one.name for one in planned.steps]


def test_trainings_run_where_a_study_runs(data: Path, tiny_bert: Path) -> None:
    given = materials(data, tiny_bert)
    assert given.workspace is not None
    root = given.workspace.folder("studies", "s")
    found = reproduce(find_table("fast-6.4"), given, TINY, root, StudyStep(on="slurm"))
    assert found.computed == 0 and Path(found.script).is_file()
    assert str(root / "study.toml") in Path(found.script).read_text(encoding="utf-8")


def test_imported_values_fill_empty_cells(tmp_path: Path) -> None:
    workspace = Workspace(tmp_path / "w")
    path = tmp_path / "own.csv"
    path.write_text("row,column,value\nNCBI-disease,aligned,87.5\n", encoding="utf-8")
    assert fill_imported(find_table("poerner-ablation"), workspace).empty
    import_values("poerner-ablation", path, workspace, "me", "today")
    cell = fill_imported(find_table("poerner-ablation"), workspace).grid["NCBI-disease", "aligned"]
    assert cell.value == 87.5 and cell.imported == "imported by me from own.csv, today"
    (workspace.root / "published" / "poerner-ablation.json").write_text("{}", encoding="utf-8")
    with raises_input_error("no-imported-values"):
        fill_imported(find_table("poerner-ablation"), workspace)


@pytest.mark.parametrize("key", ["row", "column", "value", "note", "who", "when", "file", "table"])
def test_imported_values_of_another_type_are_one_sentence(key: str, tmp_path: Path) -> None:
    workspace, path = Workspace(tmp_path / "w"), tmp_path / "own.csv"
    path.write_text("row,column,value\nNCBI-disease,aligned,87.5\n", encoding="utf-8")
    import_values("poerner-ablation", path, workspace, "me", "today")
    place = workspace.root / "published" / "poerner-ablation.json"
    sound = json.loads(place.read_text(encoding="utf-8"))
    for wrong in (None, True, [], {}, [1]):
        content = {**sound, "values": [dict(sound["values"][0])]}
        (content if key in content else content["values"][0])[key] = wrong
        place.write_text(json.dumps(content), encoding="utf-8")
        with raises_input_error("no-imported-values"):
            fill_imported(find_table("poerner-ablation"), workspace)


def test_the_command_lists_all_tables(data: Path, known: None, tmp_path: Path, capsys) -> None:
    place = ["--workspace", str(tmp_path / "w"), "--data", str(data)]
    assert main(["reproduce", *place, "--json"]) == 0
    found = {one["table"]: one for one in json.loads(capsys.readouterr().out)["tables"]}
    assert list(found) == list(load_tables())
    assert found["fast-3.1"]["computable"] == 3 and found["fast-3.1"]["published"] == 10
    assert found["poerner-cost"]["computable"] == 0 and found["poerner-cost"]["needs"]
    assert main(["reproduce", "fast-3.1", *place, "--json"]) == 0
    (answer,) = json.loads(capsys.readouterr().out)["tables"]
    assert answer["computed"] == 3 and len(answer["rows"]) == 10


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (["fast-6.66"], "Did you mean fast-6.6?"),
        (["--data", "nowhere"], "nowhere: there is no such folder"),
        (["--model", "a", "b"], "Two models without a name"),
        (["fast-3.1", "--scale", "huge"], "huge"),
        (["--import", "x.csv"], "Name the table"),
        (["fast-3.1", "--import", "x.csv"], "x.csv"),
    ],
)
def test_mistakes_are_named(given: list[str], said: str, tmp_path: Path, capsys) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path)
        assert main(["reproduce", *given]) == 2
    assert said in capsys.readouterr().err
