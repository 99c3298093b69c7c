"""What to look at first: words that the demo was measured on, and a sentence of a text."""

from dataclasses import dataclass
from itertools import islice

from vocadapt.files import read_json_object
from vocadapt.lab import demo
from vocadapt.lab.artifacts.corpora import read_corpus
from vocadapt.lab.workspace.workspace import Artifact
from vocadapt.models.language_model import LanguageModel

LINES = 100  # lines of a text that are considered
MIN_LENGTH, MAX_LENGTH = 40, 250  # characters of an example


@dataclass(frozen=True)
class ExampleWord:
    """A word of the demo, and whether the demo's best alignment maps it to a word of its class."""

    word: str
    works: bool


def read_demo_examples(vectors: Artifact) -> tuple[ExampleWord, ...]:
    """Return the measured examples of the demo's word vectors; () for other vectors."""
    if not (demo.is_demo_artifact(vectors, demo.VECTORS) and demo.EXAMPLES.is_file()):
        return ()
    examples = read_json_object(demo.EXAMPLES)["examples"]
    return tuple(ExampleWord(one["word"], one["right"]) for one in examples)


def find_example_line(corpus: Artifact, model: LanguageModel) -> str:
    """Return the line among the first of a text whose words the model splits most, as an example.

    "" if the text holds word counts only, or no line of a suitable length.
    """
    text = read_corpus([corpus.folder])
    if text.counted_by is not None:
        return ""
    best, most = "", 0.0
    for line in islice(text, LINES):
        words = model.splitter.words(line)
        if not (MIN_LENGTH <= len(line) <= MAX_LENGTH and words):
            continue
        pieces = sum(len(model.vocabulary.tokenize_word(word)) for word in words) / len(words)
        if pieces > most:
            best, most = line.strip(), pieces
    return best
