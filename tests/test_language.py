"""The language of the program: retired words stay out, and the glossary is well-formed."""

import ast
import re
from collections.abc import Iterable
from functools import partial

import pytest

from tests.material.sources import ROOT, check_files, list_modules, list_nodes, list_strings, parse

GLOSSARY = (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8")
RETIRED = {  # pattern → what to write instead; add a word as soon as no text contains it
    "lie beside": "next to, stored with",
    "lying beside": "next to, stored with",
    "says nothing here": "does not apply",
    "of that map": "of the alignment",
    "initialisers?": "initializer",
    "centred?": "center",
    "normalised?": "normalize",
    "behaviour": "behavior",
    "neighbours?": "neighbor",
    "hubs? taken down": "CSLS",
    "take hubs": "CSLS",
    "take the mean": "mean-center",
    "bring rows": "scale vectors",
    "further training": "continued pretraining",
    "judge in turn": "cross-validation folds",
    "is shown otherwise": "otherwise only … is shown",
    "lies beside": "next to, stored with",
    "told by": "measured by, detected by",
    "what luck does": "noise baseline",
    "knows no more": "is no better than chance",
    "can never fire": "can never be produced",
    "whatever lengths": "not grouped by length",
    "longest gradient": "max gradient norm",
    "whoever": "the user",
    "what is right": "gold labels",
    "rows? of new tokens": "embeddings of new tokens",
    "the toss of a coin": "at random",
    "tells? all": "lists",
    "was told": "was given",
    "as told": "as described",
    "beside each other": "side by side",
    "otherwise than": "differently from",
    "anew": "again, replaced",
    "the thesis": "Fast 2023",
    "the paper": "author and year",
    "luck": "noise baseline",
    "re-paired": "paired at random",
    "length of the row": "embedding norm",
    "cosine after the map": "alignment cosine",
    "asked for": "requested",
    "cut otherwise": "tokenized differently",
    "no null": "no noise baseline",
    "base says": "base predicts",
    "the same cut": "the same tokenization",
    "goes on": "continues",
    "map behind": "alignment behind",
    "reckoned": "computed",
    "looked at": "selected",
    "says nothing": "does not apply",
}
FLAG = re.compile(r"(?<![\w-])--[a-z]")
COMMAND = re.compile(r"(python -m vocadapt| --[a-z-]+ ?$)")  # a command, or its part after a value
NAMES = {  # part of a public name → what to write instead
    "initialiser": "initializer",
    "neighbour": "neighbor",
    "told": "described, reported",
    "said": "predicted",
    "cuts?": "tokenization",
    "null": "noise baseline",
    "luck": "noise baseline",
    "fates?": "outcome",
    "brought": "imported",
}


def find_words(words: Iterable[str], text: str) -> list[str]:
    """The patterns of words that a text contains, whatever its line ends."""
    plain = re.sub(r"\s+", " ", text)
    return [word for word in words if re.search(rf"\b{word}\b", plain, re.I)]


def find_offenses(source: str) -> list[str]:
    """The retired words in the strings and public names of a source text, with their lines."""
    found = []
    for node in list_nodes(parse(source)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            words = find_words(RETIRED, node.value)
            found += [f"line {node.lineno}: {word!r}, write {RETIRED[word]!r}" for word in words]
        elif isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            if node.name.startswith("_"):
                continue
            words = [word for word in NAMES if re.search(rf"(^|_){word}(_|$)", node.name, re.I)]
            found += [f"line {node.lineno}: {node.name}, write {NAMES[word]!r}" for word in words]
    return found


def test_no_retired_word_is_used():
    check_files(find_offenses, list_modules())


def test_no_retired_word_is_used_in_the_documentation():
    pages = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").glob("*.md"))]
    check_files(partial(find_words, RETIRED), pages)


@pytest.mark.parametrize(
    "source",
    [
        '"""Files that lie beside\n    the model."""',
        'def find_neighbour(): """Return it."""',
        'help = "Take the mean of each side away."',
        'message = f"{flag} says nothing here."',
    ],
)
def test_a_planted_retired_word_is_found(source):
    assert find_offenses(source)


def test_standard_terms_pass():
    source = 'def find_neighbors(): """Return the k nearest neighbors."""'
    assert find_offenses(source) == []


def test_no_data_that_a_page_shows_names_the_thesis():
    """Benchmark cards and lessons are drawn as they are."""
    files = sorted((ROOT / "vocadapt").rglob("*.toml"))
    check_files(partial(find_words, ("the thesis", "the paper")), files)


def flags_in_sentences(source: str) -> list[str]:
    """Strings of a page that name a flag of the command line in a sentence; the arguments of a
    command, and commands themselves, are no sentences.
    """
    return [
        text
        for _, text in list_strings(source)
        if FLAG.search(text) and " " in text.strip() and not COMMAND.match(text)
    ]


def test_no_sentence_of_a_page_names_a_flag():
    # Two files are about the command that starts the app.
    about_the_server = ("server.py", "paths.py")
    pages = list_modules("pages", "vocadapt/ui")
    check_files(flags_in_sentences, [path for path in pages if path.name not in about_the_server])


def test_a_flag_in_a_sentence_is_found():
    in_code = 'st.markdown("On the command line: `change --null X Y`.")'
    in_text = 'st.text(f"Give --text {text} to the step.")'
    assert flags_in_sentences(in_code) and flags_in_sentences(in_text)
    command = 'draw_command(f"python -m vocadapt jobs show {id} --workspace {root}")'
    parts = 'parts = ["--model", name]'
    assert not flags_in_sentences(f"{command}\n{parts}")


def glossary() -> dict[str, str]:
    """Terms of the glossary with their sentences."""
    return dict(re.findall(r"^\| \*\*(.+?)\*\* \| (.+) \|$", GLOSSARY, re.MULTILINE))


def test_the_glossary_has_one_sentence_per_term_in_alphabetical_order():
    terms = glossary()
    assert len(terms) >= 40
    assert list(terms) == sorted(terms, key=str.lower)
    for term, sentence in terms.items():
        assert sentence[0].isupper() and sentence.endswith("."), term
        assert ". " not in sentence.replace("et al. ", ""), term
