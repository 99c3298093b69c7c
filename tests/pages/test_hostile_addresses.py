"""Hostile addresses: all settings of a page have hostile values; no exception, no content of
other files, nothing hidden, and no file outside the workspace and the program is opened, whether the
lab is one's own, read-only or one of visitors."""

import os
import re
import shutil
import sys
import sysconfig
from contextlib import contextmanager
from pathlib import Path

import pytest
import streamlit as st

from tests.material.address_keys import SOURCES, keys_of, part_of
from tests.material.apps import list_texts, markup
from vocadapt.lab.workspace import limits
from vocadapt.lab.workspace.workspace import Workspace
from vocadapt.ui.shell import server
from vocadapt.ui.state import visitors
from vocadapt.ui.state.pages import PARTS
from vocadapt.ui.state.visitors import name_folder

VALUES = [
    "/etc/passwd",
    "../../../etc/passwd",
    "/proc/self/environ",
    "file:///etc/passwd",
    "\u202egnol",
    "a\nb\x00c",
    "<script>alert(1)</script>",
    "x" * 6000,
    "999999999999999999999999",
    "-1",
    "nan",
    "[](http://evil.example)",
    "../outside/secret.txt",
    "models/../../outside",
    "..%2f..%2foutside%2fsecret.txt",
    "..",
    "~root",
    "models/outside",
    "model · outside",
]
MODES = ["own", "read-only", "visitor"]
COOKIE = "c" * 43
# A resource that the browser would load from another host; a link is none.
EXTERNAL = re.compile(r"(?:\bsrc=[\"']?|url\([\"']?|@import\s+[\"']?)(?:https?:)?//", re.I)
SECRET = "a secret of another folder"
# What the program itself reads: its files, those of its libraries, and the state of the machine.
OWN_FILES = [
    *(server.ROOT, Path(sys.prefix), Path(sys.base_prefix), Path(sysconfig.get_path("stdlib"))),
    *(Path.home() / ".cache", Path("/sys/fs/cgroup"), Path("/dev/null"), Path("/proc")),
    *(Path("/etc/mime.types"), Path("/usr/share/zoneinfo"), Path("/usr/lib"), Path("/lib")),
]
FORBIDDEN = [Path(os.path.realpath("/proc/self/environ"))]
_watched: list[list[str]] = []


def _record_files(event, arguments):
    if _watched and event in ("open", "os.listdir", "os.scandir"):
        path = arguments[0]
        if isinstance(path, str | bytes | os.PathLike):
            _watched[-1].append(os.path.realpath(os.fsdecode(path)))


sys.addaudithook(_record_files)


@contextmanager
def watch_files():
    """Record the files and folders that are opened; yields their resolved paths."""
    found = []
    _watched.append(found)
    try:
        yield found
    finally:
        _watched.pop()


def find_outside(opened, workspace):
    """The opened paths that belong neither to the workspaces of this user nor to the program.

    An address may name another workspace beside this one; the folder `outside` there is none.
    """
    parent = workspace.root.parent.resolve()
    allowed = [*(one.resolve() for one in OWN_FILES), parent]
    return sorted(
        path
        for path in {*map(Path, opened)}
        if path in FORBIDDEN
        or path.is_relative_to(parent / "outside")
        or not any(path.is_relative_to(root) for root in allowed)
    )


@pytest.fixture(scope="module")
def linked(seeded, tmp_path_factory):
    """Workspaces by mode, each beside a folder with a secret, and with a link to it among its models."""
    found = {}
    for mode in MODES:
        place = tmp_path_factory.mktemp(mode)
        root = place / "workspace"
        if mode == "visitor":
            root = place / name_folder("cookie", COOKIE) / "workspace"
        shutil.copytree(seeded.root, root)
        outside = root.parent / "outside"
        shutil.copytree(root / "models" / "trials-model", outside)
        (outside / "secret.txt").write_text(SECRET)
        (root / "models" / "outside").symlink_to(outside)
        found[mode] = Workspace(root)
    return found


@pytest.fixture
def served(linked, monkeypatch):
    """Serve the workspace of a mode."""

    def serve(mode):
        workspace = linked[mode]
        if mode == "read-only":
            monkeypatch.setenv(limits.READ_ONLY, "1")
        if mode == "visitor":
            monkeypatch.setenv(limits.VISITORS, str(workspace.root.parents[1]))
            monkeypatch.setattr(visitors, "read_session_cookie", lambda: COOKIE)
        return workspace

    return serve


PAGES = [*PARTS]
# Keys that pages read without a widget.
OTHER_KEYS = ["workspace", "lesson", "lesson_step", "lessons_lesson", "jobs_job"]
LONGEST = 2000  # characters of an error


def keys_of_page(page):
    """The keys of a page in the address."""
    found = {key for path in SOURCES if part_of(path) == page for key in keys_of(path)}
    return sorted(key for key in found if not key.endswith("_"))


def check_page(open_page, served, mode, page, value):
    workspace = served(mode)
    keys = [*keys_of_page(page), *OTHER_KEYS]
    with watch_files() as opened:
        app = open_page(page, workspace, **dict.fromkeys(keys, value))
    assert not app.exception, (page, value)
    assert len(opened) > 1
    outside = find_outside(opened, workspace)
    if mode == "own":  # whose links are those of the user
        linked = workspace.root.parent / "outside"
        outside = [path for path in outside if not path.is_relative_to(linked.resolve())]
    assert outside == []
    shown = [
        *list_texts(app),
        markup(app),
        *(error.value for error in app.error),
        *(text.value for text in app.text),
    ]
    assert not any("root:x:" in text or "PATH=" in text or SECRET in text for text in shown)
    assert not EXTERNAL.search(markup(app))
    told = [
        text
        for text in (*(error.value for error in app.error), *(text.value for text in app.text))
        if text
    ]
    assert all(len(text) <= LONGEST for text in told)
    assert not any("\u202e" in text or "Traceback" in text for text in told)


def test_the_keys_of_the_pages_are_found():
    assert sum(len(keys_of_page(page)) for page in PARTS) > 60


def test_no_other_key_is_read_from_the_address(open_page, seeded, monkeypatch):
    """The keys that pages read without a widget are those of OTHER_KEYS or begin with the page."""
    asked = set()
    kind = type(st.query_params)

    def record(original):
        def read(self, key, *rest):
            asked.add(str(key))
            return original(self, key, *rest)

        return read

    for name in ("get", "get_all", "__getitem__", "__contains__"):
        monkeypatch.setattr(kind, name, record(getattr(kind, name)))
    for page in ("home", "lessons", "jobs"):
        open_page(page, seeded, **dict.fromkeys(OTHER_KEYS, "x"))
    assert asked >= {*OTHER_KEYS}
    assert {key for key in asked if key.split("_")[0] not in PARTS} <= {*OTHER_KEYS}


@pytest.mark.parametrize(
    "text", ['<img src="https://a.b/c">', "url(//a.b/c)", "@import 'http://a.b/c.css'"]
)
def test_a_resource_of_another_host_is_found(text):
    assert EXTERNAL.search(text) and not EXTERNAL.search("<a href='https://a.b'>url(x.png)</a>")


def test_the_page_of_streamlit_loads_nothing_from_another_host():
    index = (Path(st.__file__).parent / "static" / "index.html").read_text(encoding="utf-8")
    loaded = re.findall(r"<(?:script|link|img)\b[^>]*?(?:src|href)=\"([^\"]*)\"", index)
    assert len(loaded) > 5 and all(one.startswith("./") for one in loaded)
    assert server._load_settings()["browser_gatherUsageStats"] is False


def test_a_file_outside_is_found(seeded, tmp_path):
    secret = tmp_path / "secret.txt"
    secret.write_text(SECRET)
    with watch_files() as opened:
        secret.read_text()
        list(tmp_path.iterdir())
        (seeded.root / "models").iterdir()
        Path("/proc/self/environ").read_bytes()
    assert find_outside(opened, seeded)[-2:] == [tmp_path, secret]


@pytest.mark.parametrize(
    ("page", "value", "mode"),
    [
        (page, VALUES[i % len(VALUES)], MODES[i % len(MODES)])
        for i, page in enumerate([*PAGES, "home", "jobs"])
    ],
)
def test_a_hostile_address_opens_nothing(open_page, served, page, value, mode):
    check_page(open_page, served, mode, page, value)


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES)
@pytest.mark.parametrize("value", VALUES)
def test_no_hostile_address_opens_anything(open_page, served, page, value):
    """Every page with every value; the modes take turns by page and value."""
    mode = MODES[(PAGES.index(page) + VALUES.index(value)) % len(MODES)]
    check_page(open_page, served, mode, page, value)
