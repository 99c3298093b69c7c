"""Predictions of other programs, compared with a gold file; and `score` on the command line."""

import json
from dataclasses import replace

import pytest

from tests.material.commands import run_line
from tests.material.input_errors import raises_input_error
from vocadapt.cli import main
from vocadapt.training.examples.examples import SUPERFLUOUS
from vocadapt.training.scoring.summary import is_collapsed
from vocadapt.training.tasks.formats.squad import REPAIRED
from vocadapt.training.tasks.kinds import TASK_KINDS
from vocadapt.training.tasks.kinds.labeled_texts import BY_ORDER
from vocadapt.training.tasks.kinds.qa import UNANSWERED
from vocadapt.training.tasks.predictions import build_tally, score_baseline

GOLD = {
    "ner": "No\tO\ngout\tB-D\n\nIt\tO\n",
    "relations": "index\tsentence\tlabel\n3\ta\tx\n7\tb\ty\n",
    "multilabel": "labels\tsentence\tindex\n0_1,1_0\ta\t9_s0\n0_0,1_1\tb\t9_s1\n0_0,1_0\tc\t8_s0\n",
    "nli": '{"sentence1": "a", "sentence2": "b", "label": "x", "pairID": "p"}\n',
    "qa": json.dumps(
        {
            "data": [
                {
                    "paragraphs": [
                        {
                            "context": "a dog, a cat",
                            "qas": [
                                {
                                    "id": name,
                                    "question": "?",
                                    "answers": [{"text": text, "answer_start": 0}],
                                }
                                for name, text in (("1", "dog"), ("2", "cat"))
                            ],
                        }
                    ]
                }
            ]
        }
    ),
}


@pytest.fixture
def against(tmp_path):
    """Read predictions against the gold file of a kind."""

    def against(kind, text, name="said.tsv", gold=None):
        (tmp_path / f"gold.{kind}").write_text(gold or GOLD[kind])
        (tmp_path / name).write_text(text)
        split = TASK_KINDS[kind].read_split(tmp_path / f"gold.{kind}")
        return TASK_KINDS[kind].read_predictions(tmp_path / name, split)

    return against


def test_tags_in_either_form(against):
    columns = "No O\ngout O\n\nIt B-D\n"
    assert against("ner", columns).predicted == (("O", "O"), ("B-D",))
    conlleval = (  # word, gold, predicted: the last column counts, as it stands
        "No O O\ngout B-D I-D\n\nIt O O\n"
    )
    assert against("ner", conlleval).predicted == (("O", "I-D"), ("O",))
    lines = '{"words": ["No", "gout"], "tags": ["O", "O"]}\n{"words": ["It"], "tags": ["O"]}\n'
    assert against("ner", lines, "said.jsonl").predicted == (("O", "O"), ("O",))


def test_labels_by_id_or_by_order(against):
    in_json = '{"id": 7, "label": "x"}\n{"id": "3", "label": "y"}\n'
    bare = "7\tx\n3\ty\n"
    with_header = f"id\tlabel\n{bare}"
    for text in (in_json, bare, with_header):
        assert against("relations", text).predicted == (("y",), ("x",))
    found = against("relations", "y\nx\n")
    assert (found.predicted, found.notes) == ((("y",), ("x",)), {BY_ORDER: 2})
    assert against("relations", f"{bare}99\tx\n").notes == {SUPERFLUOUS: 1}
    pair = '{"pairID": "p", "label": "z"}\n'
    assert against("nli", pair).predicted == (("z",),)
    lists = (
        '{"id": "9_s1", "labels": []}\n{"id": "9_s0", "labels": ["1", "0"]}\n{"id": "8_s0",'
        ' "label": "0"}\n'
    )
    assert against("multilabel", lists).predicted == (("0", "1"), (), ("0",))


def test_ids_that_cannot_be_followed_are_not_thrown_away(against):
    gold = "index\tsentence\tlabel\n3\ta\tx\n3\tb\ty\n7\tc\ty\n"
    with raises_input_error("repeated-ids", "said.tsv", "'7'", "gold.relations", "'3'", "alone"):
        against("relations", "7\tx\n3\ty\n3\tx\n", gold=gold)
    labels = ["x", "y", "x"]
    found = against("relations", "\n".join(labels), gold=gold)
    assert found.predicted == tuple((label,) for label in labels)


def test_answers_in_either_form_and_missing_ones_are_counted(against):
    found = against("qa", '{"2": "cat", "9": "x"}', "said.json")
    assert found.predicted == ("", "cat") and found.notes == {UNANSWERED: 1, SUPERFLUOUS: 1}
    lines = '{"id": 1, "answer": "dog"}\n{"id": "2", "answer": ""}\n'
    assert against("qa", lines, "said.jsonl").predicted == ("dog", "")


def test_documents_are_judged_as_a_whole(tmp_path, against):
    said = against("multilabel", "0_1,1_0\n0_1,1_0\n0_0,1_0\n").predicted
    gold = TASK_KINDS["multilabel"].read_split(tmp_path / "gold.multilabel")
    example, micro = TASK_KINDS["multilabel"].scorer(), TASK_KINDS["multilabel"].scorer("micro-f1")
    # Document 9 has 0 and 1, 0 was said of it: 1 and .5; document 8 has none and none was said: 1
    # and 1.
    values = example.score_tally(build_tally(gold, said, example)).values
    assert (values["precision"], values["recall"]) == (1.0, 0.75)
    by_sentence = example.score_tally(build_tally(gold, said, example, unit="example"))
    assert (by_sentence.units, by_sentence.values["recall"]) == (3, pytest.approx(2 / 3))
    assert [
        micro.score_tally(build_tally(gold, said, micro, unit=unit)).units
        for unit in ("", "document")
    ] == [3, 2]
    assert (
        micro.score_tally(build_tally(gold, said, micro)).values
        == micro.score_tally(build_tally(gold, said, micro, unit="document")).values
    )


def test_the_baseline_is_in_the_units_of_the_score(tmp_path, against):
    """Never a label: right for 1 of 3 sentences, but for 1 of 2 documents; a run that stays there
    has learned nothing.
    """
    said = against("multilabel", "0_0,1_0\n0_0,1_0\n0_0,1_0\n").predicted
    gold, example = (
        TASK_KINDS["multilabel"].read_split(tmp_path / "gold.multilabel"),
        TASK_KINDS["multilabel"].scorer(),
    )
    score, found = (
        example.score_tally(build_tally(gold, said, example)).value,
        score_baseline(TASK_KINDS["multilabel"], gold, example),
    )
    assert score == 0.5 and 0.5 in found.constants and is_collapsed([score], found)
    scattered = replace(
        gold, examples=tuple(replace(example, document="") for example in gold.examples)
    )
    assert found.constants[0] == found.majority
    assert not is_collapsed([score], score_baseline(TASK_KINDS["multilabel"], scattered, example))
    against("relations", "x\ny\n")
    plain = TASK_KINDS["relations"].read_split(tmp_path / "gold.relations")
    kind = TASK_KINDS["relations"]
    assert score_baseline(kind, plain, kind.scorer("accuracy")).majority == 0.5


def test_documents_that_are_not_known_cannot_be_units(tmp_path, against):
    said = against("relations", "x\ny\n").predicted
    with raises_input_error("no-documents"):
        build_tally(
            TASK_KINDS["relations"].read_split(tmp_path / "gold.relations"),
            said,
            TASK_KINDS["relations"].scorer(),
            unit="document",
        )


@pytest.mark.parametrize(
    ("kind", "text", "code", "values"),
    [
        ("ner", "No\ngout\n\nIt\n", "no-tags", ()),
        ("ner", "No\tO\ngout\tO\n", "other-length", ("1", "2")),
        ("ner", "No\tO\nGOUT\tO\n\nIt\tO\n", "other-sentence", ("1", "2", "'gout'", "'GOUT'")),
        ("ner", "No\tO\n\nIt\tO\n", "other-sentence", ("1", "2", "1")),
        ("relations", "3\ty\n", "missing-predictions", ("1 of 2", "'7'")),
        ("relations", "3\ty\n3\tx\n7\tx\n", "repeated-ids", ("'3'",)),
        ("relations", "y\n", "other-length", ("1", "2")),
        ("relations", '{"id": "3"}\n', "missing-column", ("id",)),
        ("relations", "", "no-examples", ()),
        ("qa", "{", "invalid-json", ()),
        ("qa", "[]", "wrong-type", ()),
        ("qa", '{"1": 3}', "wrong-type", ()),
        ("qa", '{"8": "x"}', "other-questions", ()),
        ("qa", "{}", "wrong-type", ()),
    ],
)
def test_predictions_of_something_else_are_refused(against, kind, text, code, values):
    with raises_input_error(code, *values) as raised:
        against(kind, text)
    assert raised.value.remedy


@pytest.fixture
def score(tmp_path, ask, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def score(kind, options="", **files):
        for name, text in {"gold": GOLD[kind], **files}.items():
            (tmp_path / name).write_text(text)
        return ask(f"score --gold gold --predicted said --kind {kind} {options}")

    return score


def test_score_on_the_command_line(score):
    options = "--scorer entity-strict token --seed 4"
    answer = score("ner", options, said="No O\ngout B-D\n\nIt B-D\n")
    assert (answer["f1"], answer["precision"], answer["recall"]) == (pytest.approx(2 / 3), 0.5, 1.0)
    assert answer["definition"] == TASK_KINDS["ner"].scorer().about and answer["metric"] == "f1"
    assert list(answer["scores"]) == ["entity-strict", "token"] and answer["interval"]["seed"] == 4
    assert answer["by_label"]["D"]["gold"] == 1 and answer["units"] == 2


def test_score_against_other_predictions(score):
    options = "--scorer accuracy --against other --rounds 50"
    answer = score("relations", options, said="3\tx\n7\ty\n", other="3\ty\n7\ty\n")
    found = answer["against"]
    assert (found["a"], found["b"], found["difference"], found["p_mcnemar"]) == (0.5, 1.0, 0.5, 1.0)


def test_mcnemar_of_documents_is_not_given_and_that_is_reported(score, show):
    options = "--scorer accuracy --against other --example-unit document --rounds 20"
    files = {"said": "0_1,1_0\n0_0,1_1\n0_0,1_0\n", "other": "0_0,1_0\n0_0,1_0\n0_0,1_0\n"}
    found = score("multilabel", options, **files)["against"]
    assert found["p_mcnemar"] is None and found["units"] == 2
    shown = show(f"score --gold gold --predicted said --kind multilabel {options}")
    assert "not documents" in shown


@pytest.mark.parametrize(
    ("options", "said"),
    [("--rounds 0 --against said", "--against"), ("--seed -1", "4,294,967,295")],
)
def test_draws_that_cannot_be_are_refused(tmp_path, capsys, monkeypatch, options, said):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "gold").write_text(GOLD["relations"])
    (tmp_path / "said").write_text("x\ny\n")
    command = "score --gold gold --predicted said --kind relations"
    assert run_line(command, *options.split()) == 2
    assert said in capsys.readouterr().err


def test_score_without_draws_and_by_sentence(score):
    said = "0_1,1_0\n0_0,1_0\n0_0,1_0\n"
    answer = score("multilabel", "--rounds 0 --example-unit example", said=said)
    assert "interval" not in answer and answer["units"] == 3
    assert score("multilabel", "--rounds 0", said=said)["units"] == 2


def test_i_without_b_is_reported_for_the_gold_file(score, tmp_path):
    assert score("relations", said="x\ny\n")["rules"] == {"negative": ["false", "DDI-false"]}
    answer = score("ner", "--untyped", said="No\tO\ngout\tI\n\nIt\tO\n")
    assert answer["f1"] == 1.0 and answer["notes"]["entities"] == 1


def test_the_table_for_people_and_the_forms_in_the_help(score, capsys):
    score("qa", said='{"1": "dog", "2": "a cat"}')
    assert main(["score", "--gold", "gold", "--predicted", "said", "--kind", "qa"]) == 0
    out = capsys.readouterr().out
    assert "squad: SQuAD's" in out and "exact" in out and "(1,000 resamples" in out
    with pytest.raises(SystemExit):
        main(["score", "--help"])
    out = capsys.readouterr().out
    assert "entity-strict" in out and '"label": ...' in out


def test_tasks_on_the_command_line(capsys):
    assert main(["tasks", "--json"]) == 0
    every = json.loads(capsys.readouterr().out)
    assert len(every) > 60
    assert {"name", "kind", "labels", "sizes", "license", "metric"} <= set(every[0])
    assert main(["tasks", "list", "--kind", "qa"]) == 0
    assert "qa/Covid-QA" in (out := capsys.readouterr().out) and "mtl/" not in out
    assert main(["tasks", "card", "biobert/Species-800"]) == 0
    assert "not known" in capsys.readouterr().out
    assert main(["tasks", "card", "mednli", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["sizes"]["test"] == {"pairs": 1422}


def test_tasks_download_on_the_command_line(capsys, tmp_path, shared):
    source = shared / "data/qa"
    download = f"tasks download covid-qa --from {source} --out {tmp_path}/q --json"
    assert run_line(download) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["out"] == str(tmp_path / "q") and answer["examples"] == {"test": 1380}
    assert answer["findings"] == [f"test: 234 {REPAIRED}."]
