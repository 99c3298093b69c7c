"""Benchmark cards: their required contents, and downloads from a folder and from a server."""

import hashlib
import shlex
import threading
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

import pytest

from tests.material.cases import check_each
from tests.material.commands import run_line
from tests.material.input_errors import raises_input_error
from tests.material.stated_numbers import find_numbers
from vocadapt.errors import InputError
from vocadapt.lab.inputs.tasks import fetch_benchmark, find_task
from vocadapt.lab.workspace.manifest import Manifest
from vocadapt.lab.workspace.workspace import Workspace
from vocadapt.training.examples.examples import name_fold
from vocadapt.training.tasks import benchmarks as card_module
from vocadapt.training.tasks.benchmarks import ACCESS, Card, CardFile, cards, find_card, groups
from vocadapt.training.tasks.kinds import TASK_KINDS
from vocadapt.training.tasks.splits import SPLITS
from vocadapt.training.tasks.task import read_task, read_task_file

EVERY = cards().values()


def test_every_benchmark_of_the_papers_has_a_card():
    families = {
        family: [card for card in EVERY if card.family == family]
        for family in {card.family for card in EVERY}
    }
    assert len(families["biobert"]) == 8 and all(card.kind == "ner" for card in families["biobert"])
    assert len(families["bio-lm"]) == 18
    assert {"mtl/NCBI-disease", "mtl/BC5CDR-disease", "qa/Covid-QA"} <= set(cards())
    assert {card.kind for card in EVERY} == set(TASK_KINDS) - {"classification"}


def test_the_groups_are_those_of_fast_2023():
    assert {name: len(tasks) for name, tasks in groups().items()} == {
        "sequence labeling": 11,
        "classification": 7,
        "PubMed": 13,
        "clinical": 5,
    }


@check_each("card", EVERY, lambda card: card.name)
def test_a_card_is_whole(card):
    assert card.kind in TASK_KINDS and TASK_KINDS[card.kind].scorer(card.scorer).name == card.scorer
    assert card.metric and card.source and card.access in ACCESS
    assert set(card.sizes) <= set(SPLITS) and set(card.files) <= set(SPLITS)
    assert all(count > 0 for held in card.sizes.values() for count in held.values())
    assert card.free == (card.access == "free") and (card.free or not card.base or not card.files)
    assert bool(card.folds) == any("{fold}" in file.path for file in card.files.values())
    assert set(card.negative) <= set(card.labels) and len(set(card.labels)) == len(card.labels)
    assert all(len(file.sha256) in (0, 64) for file in card.files.values())
    assert card.where


def test_a_card_is_found_by_its_short_name_where_only_one_has_it():
    assert find_card("mtl/NCBI-disease") is find_card("MTL/ncbi-disease")
    assert find_card("mednli").name == "bio-lm/MedNLI"
    with raises_input_error("ambiguous-benchmark", "bio-lm/NCBI-disease", "biobert/"):
        find_card("NCBI-disease")
    with raises_input_error("unknown-benchmark", "bio-lm/MedNLI"):
        find_card("MedNIL")
    with raises_input_error("unknown-benchmark", "zzzzzz"):
        find_card("zzzzzz")


TAGGED = "Gout\tB-D\nis\tO\n\n"
SUM = hashlib.sha256(TAGGED.encode()).hexdigest()
FREE = Card(
    "x/free",
    "ner",
    labels=("D",),
    scorer="entity-strict",
    access="free",
    base="http://127.0.0.1:9/data",
    files={"train": CardFile("t/train.txt", SUM), "test": CardFile("t/test.txt")},
)
ZIPPED = Card(
    "x/zip",
    "ner",
    access="free",
    base="http://127.0.0.1:9/",
    files={
        "train": CardFile("a.zip", member="in/train.tsv"),
        "dev": CardFile("a.zip", SUM, member="in/dev.tsv"),
    },
)


@pytest.fixture
def known(monkeypatch):
    """Two free benchmarks of our own."""
    monkeypatch.setattr(card_module, "cards", lambda: {card.name: card for card in (FREE, ZIPPED)})


@pytest.fixture
def source(tmp_path):
    """A folder with their files."""
    (tmp_path / "source" / "t").mkdir(parents=True)
    for name in ("train.txt", "test.txt"):
        (tmp_path / "source" / "t" / name).write_text(TAGGED)
    with zipfile.ZipFile(tmp_path / "source" / "a.zip", "w") as packed:
        for name in ("train", "dev"):
            packed.writestr(f"in/{name}.tsv", TAGGED)
    return tmp_path / "source"


def test_a_download_is_a_task_with_a_manifest(known, source, tmp_path):
    made, manifest = fetch_benchmark("free", tmp_path / "out", str(source))
    assert made.splits == {"train": "train.txt", "test": "test.txt"}
    assert made.sha256 == {"train.txt": SUM, "test.txt": SUM}
    assert read_task_file(tmp_path / "out" / "task.toml") == made
    task = read_task(tmp_path / "out")
    assert (task.name, task.labels, len(task.split("train"))) == ("x/free", ("D",), 1)
    assert Manifest.load(tmp_path / "out").numbers == manifest.numbers
    assert manifest.numbers["examples"] == {"train": 1, "test": 1}
    assert Manifest.load(tmp_path / "out").list_foreign_files(tmp_path / "out") == []
    assert manifest.command.split()[3:7] == ["tasks", "download", "x/free", "--out"]


def test_files_that_one_brings(tmp_path, capsys):
    """GAD is not free, and has folds: what lies in a folder becomes a task all the same."""
    for fold in range(1, 11):
        (tmp_path / "gad" / str(fold)).mkdir(parents=True)
        (tmp_path / "gad" / str(fold) / "train.tsv").write_text("@GENE$ and @DISEASE$\t1\n" * fold)
        (tmp_path / "gad" / str(fold) / "test.tsv").write_text(
            "index\tsentence\tlabel\n0\t@GENE$ or @DISEASE$\t0\n"
        )
    made, manifest = fetch_benchmark("bio-lm/GAD", tmp_path / "out", str(tmp_path / "gad"))
    assert (made.folds, len(made.sha256)) == (10, 20)
    task = read_task(tmp_path / "out", fold=7)
    assert task.name == name_fold("bio-lm/GAD", 7)
    assert len(task.split("train")) == 7
    assert task.labels == ("0", "1")
    assert manifest.numbers["examples"] == {"train": 1, "test": 1}
    assert manifest.numbers["folds"] == 10
    assert manifest.numbers["by_fold"] == {"train": list(range(1, 11)), "test": [1] * 10}
    download = f"tasks download gad --from {tmp_path}/gad --out {tmp_path}/said"
    assert run_line(download) == 0
    # One example in the first of 10 folds, 1 to 10 in all of them.
    assert [1, 10, 1, 10] in map(find_numbers, capsys.readouterr().out.splitlines())
    (tmp_path / "gad" / "3" / "test.tsv").unlink()
    with raises_input_error("missing-file", "3/test.tsv"):
        fetch_benchmark("bio-lm/GAD", tmp_path / "other", str(tmp_path / "gad"))


def test_every_fold_is_read(tmp_path):
    """What is worth knowing of fold 4 alone is said of it; a label that is none there refuses the
    whole.
    """
    for fold in range(1, 11):
        (tmp_path / "gad" / str(fold)).mkdir(parents=True)
        both = "@GENE$ and @DISEASE$\t1\n@GENE$ or @DISEASE$\t0\n"
        (tmp_path / "gad" / str(fold) / "train.tsv").write_text(
            both if fold != 4 else both.splitlines(True)[0] * 2
        )
        (tmp_path / "gad" / str(fold) / "test.tsv").write_text(both)
    _, manifest = fetch_benchmark("bio-lm/GAD", tmp_path / "out", str(tmp_path / "gad"))
    one_class, unseen = manifest.numbers["findings"]
    assert find_numbers(one_class) == [4, 1]  # the fold, and the class
    assert find_numbers(unseen) == [4, 0]
    (tmp_path / "gad" / "9" / "test.tsv").write_text("@GENE$ and @DISEASE$\tmaybe\n")
    with raises_input_error("unlisted-label", "maybe"):
        fetch_benchmark("bio-lm/GAD", tmp_path / "other", str(tmp_path / "gad"))


def test_the_command_of_a_download_names_its_source(known, source, tmp_path):
    spaced = source.rename(tmp_path / "my source")
    command = fetch_benchmark("free", tmp_path / "out", str(spaced))[1].command
    assert shlex.split(command)[-2:] == ["--from", str(spaced)]


def test_files_may_lie_without_their_folders(known, source, tmp_path):
    fetch_benchmark("free", tmp_path / "out", str(source / "t"))
    assert (tmp_path / "out" / "train.txt").read_text() == TAGGED


def test_members_of_a_zip(known, source, tmp_path):
    fetch_benchmark("x/zip", tmp_path / "out", source.as_uri())
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == [
        "dev.tsv",
        "manifest.json",
        "task.toml",
        "train.tsv",
    ]


class Silent(SimpleHTTPRequestHandler):
    """Serves files without a log."""

    def log_message(self, *arguments):
        pass


class Endless(Silent):
    """Answers with a file that does not end, and does not say how large it is."""

    def do_GET(self):
        self.send_response(200)
        self.end_headers()
        with suppress(ConnectionError):
            while True:
                self.wfile.write(b"a\tO\n" * 10_000)


class Chunked(Silent):
    """Answers with a small file in many short chunks."""

    protocol_version = "HTTP/1.1"

    def do_GET(self):
        self.send_response(200)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for _ in range(2_000):
            self.wfile.write(b"8\r\na\tO\na\tO\n\r\n")
        self.wfile.write(b"0\r\n\r\n")


class Huge(Silent):
    """Says that a file is large, and sends little of it."""

    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Length", str(10**15))
        self.end_headers()
        self.wfile.write(b"a" * 10_000)


@contextmanager
def serve(handler) -> Iterator[str]:
    """Start a server on this machine; yield its address."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()


def test_a_server(known, source, tmp_path):
    with serve(partial(Silent, directory=str(source))) as address:
        fetch_benchmark("free", tmp_path / "out", address)
        assert (tmp_path / "out" / "train.txt").read_text() == TAGGED
        with raises_input_error("not-fetched", "404"):
            fetch_benchmark("free", tmp_path / "other", f"{address}/elsewhere")
    assert not (tmp_path / "other").exists()


@pytest.mark.parametrize("handler", [Endless, Huge])
def test_a_download_ends_at_the_largest_size(handler, known, tmp_path, monkeypatch):
    monkeypatch.setattr(card_module, "MAX_FILE_BYTES", 1_000_000)
    with serve(handler) as address, raises_input_error("large-file"):
        fetch_benchmark("free", tmp_path / "out", address)
    assert list(tmp_path.iterdir()) == []


def test_the_size_of_a_download_is_that_of_its_content(tmp_path, monkeypatch):
    monkeypatch.setattr(card_module, "MAX_FILE_BYTES", 20_000)
    with serve(Chunked) as address:
        card_module._retrieve(f"{address}/train.txt", tmp_path / "train.txt", "")
    assert (tmp_path / "train.txt").read_bytes() == b"a\tO\na\tO\n" * 2_000


def test_a_file_that_was_changed_is_refused_and_nothing_stays(known, source, tmp_path):
    (source / "t" / "train.txt").write_text("other\tO\n")
    with raises_input_error("changed-file", "train.txt"):
        fetch_benchmark("free", tmp_path / "out", str(source))
    assert [path.name for path in tmp_path.iterdir()] == ["source"]


def test_without_a_known_checksum_the_first_download_is_what_later_ones_are_held_to(
    known, source, tmp_path
):
    fetch_benchmark("free", tmp_path / "out", str(source))
    fetch_benchmark("free", tmp_path / "out", str(source), overwrite=True)
    (source / "t" / "test.txt").write_text("other\tO\n")
    with raises_input_error("changed-file", "test.txt"):
        fetch_benchmark("free", tmp_path / "out", str(source), overwrite=True)
    assert (tmp_path / "out" / "test.txt").read_text() == TAGGED


@pytest.mark.parametrize(
    ("name", "place", "said"),
    [
        ("free", "nowhere", "nowhere: "),
        ("free", "", "fetched"),
        ("free", "gopher://x/", "fetched"),
        ("zip", "{empty}", "a.zip"),
    ],
)
def test_a_place_that_has_nothing_is_reported(known, tmp_path, name, place, said):
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match=said):
        fetch_benchmark(name, tmp_path / "out", place.replace("{empty}", str(tmp_path / "empty")))
    assert not (tmp_path / "out").exists()


def test_a_zip_that_is_none_or_lacks_the_file(known, source, tmp_path):
    with zipfile.ZipFile(source / "a.zip", "w") as packed:
        packed.writestr("in/other.tsv", TAGGED)
    with raises_input_error("missing-member", "in/train.tsv"):
        fetch_benchmark("zip", tmp_path / "out", str(source))
    (source / "a.zip").write_text("no zip")
    with raises_input_error("invalid-zip"):
        fetch_benchmark("zip", tmp_path / "out", str(source))


def test_what_is_not_free_says_where_it_is(tmp_path):
    with raises_input_error("restricted-benchmark", "https://physionet.org", "mli_train_"):
        fetch_benchmark("mednli", tmp_path / "out")
    with raises_input_error("restricted-benchmark", "task.toml"):
        fetch_benchmark("mtl/BC4CHEMD", tmp_path / "out")
    with raises_input_error("restricted-benchmark"):
        fetch_benchmark("bio-lm/GAD", tmp_path / "out")


def test_a_task_is_found_by_its_place_and_by_its_name(known, source, tmp_path):
    workspace = Workspace(tmp_path / "w")
    folder = workspace.folder("tasks", "mine")
    fetch_benchmark("free", folder, str(source))
    assert find_task(str(folder)) == find_task("mine", workspace) == folder
    assert find_task(str(folder / "task.toml")) == folder / "task.toml"
    assert [task.name for task in workspace.artifacts("tasks")] == ["mine"]
    with raises_input_error("not-downloaded", "tasks download x/free"):
        find_task("free", workspace)
    with raises_input_error("unknown-benchmark", "yours"):
        find_task("yours", workspace)
    with raises_input_error("not-a-task"):
        find_task(str(source), workspace)
