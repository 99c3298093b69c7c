"""What to look at first: words that the demo was measured on, and sentences of a text."""

import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path

from vocadapt.lab import demo
from vocadapt.lab.inputs.corpora import read_corpus
from vocadapt.lab.reports.recommendation import find_text_name
from vocadapt.lab.workspace.workspace import Artifact, Workspace, list_adapted_models
from vocadapt.models.language_model import LanguageModel
from vocadapt.system.files import read_json_object

LINES = 100  # lines of a text that are considered
MIN_LENGTH, MAX_LENGTH = 40, 250  # characters of an example
READ_LINES = 2_000  # lines of a text that are searched for sentences with new words
N_SENTENCES = 3  # sentences that are offered
MIN_WORDS, MAX_WORDS = 5, 40  # words of such a sentence
MAX_CHARACTERS = 500  # of such a sentence: it is kept in the address
SENTENCE_END = re.compile(r"(?<=[.!?])\s+")


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
            best = line.strip()
            most = pieces
    return best


def list_example_texts(workspace: Workspace, model: LanguageModel) -> list[Artifact]:
    """Return the texts in which examples of a model are looked for: that of its word vectors first,
    if it is known, then the others, newest first.
    """
    corpora = workspace.artifacts("corpora")
    names = set[str]()
    for one in list_adapted_models(workspace):
        given = one.manifest.inputs.get("vectors")
        if one.folder == Path(model.path) and given is not None:
            vectors = workspace.artifacts("vectors")
            names = {find_text_name(found) for found in vectors if found.stamp == given.stamp}
    return sorted(corpora, key=lambda corpus: corpus.name not in names)


def find_new_word_sentences(
    lines: Iterable[str], model: LanguageModel, new: Collection[str]
) -> list[str]:
    """Return the N_SENTENCES sentences with the most new words among the first READ_LINES lines.

    new: the added tokens. Words that an earlier example has count only among sentences that add
    equally many others; then the shorter one comes first. Fewer are returned if no other sentence
    has a new word.

    Example, new words in capitals: "a X b Y", "X Y Z c", "W d" -> "X Y Z c", "W d", "a X b Y".
    """
    # 1. The new words of each sentence of a suitable length.
    known = frozenset(new)
    found = dict[str, set[str]]()
    read = islice(lines, READ_LINES)
    for sentence in chain.from_iterable(SENTENCE_END.split(line.strip()) for line in read):
        words = model.splitter.words(sentence)
        if MIN_WORDS <= len(words) <= MAX_WORDS and len(sentence) <= MAX_CHARACTERS:
            own = known.intersection(map(model.vocabulary.spell, words))
            if own:
                found[sentence] = set(own)

    # 2. One by one, the sentence that adds most.
    chosen = list[str]()
    shown = set[str]()
    while found and len(chosen) < N_SENTENCES:
        ranks = {
            sentence: (len(own - shown), len(own), -len(sentence))
            for sentence, own in found.items()
        }
        best = max(ranks, key=ranks.__getitem__)
        shown |= found.pop(best)
        chosen.append(best)
    return chosen
