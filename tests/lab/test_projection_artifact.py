"""A projection as an artifact, as an exported file, and on the command line."""

import csv
import re
import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from tests.material.input_errors import raises_input_error
from tests.material.values import check_same
from vocadapt.cli import main
from vocadapt.errors import Canceled
from vocadapt.lab.inputs.open_space import OpenedSpace, open_space
from vocadapt.lab.results.projection_files import build_table, export_projection, render_page
from vocadapt.lab.steps.command_lines import build_command
from vocadapt.lab.steps.import_layout import ImportLayoutStep, build_imported_projection
from vocadapt.lab.steps.projection import (
    ProjectionStep,
    compute_projection,
    load_projection,
    save_projection,
)
from vocadapt.lab.steps.run import run_step
from vocadapt.lab.steps.step import Spec
from vocadapt.lab.workspace.manifest import Manifest
from vocadapt.lab.workspace.workspace import Workspace, open_artifact
from vocadapt.spaces.projection.methods import ProjectionSettings
from vocadapt.spaces.projection.token_choice import TokenChoice
from vocadapt.spaces.space import EmbeddingSpace
from vocadapt.text.spreadsheet import unescape_cell

HOSTILE = (
    "<script>alert(1)</script>",
    "$x$",
    "<s>",
    ":red[x]",
    "\u202e\u05d0\u05d1\u05d2",
    "x" * 500,
    "&amp;",
    "%{x}",
    'a,b"c',
    "=1+1",
    "</script><b>",
    "{braces}",
)
ALL = TokenChoice(first=0, min_length=0, specials=True, continuations=True, unused=True)


@pytest.fixture
def hostile(tmp_path):
    random = np.random.default_rng(0)
    counts = np.arange(len(HOSTILE), 0, -1)
    return EmbeddingSpace(
        HOSTILE, random.normal(size=(len(HOSTILE), 6)).astype(np.float32), counts, "<i>hostile</i>"
    )


def drawn_of(space, step=None):
    return compute_projection(OpenedSpace(None, space), None, step or ProjectionStep(ALL))


def test_a_projection_is_saved_with_its_settings_and_inputs(vectors, tiny_bert, tmp_path):
    workspace = Workspace(tmp_path / "ws")
    step = ProjectionStep(TokenChoice(first=20, min_length=3), ProjectionSettings(seed=7))
    made = run_step(
        Spec(step, {"space": tiny_bert, "other": vectors}), workspace.folder("projections", "m")
    )
    assert [found.name for found in workspace.artifacts("projections")] == ["m"]
    assert made.explain_staleness(workspace) == []
    manifest = made.manifest
    assert manifest.seed == 7
    assert manifest.settings["choice"]["first"] == 20
    assert set(manifest.inputs) == {"space", "other"}
    assert {"numpy", "scikit-learn", "openTSNE", "umap-learn"} <= set(manifest.versions)
    assert (manifest.numbers["shown"], manifest.numbers["second"]["name"]) == (20, vectors.name)
    kept = load_projection(made.folder)
    check_same(kept, compute_projection(open_space(tiny_bert), open_space(vectors), step))
    assert kept.moved.shape == (20,) and kept.second.projection.xy.shape == (20, 2)
    model = open_space(tiny_bert).space
    assert [model.words[row] for row in kept.rows] == list(kept.words)
    assert kept.of == len([word for word in model.words if word in open_space(vectors).space])
    assert f"{kept.of} of {len(model)}" in kept.how and vectors.name in kept.how


def test_a_canceled_projection_leaves_nothing(vectors, tmp_path):
    def stop(fraction, message=""):
        if message.startswith("iteration"):
            raise Canceled

    step = ProjectionStep(TokenChoice(min_length=0), ProjectionSettings("tsne", perplexity=3))
    with pytest.raises(Canceled):
        run_step(Spec(step, {"space": vectors}), tmp_path / "projections" / "m", stop)
    assert not (tmp_path / "projections").exists() or not any((tmp_path / "projections").iterdir())


@pytest.fixture(scope="module")
def projected(vectors, tmp_path_factory):
    """The folder of a projection; read only."""
    spec = Spec(ProjectionStep(TokenChoice(min_length=0)), {"space": vectors})
    return run_step(spec, tmp_path_factory.mktemp("projections") / "m").folder


@pytest.mark.parametrize(
    ("code", "damage"),
    [
        ("no-result", lambda folder: (folder / "map.json").unlink()),
        ("invalid-json", lambda folder: (folder / "map.json").write_text("{")),
        ("damaged-result", lambda folder: (folder / "map.json").write_text("{}")),
        (
            "damaged-result",
            lambda folder: (folder / "map.json").write_text(
                (folder / "map.json").read_text().replace('"the",', "")
            ),
        ),
        ("invalid-tensors", lambda folder: (folder / "map.safetensors").write_bytes(b"x")),
    ],
)
def test_a_damaged_projection_is_reported(code, damage, projected, tmp_path):
    folder = shutil.copytree(projected, tmp_path / "m")
    damage(folder)
    with raises_input_error(code, str(folder)):
        load_projection(folder)


def test_hostile_words_survive_saving(hostile, tmp_path):
    drawn = drawn_of(hostile)
    save_projection(drawn, tmp_path)
    assert load_projection(tmp_path).words == HOSTILE
    check_same(load_projection(tmp_path), drawn)


def test_tables_hold_words_literally(hostile, tmp_path):
    drawn = drawn_of(hostile)
    export_projection(drawn, tmp_path / "m.csv")
    export_projection(drawn, tmp_path / "m.parquet")
    with (tmp_path / "m.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [unescape_cell(row["token"]) for row in rows] == list(HOSTILE)
    assert [int(row["id"]) for row in rows] == list(range(len(HOSTILE)))
    assert np.allclose(
        [[float(row["x"]), float(row["y"])] for row in rows], drawn.first.projection.xy
    )
    assert [int(row["count"]) for row in rows] == hostile.counts.tolist()
    assert pd.read_parquet(tmp_path / "m.parquet").token.tolist() == list(HOSTILE)
    assert list(build_table(drawn).columns) == ["id", "token", "x", "y", "region", "count"]


def test_the_page_is_complete_and_no_word_is_markup(hostile):
    page = render_page(drawn_of(hostile))
    assert len(re.findall(r"<script[^>]*src=", page)) == 0
    assert "<link" not in page.split("<script")[0]
    outside = re.sub(r"<script.*?</script>", "", page, flags=re.DOTALL)
    assert "alert(1)" not in outside and "<i>" not in outside and "&lt;i&gt;hostile" in outside
    data = page[page.rindex("Plotly.newPlot") :]
    assert "$x$" not in data and "<s>" not in data and "<b>" not in data
    assert f"{len(HOSTILE)} of {len(HOSTILE)} shown" in outside
    assert "trustworthiness@5" in outside
    assert "seed 1" in outside


def test_a_file_that_is_there_is_not_replaced_unasked(hostile, tmp_path):
    drawn = drawn_of(hostile)
    (tmp_path / "m.csv").write_text("mine")
    with raises_input_error("already-exists", "m.csv"):
        export_projection(drawn, tmp_path / "m.csv")
    assert (tmp_path / "m.csv").read_text() == "mine"
    export_projection(drawn, tmp_path / "m.csv", overwrite=True)
    assert (tmp_path / "m.csv").read_text().startswith("id,token")


def test_without_a_browser_a_picture_is_one_clear_line(hostile, tmp_path, monkeypatch):
    import plotly.graph_objects as go

    def none(*arguments, **named):
        raise RuntimeError("Kaleido requires Google Chrome\nto be installed.")

    monkeypatch.setattr(go.Figure, "to_image", none)
    with raises_input_error("no-browser", "RuntimeError", ".html") as caught:
        export_projection(drawn_of(hostile), tmp_path / "m.png")
    assert "\n" not in caught.value.problem
    assert list(tmp_path.iterdir()) == []


@pytest.fixture
def ask(ask, tmp_path, monkeypatch):
    """Run commands in an empty folder."""
    monkeypatch.chdir(tmp_path)
    return ask


def test_the_command_writes_each_format(ask, tiny_bert, tmp_path):
    for ending in ("html", "csv", "parquet"):
        answer = ask("project", "--model", tiny_bert, "--first", 12, "--out", f"m.{ending}")
        assert answer["out"] == f"m.{ending}" and (tmp_path / answer["out"]).stat().st_size > 300
        assert (answer["shown"], answer["settings"]["choice"]["first"]) == (12, 12)
        assert 0 < answer["trustworthiness"] <= 1
        assert 0 <= answer["preservation"] <= 1
        assert answer["seconds"] > 0
        assert answer["how"].startswith(f"12 of {answer['of']} shown")


def test_the_command_makes_an_artifact(ask, vectors, tiny_bert, tmp_path):
    answer = ask(
        f"project --vectors {vectors} --other {tiny_bert} --workspace ws --name both --min-length 0"
    )
    folder = tmp_path / "ws" / "projections" / "both"
    assert answer["manifest"] == str(folder / "manifest.json")
    assert Manifest.load(folder).kind == "projections"
    assert answer["second"]["name"] == "tiny-bert" and answer["moved"] > 0
    assert open_artifact(folder).manifest.command.startswith(
        "python -m vocadapt project --vectors "
    )


def test_the_command_looks_around_a_word_and_shows_listed_tokens(ask, vectors):
    answer = ask(f"project --vectors {vectors} --around cancer --nearest 5 --out m.csv")
    assert answer["shown"] == 6 and pd.read_csv("m.csv").token[0] == "cancer"
    words = open_space(vectors).space.words[:4]
    ask("project", "--vectors", vectors, "--tokens", *words, "--out", "listed.csv")
    assert pd.read_csv("listed.csv").token.map(unescape_cell).tolist() == list(words)


def test_the_embeddings_of_a_real_model_are_projected_quickly(minilm, tmp_path):
    drawn = compute_projection(open_space(minilm), None, ProjectionStep())
    assert len(drawn) == 4000 and drawn.of == 30_522
    assert drawn.how.startswith("4,000 of 30,522 shown")
    assert 0.6 < drawn.first.quality.trustworthiness < 0.95 and drawn.first.quality.n == 4000


def test_an_exported_layout_comes_back_as_a_projection(hostile, tmp_path):
    drawn = drawn_of(hostile)
    export_projection(drawn, tmp_path / "m.csv")
    again = build_imported_projection(
        OpenedSpace(None, hostile), tmp_path / "m.csv", ImportLayoutStep()
    )
    assert again.words == drawn.words
    assert np.allclose(again.first.projection.xy, drawn.first.projection.xy)
    assert again.first.quality == drawn.first.quality
    assert "m.csv" in again.method and again.how.endswith("m.csv")
    save_projection(again, tmp_path)
    check_same(load_projection(tmp_path), again)
    assert load_projection(tmp_path).layout_file == "m.csv"


def test_the_command_imports_a_layout(ask, vectors, tmp_path):
    space = open_space(vectors).space
    lines = [f"{word},{place},{place * place}" for place, word in enumerate(space.words[:6])]
    (tmp_path / "own.csv").write_text("\n".join(["token,x,y", *lines, "nowhere,1,1"]))
    answer = ask(f"project --vectors {vectors} --layout own.csv --workspace ws --name own")
    assert answer["shown"] == 6 and "own.csv" in answer["method"]
    assert "1 of 7" in answer["how"] and "'nowhere'" in answer["how"]
    made = open_artifact(tmp_path / "ws" / "projections" / "own")
    assert made.manifest.step == "import-layout"
    assert set(made.manifest.inputs) == {"space", "layout"}
    assert "--layout" in made.manifest.command
    answer = ask("project", "--vectors", vectors, "--layout", "own.csv", "--out", "m.csv")
    assert pd.read_csv("m.csv").x.tolist() == [0, 1, 2, 3, 4, 5]


def test_a_layout_is_of_one_space(capsys, vectors, tiny_bert, tmp_path):
    (tmp_path / "own.csv").write_text("token,x,y\n")
    given = ["--vectors", vectors, "--other", tiny_bert, "--layout", tmp_path / "own.csv"]
    assert main(["project", *map(str, given), "--out", str(tmp_path / "m.csv")]) != 0
    assert "layout of one space" in capsys.readouterr().err
    given = ["--vectors", vectors, "--layout", tmp_path / "own.csv", "--around", "heart"]
    assert main(["project", *map(str, given), "--out", str(tmp_path / "m.csv")]) != 0
    assert "only --metric applies" in capsys.readouterr().err


def test_a_listed_token_that_looks_like_a_flag_stays_a_token():
    step = ProjectionStep(TokenChoice(tokens=("--model", "-x", "heart")))
    command = build_command(Spec(step, {"space": "m"}), Path("map.html"))
    assert "--tokens=--model --tokens=-x --tokens=heart" in command
