"""Fingerprints of the examples a model was trained on, stored in its folder, to detect test
examples seen in training.

A fingerprint covers the input, not the labels: the words of a sentence, a text with its pair, a
question's context and the question itself. Case and whitespace are ignored. The folder holds
fingerprints only, never the text.
"""

from collections.abc import Iterable, Sequence
from functools import lru_cache
from hashlib import blake2b
from pathlib import Path

from vocadapt.errors import InputError
from vocadapt.models.adapted_model import SEEN
from vocadapt.system.files import read_whole
from vocadapt.training.examples.examples import Example

SIZE = 8  # bytes of a fingerprint


def compute_fingerprints(example: Example) -> frozenset[str]:
    """Return the fingerprints of an example; a question has two, of its context and of the
    question.
    """
    return frozenset(_print(name, text) for name, text in example.identity.items())


def fingerprint_examples(examples: Iterable[Example]) -> frozenset[str]:
    """Return the fingerprints of all examples."""
    return frozenset().union(*map(compute_fingerprints, examples))


def count_seen(examples: Iterable[Example], seen: frozenset[str]) -> int:
    """Count the examples with a known fingerprint; for questions, of the context or the
    question.
    """
    return sum(not seen.isdisjoint(compute_fingerprints(example)) for example in examples)


def describe_seen(examples: Sequence[Example], seen: frozenset[str]) -> str:
    """Report in a sentence how many of the examples were trained on; "" if none."""
    count = count_seen(examples, seen)
    if not count:
        return ""
    named = f"{count:,} of {len(examples):,} {examples[0].plural}"
    return f"{named} were trained on, so a score on them says little."


def write_seen(seen: Iterable[str], folder: Path) -> None:
    """Write fingerprints to a model's folder, one per line."""
    (folder / SEEN).write_text("".join(f"{one}\n" for one in sorted(seen)), encoding="utf-8")


def read_seen(folder: Path) -> frozenset[str] | None:
    """Read the fingerprints of a model's training examples; None if its folder has none. Raises
    InputError for an invalid file.
    """
    path = folder / SEEN
    if not path.is_file():
        return None
    lines = read_whole(path).decode("utf-8", "replace").split()
    if any(len(line) != 2 * SIZE or not set(line) <= set("0123456789abcdef") for line in lines):
        raise InputError(f"{path}: expected a fingerprint on each line.", "Fine-tune again.")
    return frozenset(lines)


@lru_cache(maxsize=1024)  # many questions share a long context
def _print(kind: str, text: str) -> str:
    read = f"{kind} {' '.join(text.casefold().split())}"
    return blake2b(read.encode("utf-8", "surrogatepass"), digest_size=SIZE).hexdigest()
