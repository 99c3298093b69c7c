"""Access to a running server from other machines in the network and from pages of other sites."""

import base64
import json
import os
import socket
import subprocess
import sys
import urllib.request

import pytest

from tests.material.lab_server import ROOT, free_port, wait_until_up
from tests.material.network_guard import take_attempts
from vocadapt.ui.shell import server
from vocadapt.ui.state.guard import is_same_origin


@pytest.fixture(scope="module")
def port(tmp_path_factory):
    """A server on every address, in a working folder of its own; its port. What it writes is in
    `server.log` there.
    """
    place, port = tmp_path_factory.mktemp("server"), free_port()
    line = f"-m vocadapt app --no-browser --port {port} --address 0.0.0.0"
    command = [sys.executable, *line.split()]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    with (place / "server.log").open("wb") as log:
        server = subprocess.Popen(
            [*command, "--workspace", str(place / "w")],
            cwd=place,
            env=environment,
            stdout=log,
            stderr=subprocess.STDOUT,
        )
    try:
        wait_until_up(f"http://127.0.0.1:{port}", server)
        said = (place / "server.log").read_text()
        assert "Warning: on 0.0.0.0 anybody in the network" in said and "--files-root" in said
        yield port
    finally:
        server.terminate()
        server.wait(30)


def shake_hands(port: int, host: str, origin: str | None) -> str:
    """Ask for the websocket of the pages, and give the first line of the answer."""
    lines = [
        "GET /_stcore/stream HTTP/1.1",
        f"Host: {host}",
        "Upgrade: websocket",
        "Connection: Upgrade",
        f"Sec-WebSocket-Key: {base64.b64encode(bytes(16)).decode()}",
        "Sec-WebSocket-Version: 13",
        *([f"Origin: {origin}"] if origin else []),
    ]
    with socket.create_connection(("127.0.0.1", port), timeout=20) as connection:
        connection.sendall(("\r\n".join(lines) + "\r\n\r\n").encode())
        return connection.recv(200).split(b"\r\n")[0].decode()


def test_the_websocket_takes_pages_of_this_server_only(port):
    own = f"127.0.0.1:{port}"
    assert " 101 " in shake_hands(port, own, f"http://{own}")
    assert " 101 " in shake_hands(port, f"localhost:{port}", f"http://localhost:{port}")
    others = ["http://127.0.0.1:1", f"http://localhost:{port}"]
    others += ["http://evil.example", "null", f"http://{own}.evil.example", "\xff"]
    for origin in others:
        assert " 403 " in shake_hands(port, own, origin), origin
    assert " 403 " in shake_hands(
        port, f"evil.example:{port}", f"http://evil.example:{port}"
    )  # DNS rebinding


def test_no_origin_makes_the_server_ask_another_host_for_its_address(port):
    """Streamlit would ask checkip.amazonaws.com, because it compares names by their case."""
    name = os.uname().nodename
    assert " 403 " in shake_hands(port, f"{name.upper()}:{port}", f"http://{name.lower()}:{port}")
    assert take_attempts() == []


def test_no_other_site_frames_the_pages(port):
    for path in ("/", "/_stcore/health", "/map"):
        with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=20) as answer:
            assert answer.headers["X-Frame-Options"] == "SAMEORIGIN"
            assert answer.headers["Content-Security-Policy"] == "frame-ancestors 'self'"
            assert answer.headers["X-Content-Type-Options"] == "nosniff"


def test_an_upload_without_the_token_of_the_page_is_refused(port):
    request = urllib.request.Request(
        f"http://127.0.0.1:{port}/_stcore/upload_file/none/none", b"x", method="PUT"
    )
    with pytest.raises(urllib.error.HTTPError) as refused:
        urllib.request.urlopen(request, timeout=20)
    assert refused.value.code in (400, 403)


@pytest.mark.parametrize(
    "arguments",
    [
        ["--address", "203.0.113.1"],
        ["--sharing", '{"files_root": "/none"}'],
        ["--sharing", json.dumps({"files_root": __file__})],
    ],
)
def test_what_the_lab_cannot_be_served_with_is_reported(arguments, tmp_path, monkeypatch, capsys):
    monkeypatch.setenv(
        server.WORKSPACE_VARIABLE, ""
    )  # set first, so that it is as before afterwards
    monkeypatch.setattr(server, "_run", lambda app, flags: pytest.fail("it was served"))
    assert server.main(["--no-browser", "--workspace", str(tmp_path / "w"), *arguments]) == 2
    assert len(capsys.readouterr().err.splitlines()) == 2


def test_programs_other_than_browsers_name_no_origin():
    assert is_same_origin({b"host": b"127.0.0.1:1"})


@pytest.mark.parametrize(
    ("origin", "same"),
    [
        (b"http://localhost:8501", True),
        (b"https://LocalHost:8501", True),
        (b"http://localhost:1", False),
        (b"null", False),
        (b"", False),
        (b"http://[::1", False),
        (b"http://localhost:8501.evil.example", False),
        (b"\xff", False),
    ],
)
def test_any_origin_is_compared_even_one_that_is_none(origin, same):
    assert is_same_origin({b"origin": origin, b"host": b"localhost:8501"}) is same
