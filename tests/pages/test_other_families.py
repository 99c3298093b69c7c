"""The pages with models of all tokenizer families: what does not fit the selected model is not offered,
or is refused in the form with the reason.
"""

import shutil
from pathlib import Path

import pytest

from tests.material.apps import list_button_keys
from tests.material.architectures import build_tiny_model
from tests.material.lab import write_text
from vocadapt.lab.inputs.corpora import load_or_count_words, read_corpus
from vocadapt.lab.steps.corpus import CorpusStep
from vocadapt.lab.steps.run import run_step
from vocadapt.lab.steps.step import Spec
from vocadapt.lab.workspace.manifest import Manifest
from vocadapt.lab.workspace.workspace import Workspace
from vocadapt.models.language_model import open_model
from vocadapt.vocabulary.families import FAMILIES

OTHERS = {"roberta": "byte-level-bpe", "xlm-roberta": "unigram", "gpt2": "byte-level-bpe"}


@pytest.fixture(scope="module")
def mixed(tmp_path_factory: pytest.TempPathFactory, tiny_bert: Path) -> Workspace:
    """A workspace with models of three families, and a text whose words are counted for each."""
    workspace = Workspace(tmp_path_factory.mktemp("families") / "mixed")
    shutil.copytree(tiny_bert, workspace.folder("models", "bert"))
    for name in OTHERS:
        build_tiny_model(name, workspace.folder("models", name))
    text = str(write_text(workspace.root.parent / "text.txt"))
    corpus = workspace.folder("corpora", "trials")
    run_step(Spec(CorpusStep(copy=True), {"text": (text,)}), corpus)
    for name in ("bert", *OTHERS):
        folder = workspace.folder("models", name)
        Manifest("models", name, {}, step="convert").save(folder)
        load_or_count_words(workspace.root, read_corpus([corpus]), open_model(folder).splitter)
    return workspace


@pytest.mark.parametrize("name", ["bert", *OTHERS])
def test_the_heuristics_of_an_extension_are_those_of_the_models_family(open_page, mixed, name):
    app = open_page("adapt", mixed, adapt_preset="exbert-no-module", adapt_model=name)
    assert not app.exception and not app.error
    family = OTHERS.get(name, "wordpiece")
    menu = app.selectbox(key=f"adapt_add_by_exbert-no-module_{family}")
    own = list(FAMILIES[family].trainers)
    offered = [option.partition(":")[0] for option in menu.options]
    assert set(offered) == {*own, "words", "savings"}
    # The default is that of the preset, or the trainer of the family: a plan can be made with it.
    assert menu.value == own[0] and "adapt" in list_button_keys(app)
