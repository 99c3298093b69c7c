"""Paths on the command line that are not regular files, or that cannot be named, read or kept in
memory.

Each command refuses each path immediately in one sentence and leaves no files behind; see
faults.md, section B."""

import gzip
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from tests.material.tiny_bert import TINY_TOKENS
from vocadapt.cli import main
from vocadapt.cli.run import COMMANDS, find_command
from vocadapt.lab.steps.command_lines import build_command
from vocadapt.lab.steps.step import Spec
from vocadapt.lab.steps.vectors import VectorsStep
from vocadapt.text.corpus import CorpusSettings, open_corpus

# `pipe` is a FIFO: every argument that takes a path refuses it, wherever it stands.
PIPES = """
words count pipe --model {model}
words count pipe.txt.gz --model {model}
words count {text} --model pipe
context drug --corpus pipe
context drug --corpus {text} pipe
context ##chy --corpus {text} --model pipe
advise pipe --model {model}
advise {text} --model pipe
advise {text} --model {model} --task pipe
advise {text} --model {model} --workspace pipe
pretrain --from-scratch --corpus pipe --out out
pretrain --from-scratch --corpus {text} --out pipe
pretrain --model pipe --stage whole --corpus {text} --out out
pretrain --model {model} --stage whole --corpus pipe --out out
gates --model {model} --corpus pipe
gates --model pipe --corpus {text}
gates --model {model} --corpus {text} --out pipe
vocabulary extension --model {model} --corpus pipe
vocabulary extension --model pipe --corpus {text}
vocabulary extension --model {model} --corpus {text} --workspace pipe
vectors train pipe --model {model} --out out
vectors train {text} --model pipe --out out
vectors train {text} --model {model} --out pipe
vectors train {text} --model {model} --name x --workspace pipe
vectors contextual --model {model} --corpus pipe --out out
vectors contextual --model {model} --corpus {text} --words pipe --out out
vectors contextual --model pipe --corpus {text} --out out
vectors import pipe --out out
vectors import pipe.vec.gz --out out
vectors import good.vec --model {model} --only-words-of pipe --out out
vectors import ones.npy --words pipe --out out
vectors import good.vec --out pipe
vectors import good.vec --model pipe --fold-case --out out
vectors evaluate pipe
vectors evaluate {vectors} --pairs pipe
vectors evaluate {vectors} --analogies pipe
align --vectors pipe --model {model}
align --vectors {vectors} --model pipe
align --vectors {vectors} --model {model} --save pipe
neighbors drug --vectors pipe --model {model}
neighbors drug --vectors {vectors} --model pipe
change --before pipe --after {vectors}
change --before {model} --after pipe
change --before {model} --after {model} --noise-baseline pipe {model}
tasks list --workspace pipe
tasks card pipe
tasks download covid-qa --from pipe --out out
tasks download covid-qa --from pipes --out out
tasks download covid-qa --out pipe
results pipe
results --workspace pipe
score --gold pipe --predicted tagged.tsv --kind ner
score --gold tagged.tsv --predicted pipe --kind ner
score --gold tagged.tsv --predicted tagged.tsv --against pipe --kind ner
score --gold pipe --predicted pipe --kind qa
score --gold pipe.jsonl --predicted pipe.jsonl --kind relations
demo --out pipe
study plan pipe.toml
study run pipe.toml --out out
study status pipe.toml
study table pipe.toml
study report pipe.toml
study cell pipe.toml 0 --of 1 --out out
search --model {model} --task pipe.toml --out out
search --model pipe --task ner --train tagged.tsv --dev tagged.tsv --test tagged.tsv --out out
search seeds --model {model} --task pipe.toml --out out
reproduce fast-2.1 --data pipe --out out
reproduce fast-2.1 --import pipe --out out
vocabulary compare pipe vocab.txt
vocabulary study --model {model} --corpus pipe
vocabulary study --model pipe --corpus {text}
vocabulary study --model {model} --corpus {text} --workspace pipe
vocabulary trim --model {model} --corpus pipe --cover 1 --out out
pack make --model pipe --adapted {model} --out out
pack make --model {model} --adapted pipe --out out
pack apply --model pipe --pack {text} --out out
pack apply --model {model} --pack pipe --out out
pack remove --model pipe --out out
pack show pipe
vocabulary reduce --model pipe --keep 0.9 --out out
vocabulary reduce --model {model} --keep 0.9 --heuristic freq --corpus pipe --out out
vocabulary reduce --model {model} --keep 0.9 --out pipe
project --model pipe --out m.html
project --vectors pipe --out m.html
project --model {model} --other pipe --out m.html
project --model {model} --out pipe
adapt --model pipe --vectors {vectors} --out out
adapt --model {model} --vectors pipe --out out
adapt --model {model} --corpus pipe --out out
adapt --model {model} --vectors {vectors} --recipe pipe --out out
adapt --model {model} --vectors {vectors} --recipe pipe.toml --out out
adapt --model {model} --vectors {vectors} --out pipe
adapt --model {model} --preset transfer-syntactic --target pipe --out out
certify --before pipe --after {model}
certify --before {model} --after pipe
certify --before {model} --after {model} --text pipe
diagnose pipe
diagnose {model} pipe
relations --model pipe
relations --vectors pipe
relations --model {model} --pairs pipe
initializers --model pipe --vectors {vectors}
initializers --model {model} --vectors pipe
initializers --model {model} --target pipe
initializers --model {model} --target vocab.txt --corpus pipe
initializers --model {model} --vectors {vectors} --text pipe
tokenize text --model pipe
lens pipe --model {model}
lens {text} pipe --model {model}
lens text --model pipe
convert pipe --out out
convert {model} --out pipe
finetune --model pipe --task ner --train tagged.tsv --out out
finetune --model {model} --task ner --train pipe --out out
finetune --model {model} --task ner --train tagged.tsv --dev pipe --out out
finetune --model {model} --task ner --train tagged.tsv --test pipe --out out
finetune --model {model} --task pipe --out out
finetune --model {model} --task pipe.toml --out out
finetune --model {model} --task pipes --out out
finetune --model {model} --task pipes/own.toml --out out
finetune --model {model} --task ner --train tagged.tsv --out pipe
evaluate --run pipe
evaluate --run pipes
predict --model pipe tagged.tsv --out out
predict --model {run} pipe --out out
predict --model {run} pipe --plain --out out
predict --model {run} tagged.tsv --out pipe
zero-shot --model {model} --train pipe --test pipe --vectors {vectors} --out out
zero-shot --model {model} --train squad.json --test pipe --vectors {vectors} --out out
answer --model pipe --context {text} --question who
answer --model {run} --context pipe --question who
compare pipe pipe
compare tagged.tsv pipe --gold tagged.tsv --kind ner
compare tagged.tsv tagged.tsv --gold pipe --kind ner
compare tagged.tsv tagged.tsv --gold tagged.tsv --kind ner --html pipe
jobs list --workspace pipe
workspace list --workspace pipe
workspace rename models/x y --workspace pipe
workspace note models/x text --workspace pipe
workspace delete models/x --workspace pipe
workspace trash --workspace pipe
workspace restore x --workspace pipe
workspace empty-trash --workspace pipe
workspace copy --out copy --workspace pipe
workspace export --out export.zip --workspace pipe
workspace open pipe --out opened
jobs show x --workspace pipe
jobs cancel x --workspace pipe
jobs resume x --workspace pipe
app --workspace pipe
""".strip().splitlines()

# Other things that are no file, through one command for each kind of reader.
READERS = [
    "words count {bad} --model {model}",
    "vectors import {bad} --out out",
    "vectors import ones.npy --words {bad} --out out",
    "vectors evaluate {vectors} --pairs {bad}",
    "adapt --model {model} --vectors {vectors} --recipe {bad} --out out",
    "score --gold {bad} --predicted {bad} --kind ner",
    "score --gold {bad} --predicted {bad} --kind qa",
    "finetune --model {model} --task ner --train {bad} --out out",
    "finetune --model {model} --task {bad} --out out",
    "vocabulary compare {bad} vocab.txt",
    "lens {text} {bad} --model {model}",
    "predict --model {run} {bad} --out out",
    "answer --model {run} --context {bad} --question who",
]
PLACES = [
    "vectors train {text} --model {model} --name x --workspace {bad}",
    "vectors train {text} --model {model} --out {bad}/x",
    "gates --model {model} --corpus {text} --out {bad}/x",
]
BAD = {
    "device": "/dev/zero",
    "socket": "socket",
    "loop": "loop",
    "long": "x" * 5000,
    "long path": "x/" * 3000,
    "nul": "a\0b",
    "not UTF-8": "caf\udce9.txt",
    "hidden": "a\u202eb\x1b[31m",
}
SETTINGS = 'kind = "ner"\n[splits]\ntrain = "pipe"\n'


@pytest.fixture(scope="session")
def run(tmp_path_factory, tiny_bert):
    """A fine-tuned run by its files alone: enough to be opened."""
    from tests.material.runs import write_run
    from tests.material.tiny_bert import build_tiny_bert
    from vocadapt.training.examples.examples import Sentence

    folder = tmp_path_factory.mktemp("runs") / "run"
    write_run(folder, [Sentence(("heart",), ("B",))], {"base": [("B",)]})
    build_tiny_bert(folder, "BertForTokenClassification")
    return folder


@pytest.fixture
def places(tmp_path, text, tiny_bert, vectors, run):
    """Special files in the folder where the command runs, and what the placeholders stand for."""
    import numpy as np

    for name in ("pipe", "pipe.txt.gz", "pipe.vec.gz", "pipe.toml", "pipe.jsonl"):
        os.mkfifo(tmp_path / name)
    (tmp_path / "pipes").mkdir()
    for name in (
        "task.toml",
        "run.json",
        "manifest.json",
        "deepset_covid_qa.json",
        "COVID-QA.json",
    ):
        os.mkfifo(tmp_path / "pipes" / name)
    (tmp_path / "pipes" / "own.toml").write_text(SETTINGS.replace('"pipe"', '"task.toml"'))
    (tmp_path / "loop").symlink_to("loop")
    (tmp_path / "caf\udce9.txt").write_text("heart of the patient\n" * 20)
    (tmp_path / "tagged.tsv").write_text("heart\tB\nof\tO\n")
    (tmp_path / "vocab.txt").write_text("\n".join(TINY_TOKENS) + "\n")
    (tmp_path / "good.vec").write_text("a 1 2\nb 3 4\n")
    np.save(tmp_path / "ones.npy", np.ones((2, 2), dtype=np.float32))
    answered = {"id": "1", "question": "what", "answers": [{"text": "cat", "answer_start": 2}]}
    paragraph = {"context": "a cat", "qas": [answered]}
    (tmp_path / "squad.json").write_text(json.dumps({"data": [{"paragraphs": [paragraph]}]}))
    with socket.socket(socket.AF_UNIX) as listener:
        here = os.open(".", os.O_RDONLY)
        os.chdir(tmp_path)  # a socket's path may be short only
        listener.bind("socket")
        os.chdir(here)
        os.close(here)
        yield {"text": text, "model": tiny_bert, "vectors": vectors, "run": run}


@pytest.mark.parametrize("line", PIPES)
def test_a_pipe_is_refused_at_once_wherever_a_path_is_named(refused, places, line):
    refused(*(word.format(**places) for word in line.split()))


# All readers open files by one function: each test run tries two kinds with each of them.
READ = [
    pytest.param(line, bad, marks=[] if (i + j) % 4 == 0 else pytest.mark.slow)
    for i, line in enumerate(READERS)
    for j, bad in enumerate(BAD)
]


@pytest.mark.parametrize(("line", "bad"), READ)
def test_what_is_no_readable_file_is_refused(refused, places, line, bad):
    err = refused(*(word.format(**places, bad=BAD[bad]) for word in line.split()))
    assert "\u202e" not in err and "\x1b" not in err


@pytest.mark.parametrize(
    "bad", [name for name in BAD if name != "hidden"]
)  # that one can be written
@pytest.mark.parametrize("line", PLACES)
def test_what_is_no_writable_place_is_refused(refused, places, line, bad):
    refused(*(word.format(**places, bad=BAD[bad]) for word in line.split()))


def test_every_command_that_takes_a_path_refuses_a_pipe():
    assert set(COMMANDS) - {find_command(line.split())[0] for line in PIPES} == {"presets"}


HALF = {  # file with half of a character in a text, and a command that reads it
    "ner.jsonl": (
        '{"words": ["a\\ud800"], "tags": ["O"]}',
        "finetune --model {model} --task ner --train ner.jsonl --out out",
    ),
    "text.jsonl": (
        '{"text": "a\\udfff"}',
        "finetune --model {model} --task relations --train text.jsonl --out out",
    ),
    "gold.json": (
        '{"data": [{"context": "\\ud800"}]}',
        "score --gold gold.json --predicted gold.json --kind qa",
    ),
    "said.jsonl": (
        '{"id": "1", "label": "\\ud800"}',
        "score --gold said.jsonl --predicted said.jsonl --kind relations",
    ),
    "said.ner.jsonl": (
        '{"words": ["\\ud800", "of"], "tags": ["B", "O"]}',
        "score --gold tagged.tsv --predicted said.ner.jsonl --kind ner",
    ),
}


@pytest.mark.parametrize("name", HALF)
def test_half_of_a_character_is_refused_with_its_place(refused, places, name):
    content, line = HALF[name]
    Path(name).write_text(content + "\n")
    err = refused(*(word.format(**places) for word in line.split()))
    assert "\\u" in err


def test_a_line_above_the_limit_is_refused_and_the_limit_can_be_raised(refused, places, capsys):
    Path("long.txt.gz").write_bytes(gzip.compress(b"heart\n" + b"drug " * 300_000))
    count = ["words", "count", "long.txt.gz", "--model", places["model"], "--max-line-mb"]
    said = refused(*count, 1)
    assert "line 2:" in said and "1 MB" in said
    assert main([*map(str, count), "2", "--json"]) == 0


def test_the_limit_of_a_line_is_in_the_command_of_a_step(tmp_path):
    settings = VectorsStep(corpus=CorpusSettings(max_line_mb=3))
    spec = Spec(settings, {"text": "a.txt", "model": "m"})
    assert "--max-line-mb 3" in build_command(spec, tmp_path / "v")
    assert Spec.from_json(spec.to_json()) == spec


def test_the_limit_changes_no_digest(text):
    digests = {open_corpus([text], CorpusSettings(max_line_mb=limit)).digest() for limit in (1, 64)}
    assert len(digests) == 1


@pytest.mark.parametrize("content", ["\x1b[31m" * 3000, "\u202e" * 3000, "x" * 30_000])
def test_no_message_repeats_much_of_a_file(refused, places, content):
    Path("own.toml").write_text(f'kind = "{content}"\n[splits]\ntrain = "a"\n', encoding="utf-8")
    Path("own.tsv").write_text(f"heart\tB\textra\n{content}\n", encoding="utf-8")
    for line in ("--task own.toml", "--task ner --train own.tsv"):
        err = refused("finetune", "--model", places["model"], *line.split(), "--out", "out")
        assert "\x1b" not in err and "\u202e" not in err
        assert len(err) < 2000


UNREADABLE = """
words count {closed} --model {model}
vectors import {closed} --out {out}
vectors evaluate {vectors} --pairs {closed}
score --gold {closed} --predicted {closed} --kind ner
adapt --model {model} --vectors {vectors} --recipe {closed} --out {out}
tokenize text --model {folder}
vectors evaluate {folder}
vectors train {text} --model {model} --out {folder}/out
""".strip().splitlines()
AS_ANOTHER = """
import os, sys
sys.path.insert(0, {root!r})
from vocadapt.cli import main
for line in {lines!r}:  # Python's own files may be closed to the other user: all imports happen here
    main(line.replace("/closed", "/missing").replace("/folder", "/new").split())
os.setgid(65534)
os.setuid(65534)
print("as another user", file=sys.stderr)
for line in {lines!r}:
    print(main(line.split()), file=sys.stderr)
"""


@pytest.mark.skipif(
    os.geteuid() != 0, reason="only root can become another user, and root may read everything"
)
def test_what_this_user_may_not_read_is_refused(text, tiny_bert, vectors):
    with (
        tempfile.TemporaryDirectory() as made
    ):  # pytest closes its own folders to others at each start
        place = Path(made)
        place.chmod(0o755)
        given = {
            "model": shutil.copytree(tiny_bert, place / "model"),
            "vectors": shutil.copytree(vectors, place / "vectors"),
        }
        given["text"] = shutil.copyfile(text, place / "text.txt")
        for path in place.rglob("*"):
            path.chmod(0o755)
        (place / "closed").write_text("heart\tB\n")
        (place / "closed").chmod(0)
        (place / "folder").mkdir(mode=0)
        given |= {"closed": place / "closed", "folder": place / "folder", "out": place / "out"}
        lines = [line.format(**given) for line in UNREADABLE]
        code = AS_ANOTHER.format(root=str(Path(__file__).parents[2]), lines=lines)
        done = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, timeout=120, cwd=made
        )
        assert not (place / "out").exists()
    assert "Traceback" not in done.stderr
    said = done.stderr.partition("as another user")[2]
    codes = [line for line in said.splitlines() if line.isdigit()]
    assert codes == ["2"] * len(lines), done.stderr
    assert said.count("permission to read") + said.count("Permission denied") == len(lines), said
