"""The file of a study, and which of its results a changed file finds again."""

import shutil
import time
from pathlib import Path

import pytest

from tests.material.finetuning import sentences, write_conll
from tests.material.input_errors import raises_input_error
from tests.material.lab import write_text
from tests.material.studies import TOY_TASK
from tests.material.tiny_bert import build_tiny_bert
from vocadapt.lab.experiments.studies.grid import expand
from vocadapt.lab.experiments.studies.study_file import read_study

FILE = f"""
name = "s"
seeds = [1, 2]
[settings]
num_epochs = 2
[[variants]]
name = "plain"
model = "model"
[[variants]]
name = "other"
model = "model"
num_epochs = 1
{TOY_TASK}"""


@pytest.fixture(scope="module")
def material(tmp_path_factory):
    folder = tmp_path_factory.mktemp("study")
    build_tiny_bert(folder / "model")
    write_conll(folder / "train.tsv", sentences(4))
    write_conll(folder / "test.tsv", sentences(4, 1))
    return folder


@pytest.fixture
def folder(material, tmp_path):
    shutil.copytree(material, tmp_path / "study")
    return tmp_path / "study"


def write(folder: Path, text: str) -> Path:
    (folder / "s.toml").write_text(text, encoding="utf-8")
    return folder / "s.toml"


def digests(file: Path, root: Path) -> list[str]:
    return [cell.step.digest for cell in expand(read_study(file), root).cells]


def test_the_smallest_file_is_a_grid(folder, tmp_path):
    grid = expand(read_study(write(folder, FILE)), tmp_path / "out")
    assert [(c.variant, c.task, c.seed) for c in grid.cells] == [
        ("plain", "toy", 1),
        ("plain", "toy", 2),
        ("other", "toy", 1),
        ("other", "toy", 2),
    ]
    assert not grid.models  # num_epochs alone adapts nothing: it is a setting of the fine-tuning
    assert [c.step.spec.settings.finetune.epochs for c in grid.cells] == [2, 2, 1, 1]


def test_a_renamed_variant_and_a_moved_file_find_their_results(folder, tmp_path):
    root = tmp_path / "out"
    file = write(folder, FILE)
    before = expand(read_study(file), root)
    for step in before.steps:
        step.find_folder(root).mkdir(parents=True)
        (step.find_folder(root) / "manifest.json").write_text("{}")
    write(folder, FILE.replace('"plain"', '"renamed"'))
    moved = folder.rename(folder.with_name("moved"))
    after = expand(read_study(moved / "s.toml"), root)
    assert [cell.step.name for cell in after.cells] == [cell.step.name for cell in before.cells]
    assert all(cell.step.is_whole(root) for cell in after.cells)


def test_variants_that_differ_in_their_name_alone_share_their_cells(folder, tmp_path):
    """A seed that is given twice counts once."""
    twice = expand(read_study(write(folder, FILE.replace("[1, 2]", "[1, 2, 1]"))), tmp_path / "out")
    assert len(twice.cells) == len(twice.steps) == 4
    grid = expand(read_study(write(folder, FILE.replace("num_epochs = 1\n", ""))), tmp_path / "out")
    assert (len(grid.cells), len(grid.steps)) == (4, 2)


def test_a_change_is_seen_by_what_depends_on_it(folder, tmp_path):
    root = tmp_path / "out"
    before = digests(write(folder, FILE), root)
    other = digests(write(folder, FILE.replace("num_epochs = 1", "num_epochs = 3")), root)
    assert other[:2] == before[:2]
    assert not set(other[2:]) & set(before)
    write(folder, FILE)
    write_conll(folder / "test.tsv", sentences(5, 2))
    assert not set(digests(folder / "s.toml", root)) & set(before)


def test_an_extended_file_keeps_its_paths_and_names(folder, tmp_path):
    write(folder, FILE)
    (folder / "plain").mkdir()  # a folder that is called as a variant is not its name
    above = tmp_path / "above.toml"
    above.write_text('extends = "study/s.toml"\nseeds = [7]\n')
    study = read_study(above)
    assert (study.name, study.seeds) == ("above", (7,))
    assert [one.name for one in study.variants] == ["plain", "other"]
    assert study.variants[0].model == str(folder / "model")
    assert study.tasks[0].inputs["train"] == str(folder / "train.tsv")


def test_an_extended_file_with_two_variants_of_one_name_is_refused(folder, tmp_path):
    write(folder, FILE.replace('"other"', '"plain"'))
    above = tmp_path / "above.toml"
    above.write_text('extends = "study/s.toml"\nseeds = [7]\n')
    with raises_input_error("invalid-study", "plain"):
        read_study(above)


ON_TEXT = """
[[variants]]
name = "{}"
model = "model"
preset = "green-bert"
corpus = "text.txt"
"""


def test_word_vectors_are_trained_once_for_all_variants_that_need_the_same(folder, tmp_path):
    """A model starts from them, and from the text only if its recipe needs it for anything else."""
    write_text(folder / "text.txt")
    variants = ON_TEXT.format("green") + ON_TEXT.format("mean") + 'initializer = "syntactic"\n'
    variants += ON_TEXT.format("cased lines") + "min_length = 30\n"
    variants += ON_TEXT.format("trained").replace("green-bert", "green-bert+mlm") + "length = 32\n"
    root = tmp_path / "out"
    grid = expand(read_study(write(folder, FILE + variants)), root)
    assert len(grid.models) == 4 and len(grid.vectors) == 2
    green, mean, other, trained = grid.models.values()
    assert green.needs == mean.needs == trained.needs != other.needs
    assert green.spec.inputs["vectors"] == (str(green.needs.find_folder(root)),)
    assert "text" not in green.spec.inputs and "text" in trained.spec.inputs
    assert green.given_spec.inputs["text"] == (str(folder / "text.txt"),)
    assert "vectors" not in green.given_spec.inputs

    # They run first; once a model is there, its vectors are not needed any more.
    missing = grid.list_missing(root)
    assert [step.spec.step for step in missing[:6]] == ["vectors"] * 2 + ["adapt"] * 4
    for step in (green, mean, trained):
        step.find_folder(root).mkdir(parents=True)
        (step.find_folder(root) / "manifest.json").write_text("{}")
    assert [step for step in grid.list_missing(root) if step.spec.step == "vectors"] == [
        other.needs
    ]

    # Another text changes the vectors, and with them the models and their cells.
    write_text(folder / "text.txt", seed=2)
    changed = expand(read_study(folder / "s.toml"), root)
    assert not {step.name for step in changed.models.values()} & set(grid.models)
    cells = {cell.step.name for cell in grid.cells if cell.variant == "green"}
    assert cells and not cells & {cell.step.name for cell in changed.cells}


@pytest.mark.parametrize(
    "old, new, code, value",
    [
        ("num_epochs = 2", "num_epoch = 2", "unknown-name", "num_epochs"),
        ("num_epochs = 2", 'num_epochs = "x"', "wrong-type", "num_epochs"),
        ('"other"', '"plain"', "invalid-study", "plain"),
        ('kind = "ner"', 'kind = "nerr"', "unknown-name", "ner?"),
        ("seeds = [1, 2]", "seeds = []", "number-of-values", "Seeds"),
        ("seeds = [1, 2]", "seeds = [-1]", "out-of-range", "Seeds"),
        ("seeds = [1, 2]", 'seeds = "x"', "wrong-type", "seeds"),
        ("seeds = [1, 2]", "seeds = [true]", "wrong-type", "seeds"),
        ('name = "plain"', 'name = "\\u202e"', "invalid-study", r"\u202e"),
        ('name = "plain"', "name = [1]", "invalid-study", "[1]"),
        ('"train.tsv"', '"missing.tsv"', "invalid-study", "missing.tsv"),
        ('"train.tsv"', '""', "invalid-study", "''"),
        ('"train.tsv"', r'"a\u0000b"', "invalid-study", r"a\x00b"),
        ('kind = "ner"\n', "", "invalid-study", "toy"),
        ('model = "model"', 'model = "model"\npreset = "green-bert"', "missing-source", "plain"),
        ("num_epochs = 1", "num_epochs = -1", "out-of-range", "Variant other, task toy"),
        ("[settings]", 'baseline = "pla"\n[settings]', "unknown-name", "plain"),
        ("[settings]", '[[include]]\nvariant = "plan"\n[settings]', "unknown-name", "plain"),
        ("[settings]", '[[exclude]]\ntask = "toy"\n[settings]', "no-cells", "4"),
        (
            "[settings]",
            'baseline = "plain"\n[[exclude]]\nvariant = "plain"\n[settings]',
            "no-cells",
            "plain",
        ),
        ("[settings]", "= [", "invalid-toml", "s.toml"),
    ],
)
def test_a_wrong_file_is_reported(folder, tmp_path, old, new, code, value):
    file = write(folder, FILE.replace(old, new, 1))
    with raises_input_error(code, value):
        expand(read_study(file), tmp_path / "out")


def test_more_than_ten_thousand_cells_are_confirmed(folder, tmp_path):
    seeds = ", ".join(map(str, range(1000)))
    tasks = "".join(
        f'[[tasks]]\nname = "toy {n}"\nkind = "ner"\ntrain = "train.tsv"\ntest = "test.tsv"\n'
        for n in range(5)
    )
    study = read_study(write(folder, FILE.replace("[1, 2]", f"[{seeds}]") + tasks))
    with raises_input_error("many-cells", "12,000"):
        expand(study, tmp_path / "out")
    start = time.perf_counter()
    assert len(expand(study, tmp_path / "out", confirmed=12_000).cells) == 12_000
    assert time.perf_counter() - start < 10


ADAPTED = 'name = "plain"\nmodel = "model"\nvectors = "vectors"'


@pytest.mark.parametrize("key", ["num_epochs", "batch_size", "learning_rate"])
def test_a_key_of_both_commands_in_a_variant_without_pretraining_is_told(folder, tmp_path, key):
    (folder / "vectors").mkdir()
    given = FILE.replace('name = "plain"\nmodel = "model"', f"{ADAPTED}\n{key} = 3")
    with raises_input_error("no-pretraining", "variant plain"):
        expand(read_study(write(folder, given)), tmp_path / "out")


def test_a_key_of_both_commands_is_read_as_the_pretraining_where_there_is_one(folder):
    (folder / "vectors").mkdir()
    given = ADAPTED + '\npreset = "green-bert+mlm"\nnum_epochs = 3\nsettings = { num_epochs = 7 }'
    study = read_study(write(folder, FILE.replace('name = "plain"\nmodel = "model"', given)))
    assert study.variants[0].adapting["num_epochs"] == 3
    assert study.variants[0].training["num_epochs"] == 7
