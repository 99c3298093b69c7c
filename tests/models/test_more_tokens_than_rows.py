"""A tokenizer with more tokens than the embedding matrix has rows is refused before any work, by every
command that loads the network, with both numbers.
"""

from pathlib import Path

import pytest

from tests.material.finetuning import sentences, write_conll
from tests.material.lab import write_text
from tests.material.runs import write_run
from tests.material.tiny_bert import TINY_TOKENS, build_tiny_bert
from vocadapt.__main__ import main

COMMANDS = ("pretrain", "vocabulary trim", "vectors contextual", "finetune", "predict", "evaluate")


@pytest.mark.parametrize("command", COMMANDS)
def test_it_is_refused_with_both_numbers(
    tmp_path: Path, command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    # 1. A BERT whose tokenizer has a token more than its matrix has rows, and a run of it.
    examples = sentences(20)
    run = write_run(tmp_path / "run", examples, {"base": [one.tags for one in examples]})
    build_tiny_bert(run, head="BertForTokenClassification", num_labels=2)
    folder = build_tiny_bert(tmp_path / "bert")
    build_tiny_bert(tmp_path / "larger", tokens=[*TINY_TOKENS, "tachycardia"])
    for file in (tmp_path / "larger").glob("tokenizer*"):
        for model in (folder, run):
            (model / file.name).write_bytes(file.read_bytes())

    # 2. Each command refuses it.
    text = write_text(tmp_path / "text.txt", 30)
    task = write_conll(tmp_path / "task.conll", examples)
    splits = ["--task", "ner", "--train", str(task), "--test", str(task)]
    arguments = {
        "pretrain": f"--model {folder} --corpus {text} --stage whole --length 32".split(),
        "vocabulary trim": ["--model", str(folder), "--corpus", str(text), "--cover", "1"],
        "vectors contextual": ["--model", str(folder), "--corpus", str(text)],
        "finetune": ["--model", str(folder), *splits],
        "predict": ["--model", str(run), str(task)],
        "evaluate": ["--run", str(run), "--test", str(task)],
    }
    out = [] if command == "evaluate" else ["--out", str(tmp_path / "out")]
    assert main([*command.split(), *arguments[command], *out]) == 2
    message, n_tokens = capsys.readouterr().err, len(TINY_TOKENS)
    assert f"{n_tokens + 1:,} tokens" in message and f"{n_tokens:,} rows" in message
    assert not (tmp_path / "out").exists()
