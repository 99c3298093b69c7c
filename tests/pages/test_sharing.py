"""Serving the lab to others: options, cookies, headers, paths, and caches."""

import asyncio
import json
import os
from contextlib import suppress
from pathlib import Path

import pytest

from tests.material.apps import join_values
from tests.material.input_errors import raises_input_error
from vocadapt.cli import main
from vocadapt.errors import InputError
from vocadapt.lab.sharing import Sharing
from vocadapt.lab.workspace import limits
from vocadapt.lab.workspace.visitors import name_folder
from vocadapt.lab.workspace.workspace import Workspace
from vocadapt.text.corpus import Corpus
from vocadapt.ui.shell import memory, server
from vocadapt.ui.shell.memory import CacheLimit
from vocadapt.ui.state import address, guard, paths, visitors
from vocadapt.ui.state.cache import STAMPS
from vocadapt.ui.state.visitors import COOKIE, CookieSetter, read_cookie

COOKIES = ("A" * 43, "b" * 43)
HOSTILE_COOKIES = ["", "a", "A" * 42, "A" * 44, "../" * 14 + "a", "A" * 42 + "/", "A" * 42 + "."]


@pytest.fixture
def served(monkeypatch):
    """Start the lab with options, except for Streamlit; return its settings and variables."""
    names = (
        *limits.VARIABLES,
        visitors.SIGN_IN,
        guard.EMBED_IN,
        limits.FILES_ROOT,
        "HF_HUB_OFFLINE",
    )
    for name in (*names, server.WORKSPACE_VARIABLE):
        monkeypatch.setenv(name, "")  # set first, so that they are as before afterwards
    os.environ.pop("HF_HUB_OFFLINE")
    monkeypatch.setattr(server, "start_removing", lambda folder, days: None)
    monkeypatch.setattr(server, "_log_to_stderr", lambda: None)

    def start(workspace: Path, **sharing: object) -> tuple[int, dict[str, object], dict[str, str]]:
        seen: dict[str, object] = {}
        monkeypatch.setattr(memory, "limit", CacheLimit(4_000))
        monkeypatch.setattr(server, "_run", lambda app, flags: seen.update(flags))
        given = ["--workspace", str(workspace), "--sharing", json.dumps(sharing)]
        code = server.main(["--no-browser", *given])
        return code, seen, {name: os.environ[name] for name in names if os.environ.get(name)}

    return start


# Options


def test_the_options_reach_the_pages_and_the_jobs(served, tmp_path):
    code, flags, variables = served(
        tmp_path / "v",
        workspace_per_visitor=True,
        quota_mb=7,
        keep_days=3,
        jobs_per_visitor=2,
        max_upload_mb=5,
        host_name="lab.example.org",
        embed_in="https://example.org",
    )
    assert code == 0
    assert flags["server_maxUploadSize"] == 5
    assert "lab.example.org" in flags["server_allowedHosts"]
    assert variables == {
        limits.VISITORS: str(tmp_path / "v"),
        limits.QUOTA: "7",
        limits.KEEP_DAYS: "3",
        limits.MAX_JOBS: "2",
        guard.EMBED_IN: "https://example.org",
        "HF_HUB_OFFLINE": "1",
    }


def test_the_option_sets_the_limit_of_memory(served, tmp_path, monkeypatch):
    limits_mb: list[float] = []
    monkeypatch.setattr(
        CacheLimit, "set_limit", lambda limit, megabytes: limits_mb.append(megabytes)
    )
    served(tmp_path / "w", memory_mb=700)
    assert limits_mb[-1] == 700


def test_a_lab_of_ones_own_has_no_limits(served, tmp_path):
    code, flags, variables = served(tmp_path / "w")
    assert code == 0 and variables == {} and flags["server_maxUploadSize"] == 200


@pytest.mark.parametrize(
    ("sharing", "problem"),
    [
        ({"read_only": True, "workspace_per_visitor": True}, "read-only lab"),
        ({"quota_mb": 0}, "whole number"),
        ({"keep_days": -1}, "whole number"),
        ({"max_upload_mb": 0}, "whole number"),
        ({"memory_mb": 10}, "from 500"),
        ({"embed_in": "https://a.b; script-src *"}, "script-src"),
        ({"host_name": "https://a.b"}, "host name"),
        ({"sign_in": True}, "Sign-in"),
        ({"files_root": "/none"}, "/none"),
        ({"unknown": 1}, "unknown"),
    ],
)
def test_what_cannot_be_served_is_reported(sharing, problem, served, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    code, flags, _ = served(tmp_path / "w", **sharing)
    assert code == 2 and not flags and problem in capsys.readouterr().err


def test_the_command_line_names_the_option_that_is_wrong(capsys):
    assert main(["app", "--embed-in", "example.org"]) == 2
    assert "--embed-in" in capsys.readouterr().err


def test_the_command_line_hands_its_options_to_the_server(tmp_path, monkeypatch):
    started: list[list[str]] = []
    monkeypatch.setattr(os, "execve", lambda program, command, env: started.append(command))
    with suppress(AttributeError):  # execve does not return
        main(["app", "--workspace", str(tmp_path), "--read-only", "--quota-mb", "7"])
    sharing = json.loads(started[0][started[0].index("--sharing") + 1])
    assert sharing == {**vars(Sharing()), "read_only": True, "quota_mb": 7}


# Cookies and headers


def test_a_cookie_that_the_server_did_not_make_is_not_read():
    for value in (*HOSTILE_COOKIES, "é" * 43):
        assert read_cookie(f"{COOKIE}={value}".encode()) == ""


def request_page(headers: dict[str, str], scheme: str = "http") -> list[bytes]:
    """Request a page and return the cookies of the answer."""
    sent: list[dict] = []

    async def app(scope, receive, send):
        await send({"type": "http.response.start", "status": 200, "headers": []})

    async def keep(message):
        sent.append(message)

    given = [(name.encode(), value.encode()) for name, value in headers.items()]
    scope = {"type": "http", "path": "/", "scheme": scheme, "headers": given}
    asyncio.run(CookieSetter(app)(scope, None, keep))
    return [value for name, value in sent[0]["headers"] if name == b"set-cookie"]


def test_a_browser_gets_a_cookie_and_keeps_it(monkeypatch):
    page = {"accept": "text/html,*/*"}
    assert request_page(page) == []
    monkeypatch.setenv(limits.VISITORS, "/visitors")
    first, second = request_page(page), request_page(page)
    assert len(first) == 1 and first != second
    value = read_cookie(first[0])
    assert b"; HttpOnly; SameSite=Lax" in first[0] and b"Secure" not in first[0]
    kept = request_page({**page, "cookie": f"x=1; {COOKIE}={value}"}, "https")
    assert read_cookie(kept[0]) == value and kept[0].endswith(b"; Secure")
    assert request_page({**page, "x-forwarded-proto": "https"})[0].endswith(b"; Secure")
    assert request_page({"accept": "image/png"}) == []
    assert read_cookie(request_page({**page, "cookie": f"{COOKIE}=../../etc"})[0])


def test_only_the_named_site_frames_the_lab(monkeypatch):
    assert (b"x-frame-options", b"SAMEORIGIN") in guard.list_frame_headers()
    monkeypatch.setenv(guard.EMBED_IN, "https://example.org")
    assert guard.list_frame_headers() == [
        (b"content-security-policy", b"frame-ancestors 'self' https://example.org")
    ]


# One visitor and another


@pytest.fixture
def visitor(monkeypatch, tmp_path):
    """Let the session be that of the visitor with a cookie; return the folder of the visitor."""
    monkeypatch.setenv(limits.VISITORS, str(tmp_path))

    def become(cookie: str):
        monkeypatch.setattr(visitors, "read_session_cookie", lambda: cookie)
        return tmp_path / name_folder("cookie", cookie)

    return become


def test_each_visitor_begins_with_an_own_workspace(visitor):
    folders = {visitor(cookie): address.find_initial_folder() for cookie in COOKIES}
    assert len(folders) == 2
    assert all(found == folder / "workspace" for folder, found in folders.items())


def test_no_address_leads_to_the_workspace_of_another(visitor):
    other, own = visitor(COOKIES[0]), visitor(COOKIES[1])
    (other / "workspace").mkdir(parents=True)
    for name in (f"../{other.name}/workspace", f"{other.name}/workspace", str(other), "..", "."):
        with pytest.raises(InputError):
            address.open_workspace(name)
    assert address.open_workspace(other.name).root == own / other.name


def test_no_path_leads_to_the_files_of_another_even_on_the_loopback(visitor, monkeypatch):
    monkeypatch.setattr(paths, "_read_server_address", lambda: "127.0.0.1")
    other, own = visitor(COOKIES[0]), visitor(COOKIES[1])
    paths.check_allowed(own / "workspace" / "corpora" / "x")
    for place in (other / "workspace" / "corpora", other.parent, own / ".." / other.name, "/etc"):
        with raises_input_error("path-not-allowed"):
            paths.check_allowed(place)


def test_who_must_sign_in_has_no_workspace_before(monkeypatch, tmp_path):
    monkeypatch.setenv(limits.VISITORS, str(tmp_path))
    monkeypatch.setenv(visitors.SIGN_IN, "1")
    monkeypatch.setattr(visitors, "is_signed_in", lambda: False)
    with pytest.raises(InputError):
        address.find_initial_folder()


def test_texts_of_two_visitors_never_share_a_cache_entry(tmp_path):
    """Two files of the same name, size and time: only their folders differ."""
    stamps = set()
    for visitor, content in (("ann", "aaa"), ("ben", "bbb")):
        file = tmp_path / visitor / "text.txt"
        file.parent.mkdir()
        file.write_text(content)
        os.utime(file, (1, 1))
        stamps |= {(visitor, STAMPS[Corpus](Corpus((file,))), STAMPS[type(file)](file))}
    first, second = stamps
    assert first[1] != second[1] and first[2] != second[2]


def test_visitors_read_that_a_path_is_on_the_server(visitor, open_page):
    workspace = Workspace(visitor(COOKIES[0]) / "workspace")
    labels = [tab.label for tab in open_page("text", workspace).tabs]
    assert "A path on the server" in labels
    assert not [label for label in labels if "this machine" in label]
    home = open_page("home", workspace)
    assert "on the server" in join_values(home.markdown)
