"""The diagnostics page: tables, cards, relations, uploaded files, hostile names, and its
address."""

import re
import shutil

import numpy as np
import pytest

from tests.material.apps import join_values, list_texts, markup, read_metrics, read_page
from tests.material.workspaces import HOSTILE
from vocadapt.lab.inputs.open_space import open_space
from vocadapt.lab.steps.import_vectors import ImportVectorsStep
from vocadapt.lab.steps.run import run_step
from vocadapt.lab.steps.step import Spec
from vocadapt.lab.workspace.workspace import Workspace
from vocadapt.spaces.diagnostics.diagnosis import LENGTH, diagnose
from vocadapt.spaces.diagnostics.statistics import build_cosine_tables
from vocadapt.spaces.space import EmbeddingSpace
from vocadapt.ui.parts.diagnostics import cached
from vocadapt.ui.parts.diagnostics import page as diagnostics_page
from vocadapt.ui.text.number_formats import fraction

PAGE = "diagnostics"
VECTORS = "word vectors · trials-vectors"


@pytest.fixture
def plane(tmp_path, tiny_bert):
    """A workspace with word vectors whose cosines are known: a·b 0, a·c √½, b·c √½, and a zero
    row.
    """
    file = tmp_path / "plane.vec"
    file.write_text("a 2 0\nb 0 5\nc 1 1\nzero 0 0\n")
    workspace = Workspace(tmp_path / "plane")
    run_step(
        Spec(ImportVectorsStep(), {"file": (str(file),)}), workspace.folder("vectors", "plane")
    )
    return workspace


def test_the_tables_of_the_newest_model_and_the_one_it_was_made_from(open_page, seeded, tiny_bert):
    app = open_page(PAGE, seeded, diagnostics_cosines="true")
    assert not app.exception and not app.error
    shown = app.multiselect(key="diagnostics_spaces").value
    assert shown[1].endswith("trials-model") and len(shown) == 2
    base, adapted = (
        open_space(path).space for path in (tiny_bert, seeded.root / "models" / "trials-model")
    )
    tables = build_cosine_tables([base, adapted])
    shown = markup(app)
    assert fraction(tables.mean_cosine[0][0]) in shown
    assert fraction(tables.mean_cosine[0][1]) in shown
    assert f"n = {tables.common[0][1]}" in shown
    assert shown.count("1.000") == 4  # the base's rows are unchanged in it


def test_numbers_by_hand_and_a_zero_row(open_page, plane):
    app = open_page(PAGE, plane, diagnostics_cosines="true")
    assert not app.exception and not app.error
    assert ">.471<" in markup(app)  # 2 √½ / 3
    assert read_metrics(app)["Mean cosine"] == ".471"
    assert "1 zero" in read_page(app) and "narrow cone" in read_page(app)


def test_spaces_and_tokens_come_from_the_address(open_page, seeded):
    app = open_page(PAGE, seeded, diagnostics_spaces=VECTORS, diagnostics_tokens="words")
    assert not app.exception and app.multiselect(key="diagnostics_spaces").value == [VECTORS]
    assert app.selectbox(key="diagnostics_tokens").value == "words"
    command = next(code.value for code in app.code if " diagnose " in code.value)
    assert command.split()[-2:] == ["--tokens", "words"] and "trials-vectors" in command
    words = read_page(app)
    app.selectbox(key="diagnostics_tokens").select("all").run()
    assert not app.exception and not app.error and read_page(app) != words


def test_hubs_wait_for_a_click(open_page, plane):
    app = open_page(PAGE, plane, diagnostics_hubs="true")
    assert "Hubs" not in markup(app)
    app.button(key="hubs_0").click().run()
    assert not app.exception and not app.error
    assert "for hubs" in read_page(app) and not any(one.label == "Hubness" for one in app.metric)


def test_hubs_are_links_to_their_neighborhoods(open_page, seeded):
    app = open_page(PAGE, seeded, diagnostics_hubs="true")
    app.button(key="hubs_0").click().run()
    assert not app.exception and any(metric.label == "Hubness" for metric in app.metric)
    assert ">Hubs<" in markup(app)
    assert not re.search(r'va-score">\d+\.', markup(app).split(">Hubs<")[1])
    assert len([button for button in app.button if button.key.startswith("hubs_")]) == 1
    hub = re.search(r'data-va-field="diagnostics_hub_0" data-va-word="([^"]+)"', markup(app))[1]
    app = open_page(PAGE, seeded, diagnostics_hubs="true", diagnostics_hub_0=hub)
    assert not app.exception and not app.error
    assert app.title[0].value == "Projection"
    assert app.text_input(key="projection_around").value == hub


def test_relations_on_the_lists_at_hand_and_on_a_file(open_page, plane, tmp_path):
    app = open_page(PAGE, plane, diagnostics_related="true")
    assert app.dataframe[0].value["Relation"].tolist()[:4] == [
        "verb tenses",
        "synonyms",
        "antonyms",
        "unrelated",
    ]
    mine = tmp_path / "mine.tsv"
    mine.write_text("a\tb\tapart\na\tc\tnear\nb\tc\tnear\nnot\there\tnear\n")
    app.segmented_control(key="diagnostics_pairs").set_value("Your file").run()
    assert not app.exception and len(app.dataframe) == 0
    app.text_input(key="pair_file_path").set_value(str(mine)).run()
    assert not app.exception and not app.error
    table = app.dataframe[0].value
    assert table["Relation"].tolist() == ["apart", "near"]
    assert [pairs[0] for pairs in table["Pairs"]] == ["1", "2"]  # of 1 and 3
    own = 2 * np.sqrt(0.5) / 3
    assert table["Corrected"].tolist() == pytest.approx([-own, np.sqrt(0.5) - own])
    assert f"--pairs {mine}" in join_values(app.code)


@pytest.mark.parametrize(
    "content", [b"", b"one word\nand\n", b"a\tb\nc\n", b"caf\xe9\tb\n", bytes(range(256))]
)
def test_a_bad_file_is_a_message(content, open_page, plane, tmp_path):
    (tmp_path / "bad.tsv").write_bytes(content)
    app = open_page(PAGE, plane, diagnostics_related="true", diagnostics_pairs="Your file")
    app.text_input(key="pair_file_path").set_value(str(tmp_path / "bad.tsv")).run()
    assert not app.exception and app.error
    assert join_values(app.code)  # the rest of the page stays


def test_hostile_names_and_words_stay_text(open_page, hostile, tmp_path):
    mine = tmp_path / "mine.tsv"
    mine.write_text(f"{HOSTILE[0]}\t{HOSTILE[1]}\t<b>bold</b>\n{HOSTILE[2]}\t{HOSTILE[3]}\t$x$\n")
    app = open_page(
        PAGE,
        hostile,
        diagnostics_related="true",
        diagnostics_hubs="true",
        diagnostics_pairs="Your file",
        diagnostics_spaces="word vectors · hostile",
    )
    app.text_input(key="pair_file_path").set_value(str(mine)).run()
    app.button(key="hubs_0").click().run()
    assert not app.exception and not app.error and "<img/src" not in markup(app)
    assert [pairs[0] for pairs in app.dataframe[0].value["Pairs"]] == ["1", "1"]
    figure = next(
        chart.proto.spec for chart in app.get("plotly_chart") if "random" in chart.proto.spec
    )
    assert "<b>" not in figure
    assert "&lt;b&gt;" in figure.replace("\\u0026", "&").replace("\\u003c", "<").replace(
        "\\u003e", ">"
    )


@pytest.mark.parametrize(
    "name", ["nosuch/model", "<script>alert(1)</script>", "$x$", "/", "x" * 500]
)
def test_a_space_that_is_none_is_a_message_and_the_others_stay(name, open_page, seeded):
    app = open_page(PAGE, seeded, diagnostics_spaces=VECTORS, diagnostics_cosines="true")
    app.multiselect(key="diagnostics_spaces").set_value([VECTORS, name]).run()
    assert not app.exception and app.error
    assert "heat-map" in markup(app) and "<script>" not in markup(app)


def test_different_widths_have_no_cosine(open_page, seeded, plane, tmp_path):
    root = tmp_path / "both"
    shutil.copytree(seeded.root, root)
    shutil.copytree(plane.root / "vectors" / "plane", root / "vectors" / "plane")
    app = open_page(PAGE, root, diagnostics_cosines="true")
    app.multiselect(key="diagnostics_spaces").set_value([VECTORS, "word vectors · plane"]).run()
    assert not app.exception and not app.error and ">–<" in markup(app)


def test_nothing_is_computed_before_it_is_opened(open_page, seeded, monkeypatch):
    monkeypatch.setattr(cached, "score_lists", lambda *arguments: 1 / 0)
    app = open_page(PAGE, seeded)
    assert not app.exception and not app.error
    assert "heat-map" not in markup(app) and not app.dataframe and len(app.expander) == 4


def test_colors_follow_the_kind_of_the_space(open_page, seeded):
    app = open_page(PAGE, seeded)
    shown = " ".join(list_texts(app))
    # blue: the base, green: the adapted model
    assert ":blue[**" in shown and ":green[**trials\\-model**]" in shown
    app.multiselect(key="diagnostics_spaces").set_value([VECTORS]).run()
    assert ":orange[**trials\\-vectors**]" in read_page(app)


def test_original_and_added_tokens_are_judged_apart():
    originals, added = np.linspace(1.0, 1.2, 100), np.full(100, 0.4)
    lengths = np.concatenate([originals, added])
    words = tuple(f"w{i}" for i in range(200))
    space = EmbeddingSpace(words, np.stack([lengths, np.ones(200) * 0.01], axis=1))
    found = diagnose(space, hubs=False, added=frozenset(words[100:]))
    assert found.original_norms.mean == pytest.approx(1.1, abs=0.01)
    assert found.norms.mean == pytest.approx(0.75, abs=0.01)
    assert LENGTH.write(found).split(" ± ") == [".750", ".352"]
    assert diagnostics_page.describe_lengths(found).split(" · ")[1].startswith("added .400")
    assert diagnostics_page.describe_lengths(diagnose(space, hubs=False)) is None
    shown = {one.code: one.sentence for one in found.findings}
    # with the added ones, 5 % would be below a third of the median
    assert "uneven_lengths" not in shown
    assert "= 100" in shown["frequent_shorter"]
    assert ".36 times" in shown["added_differ"]
    unchanged = diagnose(space, hubs=False)
    assert unchanged.original_norms == unchanged.norms and unchanged.added_norms is None


def test_one_word_is_too_little_to_say(open_page, tmp_path):
    (tmp_path / "one.vec").write_text("alone 1 2\n")
    workspace = Workspace(tmp_path / "one")
    run_step(
        Spec(ImportVectorsStep(), {"file": (str(tmp_path / "one.vec"),)}),
        workspace.folder("vectors", "one"),
    )
    app = open_page(PAGE, workspace)
    assert not app.exception and not app.error
    assert "Too few" in read_page(app)
