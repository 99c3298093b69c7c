"""Error analysis in the app: the counts, the cards, slices, the note, hostile words, and what cannot be compared."""

import shutil

import pytest

from tests.finetune_material import tiny_adapted
from tests.pages.test_pages import markup, texts
from tests.run_material import write_runs
from vocadapt.lab.notes import notes_of
from vocadapt.lab.workspace import Workspace
from vocadapt.training.tasks.base import Sentence, Text

PAGE = "pages/train/errors.py"
HOSTILE = "<img/src=x/onerror=alert(1)>"
GOLD = (
    Sentence(("no", "tachycardia", "today"), ("O", "B-D", "O"), "10369876"),
    Sentence((HOSTILE, "$x$", "\u202ered"), ("B-D", "O", "O")),
    *(Sentence(("more", "euthymia", str(n)), ("O", "B-D", "O")) for n in range(8)),
)
NOTHING = [("O", "O", "O")] * len(GOLD)
RIGHT = [one.tags for one in GOLD]
BROKEN = [*RIGHT[:1], ("O", "B-D", "O"), *RIGHT[2:]]


@pytest.fixture(scope="module")
def workspace(tmp_path_factory):
    """Two sets of runs, of a model and of the same one adapted."""
    root = Workspace(tmp_path_factory.mktemp("errors") / "w")
    models = tmp_path_factory.mktemp("models")
    tiny_adapted(models)
    for name, model, said in (
        ("plain", "before", {"base": NOTHING[:1] + RIGHT[1:2] + NOTHING[2:]}),
        ("green", "adapted", {"base": NOTHING, "adapted": BROKEN, "pooled": BROKEN}),
    ):
        folder = write_runs(root, name, GOLD, {1: said})
        for file in ("tokenizer.json", "tokenizer_config.json", "config.json", "vocadapt.json", "base"):
            source = models / model / file
            if source.is_dir():
                shutil.copytree(source, folder / file)
            elif source.is_file():
                shutil.copyfile(source, folder / file)
    return root


def test_the_newest_run_stands_against_the_one_of_one_cut(open_page, workspace):
    app = open_page(PAGE, workspace)
    assert not app.exception and not app.error
    assert app.selectbox(key="baseline").value == "plain · seed 1 · base"
    assert app.selectbox(key="compared").value == "green · seed 1 · pooled"
    assert [heading.value for heading in app.subheader] == ["Where the change comes from", "Which cut was right"]
    body = markup(app)
    assert '<b class="ve-good">9</b><span>fixed' in body and '<b class="ve-bad">1</b><span>broken' in body
    # baseline: 1 of 10 found, none invented, 2/11; compared: 9 of 10, and one invented
    assert any("F1 .182 → .900" in text and "+71.8 points" in text and "95 % interval" in text for text in texts(app))
    assert "paired test" not in body
    assert body.count('data-testid="entry"') == 5 and any("1 to 5 of 9 fixed" in text for text in texts(app))
    assert "10369876 · sentence 1" in body and "tachycardia (new token)" in body and "holds a new token" in body
    assert "fixed" in app.query_params["fate"] and "all" in app.query_params["slice"]


def test_what_is_looked_at_lies_in_the_address(open_page, workspace):
    runs = {"baseline": "plain · seed 1 · base", "compared": "green · seed 1 · pooled"}
    app = open_page(PAGE, workspace, **runs, fate="broken", slice="pieces")
    assert not app.exception
    assert app.selectbox(key="slice").value == "pieces" and "broken" in app.query_params["fate"]
    body = markup(app)
    assert body.count('data-testid="entry"') == 1 and "<img" not in body and "&lt;img/src=x/onerror=alert(1)&gt;" in body
    assert "\u202e" not in body
    app = open_page(PAGE, workspace, fate="nonsense", slice="nonsense", pieces="odd")
    assert not app.exception


def test_find_and_the_fates_narrow_the_list(open_page, workspace):
    app = open_page(PAGE, workspace)
    app.text_input(key="find").set_value("TACHY").run()
    assert not app.exception and markup(app).count('data-testid="entry"') == 1
    app.text_input(key="find").set_value("nothing like it").run()
    assert not app.exception and any(
        "Nothing fixed matches the search" in text and "Nothing under the other tabs does" in text for text in texts(app)
    )
    app.text_input(key="find").set_value("onerror").run()  # the one sentence that is broken
    app.segmented_control(key="fate").set_value("fixed").run()
    assert any("Nothing fixed matches" in text and "Under the other tabs: broken 1" in text for text in texts(app))
    assert not any("<img" in text or "There is nothing fixed" in text for text in texts(app))


def test_the_page_of_the_list_lies_in_the_address(open_page, workspace):
    app = open_page(PAGE, workspace, fate="fixed", page="2")
    assert not app.exception and any("6 to 9 of 9 fixed" in text for text in texts(app))
    titles = app.selectbox(key="noted").options
    assert len(titles) == len(set(titles)) == 4 and all("euthymia" in title for title in titles)
    app.run()
    assert app.query_params["page"] in ("2", ["2"])
    for forged in ("3", "0", "-1", "x", "٢"):
        app = open_page(PAGE, workspace, fate="fixed", page=forged)
        assert not app.exception and any("1 to 5 of 9 fixed" in text for text in texts(app))
        assert "page" not in app.query_params


def test_a_note_is_kept_with_the_workspace(open_page, workspace):
    app = open_page(PAGE, workspace)
    app.text_area[0].set_value("<b>gold is odd</b>").run()
    assert not app.exception
    (note,) = notes_of(workspace).values()
    assert note.text == "<b>gold is odd</b>" and note.about == "tachycardia · 10369876 · sentence 1 · D · missed mended"
    again = open_page(PAGE, workspace)
    assert markup(again).count("&lt;b&gt;gold is odd&lt;/b&gt;") == 1 and "<b>gold" not in markup(again)
    assert again.text_area[0].value == "<b>gold is odd</b>"
    (workspace.root / "notes.json").unlink()


def test_two_cuts_of_one_run_and_the_same_twice(open_page, workspace):
    app = open_page(PAGE, workspace, baseline="green · seed 1 · base", compared="green · seed 1 · pooled")
    assert not app.exception and "Which cut was right" in [heading.value for heading in app.subheader]
    app = open_page(PAGE, workspace, baseline="plain · seed 1 · base", compared="plain · seed 1 · base")
    assert not app.exception and any("Choose two runs" in info.value for info in app.info)


def test_other_settings_of_slices(open_page, workspace):
    app = open_page(PAGE, workspace)
    app.text_input(key="suffix").set_value("-mia").run()
    assert not app.exception and "ends in -mia" in markup(app)
    app.text_input(key="suffix").set_value("").run()
    assert not app.exception and "ends in -ia" in markup(app)


def test_runs_on_other_examples_and_one_alone_are_messages(open_page, tmp_path):
    root = Workspace(tmp_path / "odd")
    write_runs(root, "a", GOLD[:2], {1: {"base": RIGHT[:2]}})
    assert any("Choose two runs" in info.value for info in open_page(PAGE, root).info)
    write_runs(root, "b", GOLD[:3], {1: {"base": RIGHT[:3]}})
    app = open_page(PAGE, root)
    assert not app.exception and app.error
    assert any("were not tested on the same examples" in text for text in texts(app))


def test_texts_with_labels_have_a_page_too(open_page, tmp_path):
    root = Workspace(tmp_path / "texts")
    examples = tuple(Text(str(n), f"{HOSTILE} {n}", (("ill", "well")[n % 2],)) for n in range(4))
    right = [one.labels for one in examples]
    write_runs(root, "a", examples, {1: {"base": [("ill",)] * 4}}, kind="classification")
    write_runs(root, "b", examples, {1: {"base": right}}, kind="classification")
    app = open_page(PAGE, root)
    assert not app.exception and not app.error
    assert markup(app).count('data-testid="entry"') == 2 and "<img" not in markup(app)
