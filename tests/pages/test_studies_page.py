"""The pages Studies and Published results."""

import json
import shutil
import tomllib
from dataclasses import replace
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from tests.material.apps import (
    join_values,
    list_button_keys,
    list_texts,
    markup,
    read_metrics,
    read_page,
)
from tests.material.input_errors import raises_input_error
from vocadapt.errors import InputError
from vocadapt.lab.demo import DEMO, MODEL, STUDY, TASK, VECTORS, open_demo
from vocadapt.lab.experiments.published.imports import import_values
from vocadapt.lab.experiments.studies.grid import expand
from vocadapt.lab.experiments.studies.merged import merge_seeds
from vocadapt.lab.experiments.studies.report import build_report
from vocadapt.lab.experiments.studies.saved import (
    FILE,
    find_study_file,
    point_to,
    register_study,
    save_study,
)
from vocadapt.lab.experiments.studies.states import find_states
from vocadapt.lab.experiments.studies.study_file import read_study
from vocadapt.lab.experiments.studies.table import build_table
from vocadapt.lab.jobs.queue import prepare_cell
from vocadapt.lab.jobs.status import Status, write_status
from vocadapt.lab.results.published_scores import OwnScore, match_scores, read_own_scores
from vocadapt.lab.results.runs import list_runs
from vocadapt.lab.workspace.manifest import Manifest
from vocadapt.lab.workspace.workspace import Workspace, open_artifact
from vocadapt.published.comparison import Score, build_comparison_table, compare
from vocadapt.published.reader import load_tables
from vocadapt.report.formats import format_fraction
from vocadapt.ui.parts.published.figures import collect_group_means
from vocadapt.ui.parts.studies.cells import find_query
from vocadapt.ui.parts.studies.opened import open_study
from vocadapt.ui.state import address

TEXT = """name = "s"
seeds = [1, 2]
[settings]
num_epochs = 1
[[variants]]
name = "plain"
model = "../../models/demo-bert"
[[tasks]]
name = "t"
task = "../../tasks/demo-diseases"
"""
# Figures that publications make of their tables.
CHARTS = {"exbert-1": 1, "exbert-2b": 1, "poerner-coverage": 1, "fast-6.6": 1, "fast-3.1": 0}


@pytest.fixture(scope="module")
def demo(tmp_path_factory) -> Workspace:
    """The parts of the demo that the study reads, in a workspace; read only."""
    workspace = Workspace(tmp_path_factory.mktemp("demo") / "w")
    for place in (MODEL, VECTORS, TASK, STUDY):
        shutil.copytree(DEMO.joinpath(*place), workspace.folder(*place))
    return workspace


def test_the_study_of_the_demo_is_whole_in_an_opened_demo(tmp_path):
    workspace = Workspace(tmp_path / "w")
    open_demo(workspace)
    folder = workspace.folder(*STUDY)
    grid = expand(read_study(folder / FILE), folder, workspace=workspace)
    assert [one.state for one in find_states(grid, folder)] == ["done"] * 6
    report = build_report(grid, folder)
    assert report.unfinished == () and report.finished == report.planned == 6
    assert report.differing["Recipe"] == ("none", "green-bert")
    rows = build_table(grid, folder).rows
    assert [row["variant"] for row in rows] == ["demo-bert", "green-bert"]
    assert all(row["n"] == 3 and row["collapsed"] == 0 for row in rows)
    assert rows[0]["p_units"] is None and 0 < rows[1]["p_units"] <= 1
    assert rows == open_artifact(folder).manifest.numbers["rows"]
    assert sum(one.stat().st_size for one in folder.rglob("*") if one.is_file()) <= 300_000


def test_the_page_shows_grid_and_table_of_a_finished_study(open_page, demo):
    app = open_page("studies", demo)
    assert not app.exception and not app.error
    grid = next(one.proto.body for one in app.get("html") if "study-grid" in one.proto.body)
    assert grid.count('class="va-seed va-seed-done"') == 6
    assert "workspace=w%2Fstudies%2Fdemo-study" in grid
    shown = app.dataframe[0].value
    assert list(shown["Seeds"]) == [3, 3] and shown["Mean ± sd"][0].startswith(".537")
    assert "studies_start" not in list_button_keys(app)
    names = {one.proto.label for one in app.get("download_button")}
    assert {"demo-study.csv", "demo-study.html", "demo-study.tex"} <= names


def test_a_study_opens_as_a_workspace_with_a_way_back(open_page, demo):
    app = open_page("results", demo, workspace="w/studies/demo-study")
    assert not app.exception and not app.error
    board = next(one.value for one in app.dataframe if "Run" in one.value)
    assert set(board["Run"]) == {"demo-bert-demo-diseases", "green-bert-demo-diseases"}
    assert set(board["Seeds"]) == {3}
    assert app.session_state["results_run"] is None
    app.button(key="leave_study").click().run()
    assert app.session_state["workspace"] == "w" and not app.exception


def test_a_cell_opens_its_own_run(open_page, demo):
    """The link of a cell selects the run of its seed, beside the mean over all seeds."""
    folder = demo.folder(*STUDY)
    (artifact,) = demo.artifacts("studies")
    found = open_study(demo, artifact)
    for one in (found.states[1], found.states[5]):
        query = find_query(one, found)
        app = open_page("results", demo, workspace="w/studies/demo-study", **query)
        assert not app.exception and not app.error
        name = one.cell.step.name
        assert app.session_state["results_run"] == name
        assert app.selectbox(key="results_confused").value.startswith(f"{name} · ")
        record = json.loads((folder / "runs" / name / "run.json").read_text())
        shown = read_metrics(app)
        for tokenization, scores in record["scores"].items():
            assert shown[f"F1 · {tokenization}"] == format_fraction(scores["f1"])


@pytest.mark.parametrize(
    "name", ["w/studies/..", "w/studies/", "w/models/demo-bert", "w/studies/a/b", "/etc", "../w"]
)
def test_an_address_cannot_lead_to_another_folder(name, demo, monkeypatch):
    monkeypatch.setenv(address.WORKSPACE_VARIABLE, str(demo.root))
    with pytest.raises(InputError):
        address.open_workspace(name)


def test_a_link_in_studies_cannot_lead_out_of_the_workspace(own, tmp_path, monkeypatch):
    monkeypatch.setenv(address.WORKSPACE_VARIABLE, str(own.root))
    (own.root / "studies").mkdir()
    (own.root / "studies" / "out").symlink_to(tmp_path)
    with pytest.raises(InputError, match="leads out"):
        address.open_workspace("own/studies/out")


def test_a_saved_study_is_listed_and_can_be_changed(own):
    saved = save_study(TEXT, own)
    assert saved.kind == "studies" and find_study_file(saved, own) == saved.folder / FILE
    assert len(expand(read_study(saved.folder / FILE), saved.folder).cells) == 2
    with pytest.raises(InputError, match="already"):
        save_study(TEXT, own)
    save_study(TEXT.replace("[1, 2]", "[1, 2, 3]"), own, replaced=saved.name)
    assert len(expand(read_study(saved.folder / FILE), saved.folder).cells) == 3


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('name = "s"', 'name = "../s"'),
        ('name = "s"', ""),
        ("[settings]", "[settings"),
        ("num_epochs", "num_epoch"),
        ("models/demo-bert", "models/other"),
        ('name = "s"', f'name = "s"\nx = {"[" * 3000}'),
        ('name = "s"', f'name = "s"\nx = {"1" * 5000}'),
    ],
)
def test_a_file_that_is_no_study_is_refused_and_leaves_nothing(old, new, own):
    with pytest.raises(InputError):
        save_study(TEXT.replace(old, new, 1), own)
    assert not list(own.root.glob("studies/*")) and not list(own.root.glob("studies/.*"))


def test_a_path_that_pages_may_not_open_is_refused(own, tmp_path):
    def refuse(path):
        raise InputError("no", code=path)

    with raises_input_error(str(own.folder(*MODEL))):
        save_study(TEXT, own, refuse)
    assert not list(own.root.glob("studies/*"))


@pytest.mark.parametrize(
    "text",
    [
        TEXT + '[[corpora]]\nname = "c"\nfiles = "{secret}"\n',
        TEXT.replace('model = "', 'recipe = "{secret}"\nmodel = "', 1),
        'extends = "base.toml"\n' + TEXT,
    ],
)
def test_a_path_that_pages_may_not_open_is_not_read(text, own, tmp_path):
    secret = tmp_path / "secret.toml"
    secret.write_text("password = [")  # what is read here is reported in the error
    (own.root / "base.toml").write_text(f'extends = "{secret}"')
    text = text.replace("base.toml", str(own.root / "base.toml")).replace("{secret}", str(secret))

    def refuse(path):
        if Path(path) == secret:
            raise InputError("no", code="refused")

    with raises_input_error("refused"):
        save_study(text, own, refuse)


def test_the_form_writes_the_file_and_offers_to_start(open_page, own):
    app = open_page("studies", own)
    assert not app.exception and not app.error
    written = tomllib.loads(app.code[0].value)
    assert written["seeds"] == [1, 2, 3]
    assert written["variants"] == [{"name": "demo-bert", "model": "../../models/demo-bert"}]
    assert written["tasks"][0]["task"] == "../../tasks/demo-diseases"
    app.button(key="studies_save").click().run()
    assert not app.exception and not app.error
    assert [one.name for one in own.artifacts("studies")] == [written["name"]]
    assert app.button(key="studies_start").label == "Start"
    assert markup(app).count('class="va-seed va-seed-waiting"') >= 3


@pytest.mark.parametrize(
    "adapting", ["", 'preset = "green-bert"\nvectors = "../../vectors/demo-biomedical"\n']
)
def test_a_page_does_not_download_the_model_of_a_study(adapting, open_page, own):
    # The guard of the network fails the test if the hub is asked.
    shutil.copytree(DEMO.joinpath(*VECTORS), own.folder(*VECTORS))
    text = TEXT.replace('"../../models/demo-bert"\n', '"someone/a-model"\n' + adapting)
    saved = save_study(text, own)
    app = open_page("studies", own)
    assert not app.exception and "offline" in join_values(app.warning)
    assert find_study_file(saved, own) is not None


def test_failed_cells_are_listed_with_their_problem_and_not_estimated(open_page, own):
    """Their task cannot be read, so there is no estimate; they can be tried again all the same."""
    (own.root / "bad.tsv").write_text("Fever\tQ-Disease\n\n", encoding="utf-8")
    text = TEXT.replace(
        'task = "../../tasks/demo-diseases"', 'kind = "ner"\ntrain = "../../bad.tsv"'
    )
    saved = save_study(f'{text}test = "../../bad.tsv"\n', own)
    grid = expand(read_study(saved.folder / FILE), saved.folder)
    for cell in grid.cells:
        job = prepare_cell(Workspace(saved.folder), cell.step.spec, cell.step.name, 1)
        write_status(job.folder, Status("failed", error="line 1 has the tag 'Q-Disease'"))
    app = open_page("studies", own)
    assert not app.exception and not app.error
    shown = [text for text in list_texts(app) if "Q\\-Disease" in text]
    assert any("seeds 1, 2" in text for text in shown) and len(shown) == 2
    assert not app.button(key="studies_start").disabled


def test_a_study_without_its_file_shows_the_rows_of_its_manifest(open_page, tmp_path):
    workspace = Workspace(tmp_path / "w")
    shutil.copytree(DEMO.joinpath(*STUDY), workspace.folder(*STUDY))
    (workspace.folder(*STUDY) / FILE).unlink()
    app = open_page("studies", workspace)
    assert not app.exception and app.warning
    assert list(app.dataframe[0].value["Variant"]) == ["demo-bert", "green-bert"]


def test_paths_of_the_workspace_are_relative_to_the_study(own):
    assert point_to(str(own.folder(*MODEL)), own) == "../../models/demo-bert"
    assert point_to("bert-base-uncased", own) == "bert-base-uncased"
    assert point_to("/elsewhere/model", own) == "/elsewhere/model"


@pytest.mark.parametrize("name", list(load_tables()))
def test_every_published_table_is_drawn(name, open_page, own):
    app = open_page("published", own, published_table=name)
    assert not app.exception and not app.error
    table = load_tables()[name]
    drawn = next(one.proto.body for one in app.get("html") if "published-table" in one.proto.body)
    assert drawn.count('<th scope="row">') == len(table.rows)
    assert drawn.count('class="va-empty"') == len(table.empty)
    if name in CHARTS:
        assert len(app.get("plotly_chart")) == CHARTS[name]
    if name == "fast-6.6":  # a drop is red, and the deeper the larger
        assert "rgb(204 60 60 / 0.45)" in drawn and "<b>" in drawn and "<u>" in drawn


def test_imported_values_fill_empty_cells_and_are_marked(open_page, own, tmp_path):
    table = load_tables()["poerner-cost"]
    cell = table.empty[0]
    file = tmp_path / "values.csv"
    file.write_text(f'row,column,value\n"{cell.row}","{cell.column}",1234\n', encoding="utf-8")
    app = open_page("published", own, published_table=table.id)
    app.text_input(key="published_file_path").set_value(str(file)).run()
    app.button(key="published_import").click().run()
    assert not app.exception and not app.error
    drawn = next(one.proto.body for one in app.get("html") if "published-table" in one.proto.body)
    assert "1234" in drawn and "<small>imported</small>" in drawn
    assert drawn.count('class="va-empty"') == len(table.empty) - 1


def test_figures_are_drawn_of_imported_values(open_page, own, tmp_path):
    columns = [
        "BERT (Lee et al. 2019), F1",
        "BioBERTv1.0 (Lee et al. 2019), F1",
        "GreenBioBERT, F1",
    ]
    lines = [
        f'{task},"{column}",{value}\n'
        for task, values in {"NCBI-disease": (80, 90, 85), "BC2GM": (80, 79, 85)}.items()
        for column, value in zip(columns, values, strict=True)
    ]
    file = tmp_path / "values.csv"
    file.write_text(f"row,column,value\n{''.join(lines)}", encoding="utf-8")
    import_values("poerner-ner", file, own)
    app = open_page("published", own, published_table="poerner-ner")
    assert not app.exception and len(app.get("plotly_chart")) == 1
    found = read_page(app)
    assert "50 %" in found and "1 of 2" in found


def test_means_over_groups_are_those_of_the_table():
    groups = collect_group_means(load_tables()["fast-6.6"])
    assert list(groups) == [row.name for row in load_tables()["fast-6.6"].rows if row.mean_of]
    assert groups["Mean (all)"]["+ target WE"] == -19.70 and "BERT" not in groups["Mean (all)"]
    assert collect_group_means(load_tables()["exbert-1"]) == {}


def test_cells_without_training_are_computed_on_click(open_page, own):
    app = open_page("published", own, published_table="fast-4.1")
    assert not app.exception and not app.error
    assert "**54 of 54**" in read_page(app)
    app.button(key="published_compute").click().run()
    assert not app.exception and not app.error
    shown = app.dataframe[0].value
    domains = shown[shown["Column"] == "Domain"]
    assert len(shown) == 54 and set(domains["Difference"]) == {"equal"}
    assert set(domains["Note"]) == {""}


def test_trainings_start_as_a_study(open_page, own, tmp_path, started):
    folder = tmp_path / "data" / "NCBI-disease"
    folder.mkdir(parents=True)
    for split in ("train", "devel", "test"):
        (folder / f"{split}.tsv").write_text("leukemia\tB-Disease\n\n" * 8, encoding="utf-8")
    app = open_page("published", own, published_table="fast-6.4")
    app.text_input(key="published_data").set_value(str(tmp_path / "data")).run()
    assert not app.exception and not app.error
    assert "**6** trainings" in read_page(app)
    app.button(key="published_start").click().run()
    assert not app.exception and not app.error
    ((spec, name),) = started
    root = own.folder("studies", name)
    study = read_study(root / FILE)
    names = ["demo-bert-plain", "demo-bert-reduced-last-25"]
    assert spec.step == "study" and [one.name for one in study.variants] == names
    # Finished, its scores stand beside the published ones.
    grid = expand(study, root)
    for step in grid.steps:
        numbers = {"mean": {"f1": 0.5}, "scorer": "entity-strict", "collapsed": 0}
        folder = step.find_folder(root)
        folder.mkdir(parents=True)
        Manifest(step.spec.kind, step.name, {}, numbers=numbers).save(folder)
    app = open_page("published", own, published_table="fast-6.4")
    app.text_input(key="published_data").set_value(str(tmp_path / "data")).run()
    assert not app.exception and not app.error
    shown = app.dataframe[0].value
    assert list(shown["Ours"]) == ["50.00 ± 0.00", "0.00"]
    assert all(note.startswith("not comparable") for note in shown["Note"])


def make_own(base_model: str, **more) -> OwnScore:
    given = {"split": "test", "scorer": "binary-f1", "data": "bio-lm/GAD", "sd": 0.01, **more}
    return OwnScore("r", given["data"], "", Score(0.8, 3, base_model=base_model, **given))


def test_own_scores_belong_to_cells_of_their_benchmark_and_model():
    table = load_tables()["fast-6.2"]
    matched = match_scores(table, [make_own("bert-base-uncased"), make_own("other")])
    assert list(matched) == [("GAD", "BERT")] and len(matched["GAD", "BERT"]) == 1
    near = match_scores(table, [make_own("biomednlp-pubmedbert-base-uncased-abstract")])
    assert [column for _, column in near] == ["PubMedBERT-abstract"]
    compared = compare(table.grid["GAD", "BERT"], matched["GAD", "BERT"][0].score)
    assert compared.why.startswith("not comparable") and "split" in compared.why
    [row] = build_comparison_table([(table.grid["GAD", "BERT"], "r", compared)]).rows
    assert (row["ours"], row["difference"]) == ("80.00 ± 1.00", "")


def test_a_comparable_score_has_a_difference():
    table = load_tables()["fast-6.2"]
    score = make_own(
        "bert-base-uncased", data="bio-lm/MedNLI", scorer="accuracy", figure="accuracy"
    )
    ((place, own),) = match_scores(table, [score]).items()
    compared = compare(table.grid[place], own[0].score)
    [row] = build_comparison_table([(table.grid[place], "r", compared)]).rows
    assert compared.is_comparable and row["difference"] == "+1.94"


def test_runs_on_other_data_have_no_published_score(demo):
    runs = list_runs(Workspace(demo.folder(*STUDY)))
    assert len(runs) == 6 and read_own_scores(runs, Workspace(demo.folder(*STUDY))) == []


def test_the_formula_for_co2_is_applied_to_the_rows_whose_power_and_time_are_at_hand():
    def page() -> None:
        from dataclasses import replace

        from vocadapt.published.reader import load_tables
        from vocadapt.ui.parts.published.view import draw_costs

        table = load_tables()["poerner-cost"]
        values = {"power": 1505.0, "time": 240.0}
        cells = [
            replace(table.find_cell("BioBERTv1.0", column), value=value)
            for column, value in values.items()
        ]
        draw_costs(table.replace_cells(cells))
        draw_costs(load_tables()["exbert-1"])

    app = AppTest.from_function(page).run()
    assert not app.exception and len(app.dataframe) == 1
    assert round(app.dataframe[0].value["lbs CO2"][0]) == 544
    assert "1 of 5" in read_page(app)


def test_the_cells_of_a_variant_are_one_set_of_runs(demo):
    runs = list_runs(Workspace(demo.folder(*STUDY)))
    found = merge_seeds(runs)
    assert {one.name: one.seeds for one in found} == {
        "green-bert-demo-diseases": (1, 2, 3),
        "demo-bert-demo-diseases": (1, 2, 3),
    }
    plain = next(one for one in found if one.name.startswith("demo-bert"))
    single = {one.seeds[0]: one.values()[0] for one in runs if one.name.startswith("demo-bert")}
    assert plain.values() == tuple(single[seed] for seed in (1, 2, 3))


def test_cells_with_other_settings_and_other_runs_stay_apart(demo):
    runs = list_runs(Workspace(demo.folder(*STUDY)))
    first = runs[0]
    settings = {**first.artifact.manifest.settings, "limit": 7}
    manifest = replace(first.artifact.manifest, settings=settings)
    runs[0] = replace(first, artifact=replace(first.artifact, manifest=manifest))
    found = merge_seeds(runs)
    assert sorted(len(one.runs) for one in found) == [1, 2, 3]
    assert len({one.name for one in found}) == 3
    own = [replace(one, folder=one.folder.parent / f"run-{one.seeds[0]}") for one in runs[:2]]
    assert merge_seeds(own) == own


def test_the_file_of_a_study_may_stay_where_it_is(open_page, own, tmp_path):
    file = tmp_path / "elsewhere.toml"
    text = TEXT.replace("../../models", str(own.root / "models"))
    file.write_text(text.replace("../../tasks", str(own.root / "tasks")), encoding="utf-8")
    app = open_page("studies", own)
    app.segmented_control(key="studies_how").set_value("Path").run()
    app.text_input(key="studies_path").set_value(str(file)).run()
    app.button(key="studies_save").click().run()
    assert not app.exception and not app.error
    (study,) = own.artifacts("studies")
    assert find_study_file(study, own) == file and app.button(key="studies_start").label == "Start"
    assert register_study(file, own).folder == study.folder
    other = shutil.copy(file, tmp_path / "other.toml")
    with pytest.raises(InputError):
        register_study(other, own)


def test_a_mistake_in_a_file_is_told_with_the_nearest_name(open_page, own):
    app = open_page("studies", own)
    app.segmented_control(key="studies_how").set_value("File").run()
    for old, new, nearest in (
        ("num_epochs", "num_epoch", "num_epochs"),
        ("[[variants]]", "[[variant]]", "variants"),
        ("seeds = [1, 2]", 'seeds = ["a"]', "seeds"),
    ):
        text = TEXT.replace(old, new, 1)
        app.text_area(key="studies_text").set_value(text).run()
        app.button(key="studies_save").click().run()
        assert not app.exception and len(app.error) == 1 and nearest in join_values(app.text)
        assert app.text_area(key="studies_text").value == text


def test_a_study_whose_task_is_gone_says_so_and_its_file_can_be_corrected(open_page, own):
    saved = save_study(TEXT.replace("../../tasks/demo-diseases", "demo-disease"), own)
    app = open_page("studies", own)
    assert not app.exception and "demo\\-diseases?" in app.warning[0].value
    app.button(key="studies_edit").click().run()
    assert 'task = "demo-disease"' in app.text_area(key="studies_text").value
    app.text_area(key="studies_text").set_value(TEXT.replace("[1, 2]", "[1, 2, 3, 4]")).run()
    app.button(key="studies_save").click().run()
    assert not app.exception and not app.warning and app.button(key="studies_start")
    assert len(read_study(saved.folder / FILE).seeds) == 4


def test_a_place_that_is_not_known_is_reported(open_page, own):
    save_study(TEXT, own)
    app = open_page("studies", own)
    app.text_input(key="studies_on").set_value("rai").run()
    assert not app.exception and len(app.error) == 1 and "ray?" in join_values(app.text)
