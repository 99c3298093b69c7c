"""Nothing reaches another host unless a download was requested; and the guard that says so works.

The guard is installed for every test and every process that a test starts (tests/conftest.py), so
each test of a page, a command or a job is also a test of this. HF_HUB_OFFLINE is not set.
"""

import re
import socket
import subprocess
import sys

import pytest

from tests import conftest
from tests.material import network_guard
from tests.material.input_errors import raises_input_error
from tests.material.lab import wait_for
from tests.material.network_guard import NetworkRefusedError, take_attempts
from vocadapt.cli import main
from vocadapt.errors import InputError
from vocadapt.lab.jobs.queue import start
from vocadapt.lab.steps.corpus import CorpusStep
from vocadapt.lab.steps.step import Spec
from vocadapt.models.convert import convert
from vocadapt.models.language_model import open_model
from vocadapt.training.tasks.benchmarks import cards

OTHER = "192.0.2.1"  # no host has this address (RFC 5737)
ATTEMPTS = {  # code -> the event that is refused
    f"socket.create_connection(({OTHER!r}, 9), timeout=1)": "socket.connect",
    f"socket.socket().connect_ex(({OTHER!r}, 9))": "socket.connect",
    f"socket.socket(type=socket.SOCK_DGRAM).connect(({OTHER!r}, 9))": "socket.connect",
    f"socket.socket(type=socket.SOCK_DGRAM).sendto(b'x', ({OTHER!r}, 9))": "socket.sendto",
    f"socket.socket(type=socket.SOCK_DGRAM).sendmsg([b'x'], [], 0, ({OTHER!r}, 9))": "socket.sendmsg",
    "socket.socket(socket.AF_INET6).connect(('2001:db8::1', 9))": "socket.connect",
    "socket.getaddrinfo('example.invalid', 80)": "socket.getaddrinfo",
    "socket.gethostbyname('example.invalid')": "socket.gethostbyname",
    "socket.gethostbyname_ex('example.invalid')": "socket.gethostbyname",
    f"socket.gethostbyaddr({OTHER!r})": "socket.gethostbyaddr",
    "socket.getfqdn('example.invalid')": "socket.gethostbyaddr",
}


@pytest.mark.parametrize("code", ATTEMPTS)
def test_an_attempt_is_refused_and_recorded(code):
    if "getfqdn" in code:  # it hides the error
        eval(code)
    else:
        with pytest.raises(NetworkRefusedError):
            eval(code)
    (line,) = take_attempts()
    assert line.startswith(f"{ATTEMPTS[code]} ") and "test_an_attempt_is_refused" in line


def test_an_attempt_fails_the_test_that_made_it(request):
    with pytest.raises(OSError, match="network guard"):
        socket.create_connection((OTHER, 9), timeout=1)
    check = conftest.pytest_runtest_teardown(request.node)
    next(check)
    with pytest.raises(pytest.fail.Exception, match=re.escape(OTHER)):
        next(check)
    check = conftest.pytest_runtest_teardown(request.node)  # it was reported, and is forgotten
    next(check)
    with pytest.raises(StopIteration):
        next(check)


@pytest.mark.parametrize("environment", [None, {}, {"PYTHONPATH": "/none"}])
@pytest.mark.parametrize("flags", [[], ["-P"]])
def test_an_attempt_of_another_process_is_recorded(environment, flags):
    code = f"import socket; socket.create_connection(({OTHER!r}, 9), timeout=1)"
    # A process of the process, too: workers start others.
    code = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {code!r}])"
    subprocess.run(
        [sys.executable, *flags, "-c", code], env=environment, stderr=subprocess.DEVNULL, check=True
    )
    (line,) = take_attempts()
    assert OTHER in line


def test_this_machine_is_reached(tmp_path):
    for family, host in ((socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1")):
        with socket.socket(family) as server:
            try:
                server.bind((host, 0))
            except OSError:  # no IPv6 here
                continue
            server.listen()
            socket.create_connection(server.getsockname()[:2], timeout=5).close()
    with socket.socket(socket.AF_UNIX) as server, socket.socket(socket.AF_UNIX) as client:
        server.bind(str(tmp_path / "s"))
        server.listen()
        client.connect(str(tmp_path / "s"))
    assert socket.getaddrinfo("localhost", 80) and socket.getaddrinfo(None, 80)
    assert take_attempts() == []


@pytest.mark.parametrize(
    "host", ["127.0.0.1", "127.9.9.9", "::1", "[::1]", "localhost", b"localhost"]
)
def test_names_of_this_machine(host):
    assert network_guard.is_local(host)


@pytest.mark.parametrize("host", ["10.0.0.1", "127.0.0.1.example.org", "::ffff:8.8.8.8", "x"])
def test_names_of_other_machines(host):
    assert not network_guard.is_local(host)


# A download that was requested


@pytest.fixture
def online(monkeypatch, tmp_path):
    """Downloads are allowed, and the working folder is empty but for the folder `models`."""
    monkeypatch.delenv("HF_HUB_OFFLINE", raising=False)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", False)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "models").mkdir()


def test_a_hub_name_is_looked_up_on_the_hub(online):
    with raises_input_error("unknown-model", "nobody/nothing"):
        open_model("nobody/nothing")
    assert any("huggingface.co" in line for line in take_attempts())


def test_a_hub_name_is_not_looked_up_without_network(online):
    with raises_input_error("unknown-model", "nobody/nothing", "offline"):
        open_model("nobody/nothing", offline=True)


@pytest.mark.parametrize(
    "name",
    [
        "models/my-bert",
        "models/a.b",
        "vocab.txt",
        "my/model.safetensors",
        "./x",
        "/none",
        "a/b/c",
        "~",
    ],
)
def test_a_mistyped_path_is_not_sent_to_the_hub(name, online, monkeypatch, tmp_path):
    monkeypatch.setenv("HOME", str(tmp_path / "none"))
    with raises_input_error("missing-file"):
        open_model(name)
    with pytest.raises(InputError):
        convert(name, tmp_path / "out")
    # A job has another working folder, in which no folder `models` is.
    spec = Spec(CorpusStep(), {"text": ("t",), "model": (name,)}).absolute()
    monkeypatch.chdir("/")
    with raises_input_error("missing-file"):
        open_model(spec.inputs["model"][0])


def test_a_model_in_the_cache_is_opened_beside_a_folder_of_its_owner(online, monkeypatch, tmp_path):
    monkeypatch.setattr("vocadapt.models.language_model.is_cached", lambda name: True)
    monkeypatch.setattr("huggingface_hub.snapshot_download", lambda name, **options: str(tmp_path))
    assert open_model("models/my-bert").path == tmp_path


def test_a_benchmark_is_downloaded_on_request(online, capsys):
    name = next(name for name, card in cards().items() if card.free)
    assert main(["tasks", "download", name, "--out", "task"]) == 2
    assert "fetched" in capsys.readouterr().err
    assert take_attempts()


@pytest.mark.slow
def test_a_job_downloads_the_model_that_it_was_given(online, make_workspace, text):
    """A control: what a job does with sockets is seen."""
    spec = Spec(CorpusStep(), {"text": (str(text),), "model": ("nobody/nothing",)})
    job = start(make_workspace("w"), spec, "c")
    assert "nobody/nothing" in wait_for(job, "failed").error
    attempts = take_attempts()
    assert any("huggingface.co" in line and "vocadapt job" in line for line in attempts), attempts
