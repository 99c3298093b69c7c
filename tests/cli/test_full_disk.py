"""Every command that writes, on a disk that is really full: one sentence, exit code 2, no traceback, and
nothing incomplete left behind."""

import json
import re
import shutil
import subprocess
from collections import namedtuple
from pathlib import Path

import pytest

from tests.material.runs import write_run
from vocadapt.cli import main
from vocadapt.cli.run import COMMANDS, build_parser, find_command, load_command
from vocadapt.lab.housekeeping.trash import delete_artifact
from vocadapt.lab.jobs import queue
from vocadapt.lab.jobs.status import Status, write_status
from vocadapt.lab.steps.corpus import CorpusStep
from vocadapt.lab.steps.step import Spec
from vocadapt.lab.workspace import strict_json
from vocadapt.lab.workspace.drafts import open_draft
from vocadapt.lab.workspace.manifest import Manifest
from vocadapt.lab.workspace.notes import save_note
from vocadapt.lab.workspace.workspace import Workspace

SIZE = 1 << 20  # bytes of the disk
BLOCK = 4096
JOB = "20260101-000000-000000-corpus"
# {disk}: the full disk, which holds a small workspace {w}. The other places are elsewhere.
LINES = """
demo --out {disk}/out
advise {text} --model {model} --out {disk}/out
vectors train {text} --model {model} --epochs 1 --dim 8 --out {disk}/out
vectors train {text} --model {model} --epochs 1 --dim 8 --workspace {w} --name out
vectors train {text} --model {model} --epochs 1 --dim 8 --out out --checkpoints {disk}/kept
vectors import good.vec --out {disk}/out
vectors contextual --model {model} --corpus {text} --words words.txt --length 16 --out {disk}/out
align --vectors {vectors} --model {model} --save {disk}/out
initializers --vectors {vectors} --model {model} --out {disk}/out
project --model {model} --method pca --out {disk}/out.html
project --model {model} --method pca --out {disk}/out
change --before {model} --after {model} --out {disk}/out
vocabulary reduce --heuristic last --model {model} --keep 0.9 --out {disk}/out
vocabulary trim --model {model} --corpus {text} --cover 1 --out {disk}/out
adapt --model {model} --vectors {vectors} --no-certificate --out {disk}/out
pack make --model {model} --adapted {adapted} --out {disk}/out
pack apply --model {model} --pack {pack} --out {disk}/out
pack remove --model {packed} --out {disk}/out
pretrain --from-scratch --corpus {text} --layers 1 --hidden 64 --vocabulary 200 --num-epochs 1 --out {disk}/out
gates --model {exbert} --corpus {text} --out {disk}/out
convert {bin} --out {disk}/out
tasks download covid-qa --from published --out {disk}/out
finetune --model {model} --task ner --train tagged.tsv --num-epochs 1 --out {disk}/out
predict tagged.tsv --model {run} --out {disk}/out.tsv
zero-shot --model {model} --train squad.json --test other.json --vectors {vectors} --out {disk}/out
compare {run} {run} --tokenization base --html {disk}/out.html
study run study.toml --out {disk}/out
study cell study.toml 0 --of 1 --out {disk}/out
study report study.toml --out empty --to {disk}/out.html
reproduce poerner-cost --import values.csv --workspace {w}
search --model {model} --task ner --train tagged.tsv --dev tagged.tsv --trials 1 --out {disk}/out
search seeds --model {model} --task ner --train tagged.tsv --dev tagged.tsv --out {disk}/out
workspace rename models/small other --workspace {w}
workspace note models/small text --workspace {w}
workspace delete models/small --workspace {w}
workspace restore {deleted} --workspace {w}
workspace copy --workspace {w} --out {disk}/out
workspace export --workspace {w} --out {disk}/out.zip
workspace open exported.zip --out {disk}/out
"""
# Commands that need no room: they write nothing, or only remove.
READS = {
    "words count",
    "context",
    "vectors evaluate",
    "neighbors",
    "diagnose",
    "relations",
    "vocabulary compare",
    "vocabulary study",  # counts that cannot be cached are not fatal
    "vocabulary extension",
    "certify",
    "pack show",
    "tokenize",
    "lens",
    "presets",
    "tasks list",
    "tasks card",
    "score",
    "evaluate",
    "answer",
    "results",
    "study plan",
    "study status",
    "study table",
    "jobs list",
    "jobs show",
    "jobs cancel",  # an empty file
    "jobs resume",  # the status is overwritten in place
    "workspace list",
    "workspace trash",
    "workspace empty-trash",
    "app",
}
READS_OUT = {"study plan", "study status", "study table"}  # their --out is the study that they read
GROWING = ("study run", "study cell", "search")  # their folders grow, and are never written at once
WRITES = ("--out", "--save", "--to", "--html", "--csv", "--checkpoints")
LINES = LINES.strip().split("\n")
LOG = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3} INFO ")
Usage = namedtuple("Usage", "total used free")


def test_every_command_that_writes_has_a_line():
    written = {find_command(line.split())[0] for line in LINES}
    assert written | READS == set(COMMANDS)
    assert not written & READS
    for name in READS - READS_OUT:
        parser = build_parser(name, load_command(name))
        assert not set(WRITES) & set(parser._option_string_actions), name


@pytest.fixture(scope="module")
def sources(tmp_path_factory, text, tiny_bert, vectors) -> dict[str, Path]:
    """What the commands read, on another disk."""
    import torch
    from safetensors.torch import load_file

    from tests.material.tiny_bert import build_tiny_bert
    from vocadapt.training.examples.examples import Sentence

    folder = tmp_path_factory.mktemp("sources")
    run = folder / "run"
    write_run(run, [Sentence(("heart",), ("B",))], {"base": [("B",)]})
    build_tiny_bert(run, "BertForTokenClassification")
    published = shutil.copytree(tiny_bert, folder / "bin")
    torch.save(load_file(published / "model.safetensors"), published / "pytorch_model.bin")
    (published / "model.safetensors").unlink()
    found = {"text": text, "model": tiny_bert, "vectors": vectors, "run": run, "bin": published}
    for name, line in {
        "adapted": "adapt --model {model} --vectors {vectors} --no-certificate",
        "pack": "pack make --model {model} --adapted {adapted}",
        "exbert": "adapt --model {model} --corpus {text} --preset exbert-s5 --no-certificate",
        "packed": "pack apply --model {model} --pack {pack}",
    }.items():
        found[name] = folder / name
        arguments = [word.format(**found) for word in line.split()]
        assert main([*arguments, "--out", str(found[name])]) == 0
    return found


@pytest.fixture(scope="module")
def disk(tmp_path_factory):
    """A small disk of its own: a file system in memory."""
    folder = tmp_path_factory.mktemp("disk")
    command = ["mount", "-t", "tmpfs", "-o", f"size={SIZE}", "tmpfs", str(folder)]
    mounted = subprocess.run(command, capture_output=True, text=True, check=False)
    if mounted.returncode:
        pytest.skip(f"no file system can be mounted here: {mounted.stderr.strip()}")
    yield folder
    subprocess.run(["umount", "-l", str(folder)], check=True)


@pytest.fixture
def places(disk, sources, tmp_path, monkeypatch) -> dict[str, object]:
    """The full disk with a small workspace, and small inputs in the current folder."""
    # 1. Inputs, on another disk.
    monkeypatch.chdir(tmp_path)
    (tmp_path / "good.vec").write_text("heart 1 2\ndrug 3 4\n")
    (tmp_path / "words.txt").write_text("heart\ndrug\n")
    (tmp_path / "tagged.tsv").write_text("heart\tB\nof\tO\n\n" * 4)
    (tmp_path / "lines.txt").write_text("the heart of the patient\n")
    (tmp_path / "study.toml").write_text(
        f'name = "s"\nseeds = [1]\n[[variants]]\nname = "v"\nmodel = "{sources["model"]}"\n'
        '[[tasks]]\nname = "t"\nkind = "ner"\ntrain = "tagged.tsv"\ntest = "tagged.tsv"\n'
    )
    question = {"id": "1", "question": "what", "answers": [{"text": "drug", "answer_start": 4}]}
    paragraph = {"context": "the drug", "qas": [question]}
    squad = json.dumps({"data": [{"paragraphs": [paragraph]}]})
    (tmp_path / "squad.json").write_text(squad)
    (tmp_path / "published").mkdir()
    (tmp_path / "other.json").write_text(
        squad.replace("the drug", "two drug").replace("what", "who")
    )
    (tmp_path / "values.csv").write_text("row,column,value\nGreenBioBERT,CO2,28\n")
    for name in ("COVID-QA.json", "deepset_covid_qa.json"):
        (tmp_path / "published" / name).write_text(squad)

    # 2. A workspace on the small disk.
    for path in disk.iterdir():
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    workspace = Workspace(disk / "w")
    for name in ("small", "gone"):
        with open_draft(workspace.folder("models", name)) as draft:
            Manifest("models", name, {}).save(draft)
        save_note(workspace, f"models/{name}", "a note")
    job = workspace.root / "jobs" / JOB
    job.mkdir(parents=True)
    spec = Spec(CorpusStep(), {"text": str(sources["text"])})
    order = {"spec": spec.to_dict(), "target": "corpora/none", "overwrite": False}
    strict_json.write(job / "spec.json", order)
    write_status(job, Status(state="failed", queued=1, updated=1))
    assert (
        main(["workspace", "export", "--workspace", str(disk / "w"), "--out", "exported.zip"]) == 0
    )
    deleted = delete_artifact(workspace, workspace.artifact("models", "gone"))
    return {**sources, "disk": disk, "w": workspace.root, "job": JOB, "deleted": deleted.id}


def fill(disk: Path, left: int) -> None:
    """Fill a disk up to `left` free bytes."""
    with (disk / "filler").open("wb") as file:
        file.write(b"x" * max(0, shutil.disk_usage(disk).free - left))


# The others take two minutes together.
QUICK = ("advise", "workspace", "pack make", "vectors import", "vocabulary reduce")
CASES = [
    pytest.param(line, left, marks=[] if line.startswith(QUICK) and not left else pytest.mark.slow)
    for line in LINES
    for left in (0, 3 * BLOCK)
]


@pytest.mark.parametrize(("line", "left"), CASES)
def test_a_full_disk_is_one_sentence(line, left, places, monkeypatch, capsys):
    disk = Path(str(places["disk"]))
    fill(disk, left)
    before = list_files(disk)
    # The check before a step would refuse them all: here the disk fills up meanwhile.
    monkeypatch.setattr(shutil, "disk_usage", lambda folder: Usage(10**12, 0, 10**12))
    monkeypatch.setattr(queue, "WORKER", ("-c", "pass"))
    capsys.readouterr()
    code = main([word.format(**places) for word in line.split()])
    # The log of a cell is a file; only the replaced stderr of a test also has it.
    # Guards come before what fails.
    err = "".join(
        one
        for one in capsys.readouterr().err.splitlines(keepends=True)
        if not LOG.match(one) and not one.startswith("warning: ")
    )
    assert "Traceback" not in err
    if left and code in (0, 1):
        return  # there was room
    assert code == 2, err
    assert "full" in err or "No space left" in err or "no space left" in err, err
    assert 1 <= len(err.splitlines()) <= 3
    after = list_files(disk)
    if left and line.startswith(GROWING):
        # What was begun is kept: on a disk with room, the same command continues.
        shutil.copytree(disk / "out", "moved/out")
        places["disk"] = Path("moved").absolute()
        assert main([word.format(**places) for word in line.split()]) == 0, capsys.readouterr().err
        return
    # A folder of the workspace, or of a study, which grows, may stay, without files.
    grown = ("w/", "out/") if line.startswith("study cell") else ("w/",)
    after = {
        name: after[name]
        for name in after
        if name in before or after[name] or not f"{name}/".startswith(grown)
    }
    assert after == before
    assert not Path("out").exists()


def list_files(folder: Path) -> dict[str, bytes]:
    """Return the content of every file, and the name of every folder."""
    return {
        str(path.relative_to(folder)): path.read_bytes() if path.is_file() else b""
        for path in sorted(folder.rglob("*"))
        if path.name != "log.txt"
    }
