"""Odd and invalid examples, given to `finetune` on the command line and to the pages Fine-tune
and Try it."""

import json

import pytest

from tests.material.apps import list_button_keys, read_page
from tests.material.commands import run_line
from tests.material.finetuning import one_thread, sentences, texts, write_conll
from tests.material.questions import questions, squad
from vocadapt.lab.workspace.workspace import Workspace
from vocadapt.training.examples.examples import Answer, Question, Sentence
from vocadapt.training.tasks.formats.conll import EMPTY, INSIDE
from vocadapt.training.tasks.formats.squad import NOT_IN_CONTEXT
from vocadapt.ui.text.markup import plain

FINETUNE, TRY = "finetune", "try"
TWO, OTHER = Sentence(("cancer", "was"), ("B-A", "O")), Sentence(("heart", "was"), ("B-B", "B-A"))
LONG = Sentence(("the",) * 4999 + ("cancer",), ("O",) * 4999 + ("B-Disease",))
LOST = Question("lost", "who", "a trial", (Answer("nobody", 0),))
ENDLESS = Question("q7", "the " * 600, "a trial", (Answer("trial", 2),))
# what is told of a task on the command line and on Fine-tune alike; the first word: whether it can
# be trained on
SAID = {
    "unseen-label": ("fine", "test holds labels that train lacks, so no model can find them: B."),
    "i-without-b": ("fine", f"train: 1 {INSIDE}."),
    "empty-sentences": ("fine", EMPTY),
    "one-class": ("fine", "test holds one class only (ill): a score on it says little."),
    "no-labels": ("fine", "test holds no labels: it can be predicted on, not scored."),
    "lost-answer": ("fine", f"train: 1 {NOT_IN_CONTEXT}."),
    "long-sentence": ("fine", ""),
    "ragged": ("bad", "train.txt"),
    "endless-question": ("bad", "q7"),
}


@pytest.fixture(scope="module")
def tasks(tmp_path_factory):
    """A task.toml of each name in SAID."""
    root = tmp_path_factory.mktemp("bad")
    for name in SAID:
        (root / name).mkdir()
        kind, train, test = _files(root / name, name)
        said = (
            f'name = "{name}"\nkind = "{kind}"\n[splits]\ntrain = "{train.name}"\ntest ='
            f' "{test.name}"\n'
        )
        (root / name / "task.toml").write_text(said, encoding="utf-8")
    return root


def _files(folder, name):
    train, test = folder / "train.txt", folder / "test.txt"
    if name in ("lost-answer", "endless-question"):
        squad(train, [*questions(3), LOST] if name == "lost-answer" else questions(3))
        return "qa", train, squad(test, questions(2) if name == "lost-answer" else [ENDLESS])
    if name == "one-class":
        for file, own in ((train, texts(4)), (test, texts(4)[::2])):
            rows = "".join(f"{one.id}\t{one.text}\t{one.labels[0]}\n" for one in own)
            file.write_text("index\tsentence\tlabel\n" + rows, encoding="utf-8")
        return "classification", train, test
    write_conll(train, sentences(4))
    write_conll(test, sentences(2, 1), tags=name != "no-labels")
    if name == "unseen-label":
        write_conll(train, (TWO, TWO)), write_conll(test, (TWO, OTHER))
    elif name == "long-sentence":
        write_conll(test, (LONG,))
    elif name in ("i-without-b", "empty-sentences", "ragged"):
        more = {
            "i-without-b": "\nthe\tO\ncancer\tI-Disease\n",
            "empty-sentences": "\n\n\n\nthe\tO\n",
            "ragged": "the\n",
        }
        train.write_text(train.read_text(encoding="utf-8") + more[name], encoding="utf-8")
    return "ner", train, test


@pytest.fixture(scope="module")
def trained(tasks, tiny_bert, tmp_path_factory):
    """Fine-tuned through the command line into a workspace: the exit code, the answer and what was
    said, of each task.
    """
    workspace = Workspace(tmp_path_factory.mktemp("bad") / "w")

    def run(name, capsys):
        given = f"--model {tiny_bert} --task {tasks}/{name}/task.toml --num-epochs 1".split()
        with one_thread():
            code = run_line(
                "finetune", *given, "--workspace", workspace.root, "--name", name, "--json"
            )
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return workspace, run


@pytest.mark.parametrize("name", SAID)
def test_on_the_command_line(name, trained, capsys):
    (state, told), (workspace, run) = SAID[name], trained
    code, out, err = run(name, capsys)
    assert code == {"fine": 0, "bad": 2}[state], err
    if state == "bad":
        assert told in err
        assert "Traceback" not in err
        assert not workspace.folder("runs", name).exists()
        return
    answer = json.loads(out, parse_constant=pytest.fail)
    assert any(told in finding for finding in answer["findings"]) or not told
    assert bool(answer["mean"]) == (name != "no-labels")


@pytest.mark.parametrize("name", [name for name in SAID if name != "endless-question"])
def test_on_the_page(name, open_page, tasks, tmp_path):
    state, told = SAID[name]
    app = open_page(
        FINETUNE, tmp_path / "w", typed={"finetune_task": str(tasks / name / "task.toml")}
    )
    assert not app.exception and bool(app.error) == (state == "bad")
    assert told if state == "bad" else plain(told) in read_page(app)
    assert (state == "bad") == ("start_finetune" not in list_button_keys(app))


def test_a_long_sentence_and_a_question_that_fills_the_window_are_tried(open_page, trained, capsys):
    workspace, run = trained
    for name in ("long-sentence", "lost-answer"):
        if not workspace.folder("runs", name).exists():
            run(name, capsys)
    app = open_page(TRY, workspace, try_run="long-sentence · seed 1")
    app.text_area(key="try_sentence").set_value(" ".join(LONG.words)).run()
    assert not app.exception and not app.error
    app = open_page(TRY, workspace, try_run="lost-answer · seed 1")
    app.text_area(key="try_question").set_value(ENDLESS.question).run()
    assert not app.exception and "Question typed" in read_page(app)
