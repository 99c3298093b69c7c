"""Error analysis in the app: counts, cards, slices, notes, hostile words, and runs that cannot
be compared."""

import html
import re
import shutil
from dataclasses import asdict
from functools import partial

import pytest
from streamlit.testing.v1 import app_test

from tests.material.apps import join_values, list_texts, markup, read_page
from tests.material.finetuning import tiny_adapted
from tests.material.fragments import FragmentRunner, rerun_fragment
from tests.material.runs import write_runs
from vocadapt.lab.reports.ledgers import PairSpec, open_pair
from vocadapt.lab.workspace.notes import load_notes
from vocadapt.lab.workspace.slices import save_slice
from vocadapt.lab.workspace.workspace import Workspace
from vocadapt.text.corpus import open_corpus
from vocadapt.training.examples.examples import Sentence, Text
from vocadapt.training.finetune.settings import FinetuneSettings
from vocadapt.ui.parts.errors import comparable, filters, notes
from vocadapt.ui.parts.errors.comparable import Comparable
from vocadapt.ui.parts.errors.view import ShownComparison

PAGE = "errors"
PLAIN_BASE, GREEN_POOLED = "plain · seed 1 · base", "green · seed 1 · pooled"
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
        no_weights = shutil.ignore_patterns("*.safetensors")
        shutil.copytree(models / model, folder, dirs_exist_ok=True, ignore=no_weights)
    return root


def chosen(app):
    """The two sides that a page compares."""
    return [app.selectbox(key=key).value for key in ("errors_baseline", "errors_compared")]


def count_cards(app):
    return markup(app).count('data-testid="entry"')


def test_the_newest_run_is_compared_with_the_one_of_a_single_tokenization(open_page, workspace):
    app = open_page(PAGE, workspace)
    assert not app.exception and not app.error
    assert chosen(app) == [PLAIN_BASE, GREEN_POOLED]
    body = markup(app)
    assert app.button(key="errors_pick_fixed").label == "**9** fixed"  # selected
    assert app.button(key="errors_pick_broken").label == ":violet[**1** broken]"
    # baseline: 1 of 10 found, none invented, 2/11; compared: 9 of 10, and one invented
    (scores,) = [text for text in list_texts(app) if "F1 .182" in text]
    assert ".900" in scores and "+71.8 points" in scores
    assert count_cards(app) == 5 and "of 9" in read_page(app)
    assert "10369876" in body and "tachycardia (new" in body
    assert "few units" in body  # small slices carry a caution
    assert "fixed" in app.query_params["errors_fate"] and "all" in app.query_params["errors_slice"]


def test_a_newer_run_with_other_settings_is_offered_last_and_its_differences_are_named(
    open_page, tmp_path
):
    root = Workspace(tmp_path / "w")
    write_runs(root, "plain", GOLD, {1: {"base": NOTHING}, 2: {"base": NOTHING}})
    pooled = {"base": NOTHING, "adapted": BROKEN, "pooled": BROKEN}
    write_runs(root, "green", GOLD, {2: pooled, 3: pooled})
    quick = asdict(FinetuneSettings(epochs=2))
    write_runs(root, "quick", GOLD, {1: {"base": RIGHT}}, settings=quick)
    write_runs(root, "failed", GOLD, {2: {"base": NOTHING}}, collapsed=True)
    app = open_page(PAGE, root)
    assert not app.exception and not app.warning
    # Seed 2 is the one that both sides have.
    fair = ["plain · seed 2 · base", "green · seed 2 · pooled"]
    assert chosen(app) == fair
    last = app.selectbox(key="errors_compared").options[-1]
    assert last.startswith("quick") and last.endswith("other settings")
    app.selectbox(key="errors_compared").select("quick · seed 1 · base").run()
    assert "model, epochs" in join_values(app.warning)
    # Another baseline is compared with its own fair partner.
    app = open_page(PAGE, root, errors_baseline="green · seed 3 · base")
    assert chosen(app)[1] == fair[0]


def test_the_selection_is_in_the_address(open_page, workspace):
    runs = {"errors_baseline": PLAIN_BASE, "errors_compared": GREEN_POOLED}
    app = open_page(PAGE, workspace, **runs, errors_fate="broken", errors_slice="pieces")
    assert not app.exception
    assert app.selectbox(key="errors_slice").value == "pieces"
    assert "broken" in app.query_params["errors_fate"]
    body = markup(app)
    assert count_cards(app) == 1 and "<img" not in body
    assert "&lt;img/src=x/onerror=alert(1)&gt;" in body
    assert "\u202e" not in body
    app = open_page(
        PAGE, workspace, errors_fate="nonsense", errors_slice="nonsense", errors_pieces="odd"
    )
    assert not app.exception


def test_the_search_and_the_outcomes_filter_the_list(open_page, workspace):
    app = open_page(PAGE, workspace)
    app.text_input(key="errors_find").set_value("TACHY").run()
    assert not app.exception and count_cards(app) == 1
    app.text_input(key="errors_find").set_value("nothing like it").run()
    assert not app.exception and count_cards(app) == 0
    assert app.button(key="errors_pick_broken").label == ":violet[**0** broken]"
    app.text_input(key="errors_find").set_value("onerror").run()  # the one sentence that is broken
    assert app.button(key="errors_pick_broken").label == ":violet[**1** broken]"
    assert count_cards(app) == 0 and not any("<img" in text for text in list_texts(app))


def test_a_count_reruns_the_comparison_alone_and_selects_the_first_page(
    open_page, workspace, monkeypatch
):
    monkeypatch.setattr(app_test, "LocalScriptRunner", FragmentRunner)
    listed = []
    monkeypatch.setattr(
        comparable, "list_imported_predictions", lambda workspace: listed.append(1) or []
    )
    app = open_page(PAGE, workspace, errors_fate="fixed", errors_page="2")
    rerun_fragment(app, app.button(key="errors_pick_broken").click())
    assert not app.exception and listed == [1]  # the page itself ran once
    assert app.query_params["errors_fate"] == "broken"
    assert app.button(key="errors_pick_broken").label == "**1** broken"
    assert count_cards(app) == 1 and not app.title
    # The next run of the page begins with what the click selected.
    app.run()
    assert app.query_params["errors_fate"] == "broken" and listed == [1, 1]
    app.button(key="errors_pick_fixed").click().run()
    assert "1 to" in read_page(app) and "errors_page" not in app.query_params


def test_words_are_searched_when_their_block_is_opened(open_page, workspace):
    app = open_page(PAGE, workspace, errors_fate="fixed")
    assert "**tachycardia** in" not in read_page(app)
    app = open_page(PAGE, workspace, errors_fate="fixed", errors_context="true")
    assert not app.exception and "**tachycardia** in" in read_page(app)


def test_slices_are_links_that_select_and_a_filter_is_removed_by_its_button(open_page, workspace):
    app = open_page(PAGE, workspace, errors_fate="fixed")
    body = markup(app)
    assert 'data-va-field="errors_slice" data-va-word="suffix"' in body
    links = re.findall(r'href="([^"]*errors_slice=suffix)"', body)
    assert links and "errors_fate=fixed" in links[0]  # an address of its own
    app = open_page(PAGE, workspace, errors_slice="suffix", errors_find="tachy")
    labels = [app.button(key=f"errors_clear_{name}").label for name in ("slice", "find")]
    assert "Slice: ends" in labels[0] and "Search: tachy" in labels[1]
    app.button(key="errors_clear_slice").click().run()
    assert not app.exception and app.selectbox(key="errors_slice").value == "all"
    app.button(key="errors_clear_find").click().run()
    assert not any(str(button.key).startswith("errors_clear") for button in app.button)


def test_clicking_the_selected_slice_shows_all_again(monkeypatch):
    monkeypatch.setattr(filters.st, "session_state", {})
    for expected in ("suffix", "all", "suffix"):
        filters.select_slice("suffix")
        assert filters.read_slice() == expected


def test_a_cell_of_the_confusion_matrix_selects_the_entries_behind_it(open_page, workspace):
    cell = "(none) → D"  # the invented entity of the compared run
    app = open_page(PAGE, workspace, errors_cell=cell)
    assert not app.exception and not app.error
    assert app.query_params["errors_cell"] == cell
    (alarms,) = [one for one in app.button if str(one.key).endswith("alarm added")]
    assert alarms.label.startswith("**1**")
    assert count_cards(app) == 1 and "onerror" in markup(app)
    app.button(key="errors_clear_cell").click().run()
    assert "errors_cell" not in app.query_params
    assert app.button(key="errors_pick_fixed").label in ("**9** fixed", ":green[**9** fixed]")
    app = open_page(PAGE, workspace, errors_cell="D → D", errors_fate="fixed")
    assert app.button(key="errors_pick_fixed").label == "**9** fixed"
    app = open_page(PAGE, workspace, errors_cell="<b> → nothing")
    assert not app.exception and count_cards(app) == 0


def test_slices_saved_elsewhere_appear_with_their_score(open_page, workspace, tmp_path):
    shutil.copytree(workspace.root, tmp_path / "w")
    root = Workspace(tmp_path / "w")
    save_slice(root, "<b>mood</b> words", ["Euthymia", "nothing"])
    app = open_page(PAGE, root, errors_slice="own-b-mood-b-words", errors_fate="fixed")
    assert not app.exception and not app.error
    assert app.selectbox(key="errors_slice").value == "own-b-mood-b-words"
    assert app.button(key="errors_pick_fixed").label == "**8** fixed"  # all but tachycardia
    body = markup(app)
    assert "&lt;b&gt;mood&lt;/b&gt; words" in body and "<b>mood" not in body
    assert "--slice own" not in join_values(app.code)


def test_the_pair_of_a_relation_is_marked_in_the_text(open_page, tmp_path):
    root = Workspace(tmp_path / "relations")
    text = "The drug << aspirin >> inhibits [[ COX-2 ]] in mice."
    examples = (Text("1", text, ("CPR:4",)), Text("2", "no pair", ("CPR:3",)))
    write_runs(root, "a", examples, {1: {"base": [("CPR:3",)] * 2}}, kind="relations")
    right = [one.labels for one in examples]
    write_runs(root, "b", examples, {1: {"base": right}}, kind="relations")
    body = markup(open_page(PAGE, root))
    marked = re.findall(r'<mark class="ve-gold">(.*?)</mark>', body)
    pairs = [html.unescape(one).split()[1:2] for one in marked]
    assert ["aspirin"] in pairs and ["COX-2"] in pairs


def test_the_page_of_the_list_is_in_the_address(open_page, workspace):
    app = open_page(PAGE, workspace, errors_fate="fixed", errors_page="2")
    assert not app.exception and "6 to" in read_page(app) and count_cards(app) == 4
    titles = app.selectbox(key="noted").options
    assert len(titles) == len(set(titles)) == 4 and all("euthymia" in title for title in titles)
    app.run()
    assert app.query_params["errors_page"] in ("2", ["2"])
    for forged in ("3", "0", "-1", "x", "٢"):
        app = open_page(PAGE, workspace, errors_fate="fixed", errors_page=forged)
        assert not app.exception and "1 to" in read_page(app)
        assert "page" not in app.query_params


def test_a_note_is_kept_with_the_workspace(open_page, workspace):
    app = open_page(PAGE, workspace)
    written = "<b>odd</b>"
    app.text_area[0].set_value(written).run()
    assert not app.exception
    (note,) = load_notes(workspace).values()
    assert note.text == written
    parts = note.about.split(" · ")
    assert parts[:2] == ["tachycardia", "10369876"] and parts[-1].startswith("missed")
    again = open_page(PAGE, workspace)
    assert markup(again).count(html.escape(written)) == 1 and written not in markup(again)
    assert again.text_area[0].value == written
    (workspace.root / "notes.jsonl").unlink()


def test_two_tokenizations_of_one_run_and_the_same_twice(open_page, workspace):
    two = {"errors_baseline": "green · seed 1 · base", "errors_compared": GREEN_POOLED}
    app = open_page(PAGE, workspace, **two)
    assert not app.exception and len(app.header) == 2  # slices, and scores by tokenization
    app = open_page(PAGE, workspace, errors_baseline=PLAIN_BASE, errors_compared=PLAIN_BASE)
    assert not app.exception and app.info and not app.header


def test_which_tokenization_was_right_follows_the_slice(open_page, workspace):
    app = open_page(PAGE, workspace, errors_slice="suffix")
    assert not app.exception and not app.error
    table = markup(app).split("Score by tokenization")[-1]
    # adapted and pooled find all 9 entities in -ia, and no other: over everything the recall is
    # .900
    assert ".900" not in table and "1.000" in table
    assert "--slice suffix" in join_values(app.code)  # the command of this slice
    assert ".900" in markup(open_page(PAGE, workspace))


def test_other_settings_of_slices(open_page, workspace):
    app = open_page(PAGE, workspace)
    app.text_input(key="errors_suffix").set_value("-mia").run()
    assert not app.exception and "in -mia" in markup(app)
    app.text_input(key="errors_suffix").set_value("").run()
    assert not app.exception and "in -ia" in markup(app)


def test_runs_on_other_examples_and_one_alone_are_messages(open_page, tmp_path):
    root = Workspace(tmp_path / "odd")
    write_runs(root, "a", GOLD[:2], {1: {"base": RIGHT[:2]}})
    assert open_page(PAGE, root).info
    write_runs(root, "b", GOLD[:3], {1: {"base": RIGHT[:3]}})
    app = open_page(PAGE, root)
    assert not app.exception and app.error


def test_texts_with_labels_have_a_page_too(open_page, tmp_path):
    root = Workspace(tmp_path / "texts")
    examples = tuple(Text(str(n), f"{HOSTILE} {n}", (("ill", "well")[n % 2],)) for n in range(4))
    right = [one.labels for one in examples]
    write_runs(root, "a", examples, {1: {"base": [("ill",)] * 4}}, kind="classification")
    write_runs(root, "b", examples, {1: {"base": right}}, kind="classification")
    app = open_page(PAGE, root)
    assert not app.exception and not app.error
    assert count_cards(app) == 2 and "<img" not in markup(app)


def test_the_text_behind_the_words_stands_in_the_command_where_it_is_looked_through(
    open_page, workspace, tmp_path, monkeypatch
):
    (tmp_path / "text.txt").write_text("tachycardia\n", encoding="utf-8")
    monkeypatch.setattr(
        notes.cache, "corpus_behind", lambda run: open_corpus([tmp_path / "text.txt"])
    )
    app = open_page(PAGE, workspace)
    asked = next(code.value for code in app.code if " compare " in code.value)
    assert asked.endswith(f"--corpus {tmp_path / 'text.txt'} --html errors.html")
    monkeypatch.setattr(notes, "AT_MOST", -1.0)  # every text takes longer
    app = open_page(PAGE, workspace)
    assert not app.exception and "--corpus" not in join_values(app.code)


def test_a_text_that_takes_too_long_is_reported_as_left_out(workspace, tmp_path, monkeypatch):
    (tmp_path / "text.txt").write_text("tachycardia\n", encoding="utf-8")
    pair = open_pair(
        PairSpec(*(str(workspace.root / "runs" / name) for name in ("plain", "green")))
    )
    monkeypatch.setattr(
        notes.cache, "corpus_behind", lambda run: open_corpus([tmp_path / "text.txt"])
    )
    one, other = (Comparable(name, name, "ner", "toy", workspace.root, "", 0) for name in "ab")
    made = partial(
        notes.build_report,
        workspace,
        ShownComparison(pair, (one, other)),
        pair.slicing(),
        "all",
        "",
    )
    assert made().corpus is not None and made().why_no_corpus == ""
    monkeypatch.setattr(notes, "AT_MOST", -1.0)
    assert made().corpus is None and made().why_no_corpus in made().html()


def conll(path, tags):
    sentences = (
        "".join(f"{word}\t{tag}\n" for word, tag in zip(one.words, own, strict=True))
        for one, own in zip(PLAIN, tags, strict=True)
    )
    path.write_text("\n".join(sentences), encoding="utf-8")
    return str(path)


PLAIN = (
    Sentence(("no", "fever", "today"), ("O", "B-D", "O")),
    Sentence(("a", "cough"), ("O", "B-D")),
)


def bring(app, **files):
    for role, path in files.items():
        app.text_input(key=f"brought_{role.replace('_', ' ')}_path").set_value(path)
    app.run()
    return app.button(key="take_predictions").click().run()


def read_scores(app):
    """The scores of both sides."""
    (found,) = [text for text in list_texts(app) if "F1 " in text and "→" in text]
    return re.search(r"F1 (\S+) → ([\d.]+)", found).groups()


def test_predictions_of_other_programs_come_in_and_stay(open_page, tmp_path):
    gold = conll(tmp_path / "gold.conll", [one.tags for one in PLAIN])
    bad = conll(tmp_path / "bad.conll", [("O",) * len(one.words) for one in PLAIN])
    half = conll(tmp_path / "half.conll", [("O", "B-D", "O"), ("O", "O")])
    root = Workspace(tmp_path / "w")
    app = bring(open_page(PAGE, root), gold_file=gold, predictions=bad, other_predictions=half)
    assert not app.exception and not app.error
    bad_and_half = ["predictions · bad", "predictions · half"]
    assert chosen(app) == bad_and_half and read_scores(app) == (".000", ".667")
    kept = root.root / "predictions"
    asked = (
        f"compare {kept}/bad/predicted.conll {kept}/half/predicted.conll --gold"
        f" {kept}/bad/gold.conll --kind ner --html"
    )
    assert asked in join_values(app.code)
    both = dict(zip(("errors_baseline", "errors_compared"), bad_and_half, strict=True))
    again = open_page(PAGE, root, **both)
    assert not again.exception and read_scores(again) == (".000", ".667")
    write_runs(root, "own", PLAIN, {1: {"base": [one.tags for one in PLAIN]}})
    both = {"errors_baseline": bad_and_half[1], "errors_compared": "own · seed 1 · base"}
    beside = open_page(PAGE, root, **both)
    assert not beside.exception and not beside.error and read_scores(beside) == (".667", "1.000")
    assert "--tokenization base" in beside.code[0].value and "--kind" not in beside.code[0].value


def test_predictions_for_other_examples_are_refused_by_name(open_page, tmp_path):
    gold = conll(tmp_path / "gold.conll", [one.tags for one in PLAIN])
    (tmp_path / "said.conll").write_text("no\tO\n", encoding="utf-8")
    app = bring(
        open_page(PAGE, tmp_path / "w"), gold_file=gold, predictions=str(tmp_path / "said.conll")
    )
    assert not app.exception and "said.conll: holds" in read_page(app)
    assert not (tmp_path / "w" / "predictions").exists()


def test_two_files_called_alike_come_in_under_two_names(open_page, tmp_path):
    gold = conll(tmp_path / "gold.conll", [one.tags for one in PLAIN])
    first = conll(tmp_path / "model.v1.tsv", [("O",) * len(one.words) for one in PLAIN])
    second = conll(tmp_path / "model.v2.tsv", [one.tags for one in PLAIN])
    root = Workspace(tmp_path / "w")
    app = bring(open_page(PAGE, root), gold_file=gold, predictions=first, other_predictions=second)
    assert not app.exception and not app.error
    assert [name.split()[-1] for name in chosen(app)] == ["model", "model-2"]
    assert read_scores(app) == (".000", "1.000")


def test_predictions_stand_only_beside_those_for_the_same_gold(open_page, tmp_path):
    root = Workspace(tmp_path / "w")
    for name, tag in (("a", "B-D"), ("b", "B-E")):
        gold = conll(tmp_path / f"{name}.conll", [("O", tag, "O"), ("O", "O")])
        bring(open_page(PAGE, root), gold_file=gold, predictions=gold)
    own = "predictions · a"
    app = open_page(PAGE, root, errors_baseline=own)
    assert not app.exception and app.selectbox(key="errors_compared").options == [own]
    write_runs(root, "own", PLAIN, {1: {"base": [one.tags for one in PLAIN]}})
    app = open_page(
        PAGE, root, errors_baseline="predictions · b", errors_compared="own · seed 1 · base"
    )
    assert not app.exception and app.error and "example 1" in read_page(app)


def test_predictions_open_beside_the_newest_run_on_as_many_examples(open_page, tmp_path):
    root = Workspace(tmp_path / "w")
    for name, sentences in (("same", PLAIN), ("other", GOLD[:3])):
        write_runs(root, name, sentences, {1: {"base": [one.tags for one in sentences]}}, task=name)
    gold = conll(tmp_path / "gold.conll", [one.tags for one in PLAIN])
    app = bring(open_page(PAGE, root), gold_file=gold, predictions=gold)
    assert not app.exception and not app.error
    pair = ["same · seed 1 · base", "predictions · gold"]
    assert chosen(app) == pair
    app = open_page(PAGE, root)  # by itself the page begins with a pair that can be compared, too
    assert not app.exception and not app.error and chosen(app) == pair[::-1]


def test_predictions_without_a_comparable_run_are_shown_alone(open_page, tmp_path):
    root = Workspace(tmp_path / "w")
    write_runs(root, "other", GOLD[:3], {1: {"base": RIGHT[:3]}})
    gold = conll(tmp_path / "gold.conll", [one.tags for one in PLAIN])
    app = bring(open_page(PAGE, root), gold_file=gold, predictions=gold)
    assert not app.exception and not app.error and app.info
    assert app.selectbox(key="errors_baseline").value.endswith("gold")


def test_it_begins_with_what_there_is_another_for(open_page, tmp_path):
    root = Workspace(tmp_path / "w")
    right = [one.tags for one in PLAIN]
    for name, task in (("a", "old"), ("b", "old"), ("alone", "new")):
        write_runs(root, name, PLAIN, {1: {"base": right}}, task=task)
    app = open_page(PAGE, root)
    assert not app.exception and not app.error
    assert [name[0] for name in chosen(app)] == ["a", "b"]
