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


def test_it_is_refused_with_both_numbers(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
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
    out = f"--out {tmp_path}/out"
    given = f"--model {folder} --corpus {text} {out}"
    for line in (
        f"pretrain {given} --stage whole --length 32",
        f"vocabulary trim {given} --cover 1",
        f"vectors contextual {given}",
        f"finetune --model {folder} --task ner --train {task} --test {task} {out}",
        f"predict --model {run} {task} {out}",
        f"evaluate --run {run} --test {task}",
    ):
        assert main(line.split()) == 2, line
        message, n_tokens = capsys.readouterr().err, len(TINY_TOKENS)
        assert f"{n_tokens + 1:,} tokens" in message and f"{n_tokens:,} rows" in message, line
        assert not (tmp_path / "out").exists()
