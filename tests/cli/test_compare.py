"""The command compare, in this process: runs, tokenizations of one run, imported predictions,
slices, files, and every error."""

import json

import pytest

from tests.material.finetuning import write_conll
from tests.material.runs import write_run
from vocadapt.__main__ import main
from vocadapt.analysis.errors.slicing import SLICES
from vocadapt.lab.workspace.notes import save_note
from vocadapt.lab.workspace.workspace import Workspace
from vocadapt.training.examples.examples import Sentence, Text

HOSTILE = "<script>alert(1)</script>"
GOLD = (
    Sentence(("anaemia", "today"), ("B-D", "O")),
    Sentence(("a", HOSTILE), ("O", "B-D")),
    Sentence(("high", "fever"), ("B-D", "I-D")),
)
BASE = [("O", "O"), ("O", "B-D"), ("O", "B-D")]
POOLED = [("B-D", "O"), ("O", "O"), ("B-D", "I-D")]


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("compare")
    write_run(folder / "a", GOLD, {"base": BASE})
    write_run(folder / "b", GOLD, {"base": BASE, "adapted": POOLED, "pooled": POOLED})
    write_conll(folder / "gold.txt", GOLD)
    for name, said in (("ours", POOLED), ("theirs", BASE)):
        write_conll(
            folder / f"{name}.txt",
            tuple(Sentence(one.words, tags) for one, tags in zip(GOLD, said, strict=True)),
        )
    return folder


def test_two_runs_have_a_ledger_a_test_and_outcomes(files, ask):
    found = ask("compare", files / "a", files / "b")
    assert set(found) >= {"a", "b", "tokenizations", "test", "outcomes", "ledger"}
    assert found["tokenizations"] == ["base", "pooled"]
    book = found["ledger"]
    assert book["counts"]["fixed"] == 2 and book["counts"]["broken"] == 1
    assert {"kind": "boundary", "first": 1, "second": 0} in book["kinds"]
    assert [entry["event"] for entry in book["entries"]] == [
        "missed → right",
        "boundary → right",
        "right → missed",
    ]
    assert book["entries"][0]["tokenizations"]["base"]["error"] == "missed"
    assert set(book["by_tokenization"]) == {"base", "adapted", "pooled"}


def test_a_single_run_compares_its_tokenizations(files, ask):
    assert ask("compare", files / "b")["tokenizations"] == ["base", "pooled"]
    assert (
        ask("compare", files / "b", "--tokenization", "adapted", "base")["ledger"]["counts"][
            "broken"
        ]
        == 2
    )
    assert ask("compare", files / "b", "--tokenization", "adapted")["tokenizations"] == [
        "base",
        "adapted",
    ]


def test_predictions_of_others(files, ask):
    given = (files / "theirs.txt", files / "ours.txt")
    counts = ask("compare", *given, "--gold", files / "gold.txt", "--kind", "ner")["ledger"][
        "counts"
    ]
    assert (
        counts
        == ask("compare", files / "a", files / "b")["ledger"]["counts"]
        == ask("compare", files / "a", given[1])["ledger"]["counts"]
    )


def test_a_slice_lists_its_entries_only(files, ask):
    found = ask("compare", files / "a", files / "b", "--suffix", "ia")["ledger"]
    assert found["slice"] == "suffix"
    assert [entry["gold"] for entry in found["entries"]] == ["anaemia"]
    assert [
        entry["gold"]
        for entry in ask("compare", files / "a", files / "b", "--slice", "rest")["ledger"][
            "entries"
        ]
    ] == ["high fever", HOSTILE]
    other = ask("compare", files / "a", files / "b", "--suffix=-VER", "--slice", "all")["ledger"]
    assert len(other["entries"]) == 3
    assert other["slices"][0]["title"].endswith(" -ver")
    assert other["slices"][0]["n"] == 1


def test_which_tokenization_was_right_is_reported_for_the_entities_with_that_suffix(
    files, ask, show, tmp_path
):
    """Of three entities one ends in -ia: base predicts none of them, adapted and pooled predict it
    rightly.
    """
    of_all = ask("compare", files / "b")["ledger"]
    assert of_all["by_tokenization"]["base"] == pytest.approx(
        {"precision": 1 / 2, "recall": 1 / 3, "f1": 2 / 5}
    )
    assert of_all["by_tokenization_of"] == "everything"
    html = tmp_path / "e.html"
    found = ask("compare", files / "b", "--suffix", "ia", "--html", html)["ledger"]
    assert found["by_tokenization_of"].endswith(" -ia")
    assert found["by_tokenization"]["base"] == {"precision": 0.0, "recall": 0.0, "f1": 0.0}
    assert (
        found["by_tokenization"]["adapted"]
        == found["by_tokenization"]["pooled"]
        == {"precision": 1.0, "recall": 1.0, "f1": 1.0}
    )
    page = html.read_text(encoding="utf-8")
    assert ".000" in page.split("by tokenization:")[1].split("</table>")[0]
    table = show(f"compare {files}/b --suffix ia").split("by tokenization:")[1]
    assert "0.5" not in table.split("Listed")[0] and "1.000" in table


def test_the_report_and_the_table_are_written_with_the_notes_of_a_workspace(
    files, ask, show, tmp_path
):
    entries = ask("compare", files / "a", files / "b")["ledger"]["entries"]
    save_note(Workspace(tmp_path / "w"), entries[0]["id"], "<b>gold</b>", ["odd"])
    line = f"compare {files}/a {files}/b --html {tmp_path}/e.html --csv {tmp_path}/e.csv"
    shown = show(f"{line} --workspace {tmp_path}/w")
    assert " -ia " in shown and "by tokenization:" in shown
    page = (tmp_path / "e.html").read_text(encoding="utf-8")
    assert "&lt;b&gt;gold&lt;/b&gt; · odd" in page
    assert "<script" not in page
    assert page.count("<article") == 3
    assert (tmp_path / "e.csv").read_text(encoding="utf-8").count("\n") == 4
    assert "already exists" in ask(line, code=2)
    assert show(f"{line} --overwrite")


@pytest.mark.parametrize(
    ("line", "code", "value"),
    [
        ("{f}/a {f}/b {f}/a", "number-of-runs", "3"),
        ("{f}/a", "", "(base)"),
        ("{f}/a {f}/nowhere", "", "nowhere"),
        ("{f}/gold.txt {f}/ours.txt", "", "kind"),
        ("{f}/gold.txt {f}/ours.txt --kind ner", "", "gold labels"),
        ("{f}/a {f}/b --kind qa", "", "different tasks"),
        ("{f}/a {f}/b --slice odd", "unknown-choice", "'odd'"),
        ("{f}/a {f}/b --slice new-token", "missing-input", "tokenizations"),
        ("{f}/a {f}/b --slice unseen", "missing-input", "training examples"),
        ("{f}/a {f}/b --suffix=-", "no-ending", "--suffix"),
        ("{f}/a {f}/b --pieces 1", "out-of-range", "--pieces"),
        ("{f}/a {f}/b --rounds 0", "number-of-tokenizations", "--rounds"),
        ("{f}/a {f}/b --html {t}/none/e.html", "", "{t}/none"),
        ("{f}/a {f}/b --html {t}/e --csv {t}/./e", "same-file", "--csv"),
        ("{f}/a {f}/b --scorer squad", "unknown-choice", "'squad'"),
    ],
)
def test_mistakes(files, tmp_path, refused_with, line, code, value):
    places = {"f": files, "t": tmp_path}
    refused_with(f"compare {line.format(**places)}", code, value.format(**places))


def test_every_slice_is_named_in_the_help(capsys):
    with pytest.raises(SystemExit):
        main(["compare", "--help"])
    shown = " ".join(capsys.readouterr().out.split())
    assert all(name in shown for name in SLICES)


@pytest.fixture(scope="module")
def binary(tmp_path_factory):
    """Four examples of two classes, 1 1 0 0; one program says 1 0 0 0, another 1 1 1 0."""
    folder = tmp_path_factory.mktemp("binary")
    gold = [
        {"id": str(n), "text": f"{n} @A$ and @B$", "label": label} for n, label in enumerate("1100")
    ]
    (folder / "gold.jsonl").write_text("\n".join(map(json.dumps, gold)), encoding="utf-8")
    for name, said in (("few", "1000"), ("many", "1110")):
        lines = (json.dumps({"id": str(n), "label": label}) for n, label in enumerate(said))
        (folder / f"{name}.jsonl").write_text("\n".join(lines), encoding="utf-8")
    return (
        f"{folder}/few.jsonl {folder}/many.jsonl --gold {folder}/gold.jsonl --kind relations"
    ).split()


@pytest.mark.parametrize(
    ("flags", "a", "b", "said"),
    [
        ([], 3 / 4, 3 / 4, "here over both classes, '0' and '1'"),
        (["--negative", "0"], 2 / 3, 4 / 5, "here of the class '1'"),
        (["--negative", "1"], 4 / 5, 2 / 3, "here of the class '0'"),
        (["--scorer", "binary-f1"], 2 / 3, 4 / 5, "here of the class '1'"),
        (["--scorer", "binary-f1", "--positive", "0"], 4 / 5, 2 / 3, "here of the class '0'"),
    ],
)
def test_the_class_of_the_f1_of_a_binary_task_is_reported(
    binary, ask, show, tmp_path, flags, a, b, said
):
    html = tmp_path / "e.html"
    found = ask("compare", *binary, *flags, "--html", html)
    assert (found["test"]["a"], found["test"]["b"]) == pytest.approx((a, b))
    assert said in found["ledger"]["definition"]
    assert said.replace("'", "&#x27;") in html.read_text(encoding="utf-8")
    assert said in show("compare", *binary, *flags)
    gold, predicted = binary[3], binary[1]
    scored = ask(f"score --gold {gold} --predicted {predicted} --kind relations", *flags)
    assert scored["f1"] == pytest.approx(b) and said in scored["definition"]


def test_a_class_without_an_example_is_refused(binary, refused_with):
    refused_with("compare", "", "'no'", also=[*binary, "--negative", "no"])


def test_results_and_evaluate_name_the_class_of_a_binary_task(tmp_path, ask, show):
    examples = tuple(
        Text(str(n), f"text {n}", (label,)) for n, label in enumerate(("yes", "no", "no"))
    )
    said = {"base": [("yes",), ("yes",), ("no",)]}
    for scorer, named in (
        ("macro-f1", "over both classes, 'no' and 'yes'"),
        ("binary-f1", "of the class '1'"),
    ):
        run = str(
            write_run(tmp_path / scorer, examples, said, kind="classification", scorer=scorer)
        )
        found = ask("evaluate --run", run)
        assert found["classes"].startswith(named) and f"; here {named}" in found["definition"]
        assert named in show("evaluate --run", run)
        for form in ("table", "csv", "markdown"):
            shown = show("results --rounds 10 --format", form, run)
            assert named in " ".join(shown.replace("\\", "").split())
