"""Texts on which the tokenization of two programs is compared, and the comparison."""

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from typing import Any

from vocadapt.models.edit import Edit
from vocadapt.models.language_model import LanguageModel
from vocadapt.models.load_states import DIFFERS, LOADS
from vocadapt.models.loaders.loader import Finding
from vocadapt.text.tokenization import encode_batch

MAX_WORDS = 20  # number of added words to try
FORMS = ("{}", "{}s", "non{}", "({})-{},", "the {} was")  # each word alone, and within longer words
OFFLINE = {"HF_HUB_OFFLINE": "1", "TRANSFORMERS_OFFLINE": "1"}

Ids = Sequence[Sequence[int]]  # token ids of each text


def list_added_words(edit: Edit) -> list[str]:
    """List the first added words, as they occur in a text."""
    tokens = edit.added[:MAX_WORDS]
    texts = " ".join(map(edit.after.splitter.read_pretoken, tokens))
    return list(dict.fromkeys(texts.split()))


def list_texts(edit: Edit) -> list[str]:
    """List the lines of an edit, and each of the first added words: alone, in longer words, between
    marks and in a sentence.
    """
    words = list_added_words(edit)
    forms = [form.format(word, word) for word in words for form in FORMS]
    return [*edit.lines, *forms]


def encode_texts(model: LanguageModel, texts: Sequence[str]) -> Ids:
    """Return the token ids of texts, special tokens included."""
    return [encoding.ids for encoding in encode_batch(model.fast_tokenizer, texts)]


def compare_ids(texts: Sequence[str], expected: Ids, found: Ids) -> Finding:
    """Compare the token ids of a program with those of the model's tokenizer."""
    pairs = zip(texts, expected, found, strict=True)
    wrong = [text for text, one, other in pairs if list(one) != list(other)]
    if not wrong:
        return LOADS, f"same ids on {len(texts):,} texts"
    return (
        DIFFERS,
        f"other ids on {len(wrong):,} of {len(texts):,} texts, the first is {wrong[0]!r}",
    )


def run_program(command: Sequence[str], content: object, folder: str | None = None) -> Any:
    """Run a program that reads JSON and prints JSON on its last line.

    Returns the reason, as a string, if it failed. Nothing is downloaded.
    """
    done = subprocess.run(
        command,
        input=json.dumps(content),
        capture_output=True,
        text=True,
        encoding="utf-8",
        env={**os.environ, **OFFLINE},
        cwd=folder,
        check=False,
    )
    lines = done.stdout.strip().splitlines()
    if done.returncode or not lines:
        return find_reason(done.stderr)
    return json.loads(lines[-1])


def run_python(script: str, content: object) -> Any:
    """Run a Python script in a new process, without the current folder on its path."""
    return run_program([sys.executable, "-P", "-c", script], content)


def find_reason(output: str) -> str:
    """Return the last line of an error output that names an error, or else its last line."""
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    named = [line for line in lines if "Error" in line.split(":")[0] and ": " in line]
    if named:
        return named[-1]
    return (lines or ["no message"])[-1]
