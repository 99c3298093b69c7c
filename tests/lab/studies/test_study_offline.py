"""What only looks at a study or a recipe asks the model hub for nothing, not even for a model that is
in the local cache.
"""

import huggingface_hub
import pytest

from vocadapt.lab.demo import DEMO, MODEL
from vocadapt.lab.experiments.studies.estimates import estimate_grid
from vocadapt.lab.experiments.studies.grid import expand
from vocadapt.lab.experiments.studies.study_file import read_study
from vocadapt.lab.steps.adapt import AdaptStep
from vocadapt.lab.steps.step import Spec
from vocadapt.recipe_changes import choose_recipe

FILE = """
name = "s"
seeds = [1]
[[variants]]
name = "adapted"
model = "org/cached"
preset = "{}"
corpus = "text.txt"
[[tasks]]
name = "t"
kind = "ner"
train = "train.tsv"
test = "train.tsv"
"""


@pytest.fixture
def lookups(monkeypatch):
    """Whether each look at a hub model was limited to the local cache, which has every model."""
    found = []

    def look_up(name, local_files_only=False, **_):
        found.append(local_files_only)
        return str(DEMO.joinpath(*MODEL))

    monkeypatch.setattr(huggingface_hub, "snapshot_download", look_up)
    return found


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "text.txt").write_text("the heart of the patient\n" * 500)
    (tmp_path / "train.tsv").write_text("the\tO\nheart\tB-X\n\n" * 40)
    return tmp_path


@pytest.mark.parametrize("preset", ["green-bert", "green-bert+mlm"])
def test_the_grid_of_a_study_and_its_estimate(lookups, folder, preset):
    (folder / "s.toml").write_text(FILE.format(preset))
    study = read_study(folder / "s.toml")
    grid = expand(study, folder / "out", offline=True)
    assert lookups and all(lookups)
    # An estimate never asks the hub: the grid was expanded before.
    lookups.clear()
    estimate_grid(expand(study, folder / "out"), folder / "out", 1)
    assert not all(lookups)  # of the second expansion
    lookups.clear()
    estimate_grid(grid, folder / "out", 1)
    assert lookups and all(lookups)


def test_the_guards_of_an_adaptation(lookups, folder):
    text = str(folder / "text.txt")
    recipe = choose_recipe({"preset": "green-bert+mlm", "corpus": text})
    inputs = {"model": "org/cached", "text": (text,)}
    spec = Spec(AdaptStep(recipe), inputs, offline=True)
    assert [guard.code for guard in spec.find_guards()] == ["minutes"]
    assert lookups and all(lookups)
