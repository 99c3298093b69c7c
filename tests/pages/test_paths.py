"""The paths that the pages may open depend on the network address of the lab."""

import os
from pathlib import Path

import pytest
import streamlit as st

from tests.material.input_errors import raises_input_error
from vocadapt.lab.steps.corpus import CorpusStep
from vocadapt.lab.steps.pretrain import PretrainStep
from vocadapt.lab.steps.step import Spec
from vocadapt.lab.workspace import limits
from vocadapt.lab.workspace.workspace import Workspace
from vocadapt.ui.jobs import guards, panel
from vocadapt.ui.shell.server import list_allowed_hosts
from vocadapt.ui.state import cache, paths


@pytest.fixture
def served(monkeypatch, tmp_path):
    """Serve the lab, as far as paths know, on an address."""
    monkeypatch.setattr(paths, "workspace", lambda: Workspace(tmp_path / "w"))

    def serve(address: str | None, root: Path | None = None) -> None:
        monkeypatch.setattr(
            st, "get_option", lambda name: address if name == "server.address" else None
        )
        monkeypatch.setenv(limits.FILES_ROOT, str(root or ""))

    return serve


def test_other_machines_cannot_reach_the_loopback_address():
    own = ("127.0.0.1", "127.1.2.3", "::1", "[::1]", "localhost", "unix:///tmp/lab")
    others = (None, "", "0.0.0.0", "::", "192.168.1.5", "example.org", "127.0.0.1.evil.org")
    assert [address for address in (*own, *others) if paths.is_loopback(address)] == list(own)


def test_folders_of_the_system_are_not_opened_anywhere(served, tmp_path):
    served("127.0.0.1")
    (tmp_path / "link").symlink_to("/proc/self")  # judged by where it leads
    places = ("/", "/proc", "/proc/self/environ", "/sys/kernel", "/dev/zero", "/tmp/../dev/null")
    for typed in (*places, "//", tmp_path / "link" / "environ"):
        for read in (paths.resolve_allowed_path, cache.open_named_space, cache.model_of):
            with raises_input_error("system-folder"):
                read(str(typed))


def test_on_the_loopback_address_files_are_open(served, tmp_path):
    served("127.0.0.1")
    (tmp_path / "text.txt").write_text("a")
    assert paths.resolve_allowed_path(str(tmp_path / "text.txt")) == tmp_path / "text.txt"
    with raises_input_error("missing-file"):
        paths.resolve_allowed_path(str(tmp_path / "none.txt"))
    with raises_input_error("missing-file"):
        paths.resolve_allowed_path("a\0b")


def test_beyond_it_only_the_workspace_is(served, tmp_path):
    served("0.0.0.0")
    (tmp_path / "w" / "uploads").mkdir(parents=True)
    inside, outside = tmp_path / "w" / "uploads" / "text.txt", tmp_path / "text.txt"
    for file in (inside, outside):
        file.write_text("a")
    (tmp_path / "w" / "private.txt").write_text(
        "a"
    )  # a folder that was no workspace before its name was typed
    (tmp_path / "w" / "uploads" / "link.txt").symlink_to(outside)
    assert paths.resolve_allowed_path(inside) == inside
    names = [
        tmp_path / "w" / "private.txt",
        outside,
        tmp_path / "none.txt",
        tmp_path / "w" / "uploads" / "link.txt",
    ]
    names += [tmp_path / "w" / ".." / "text.txt", "~", "/etc/passwd"]
    messages = set()
    for path in names:
        with raises_input_error("path-not-allowed") as caught:
            paths.resolve_allowed_path(path)
        messages.add(caught.value.problem.removeprefix(str(path)))
    assert len(messages) == 1  # whether a file exists is not told, either


def test_beyond_it_a_named_folder_is_open_too(served, tmp_path):
    (tmp_path / "shared").mkdir()
    (tmp_path / "shared" / "text.txt").write_text("a")
    (tmp_path / "shared" / "out").symlink_to("/etc")
    served("192.168.1.5", tmp_path / "shared")
    assert paths.resolve_allowed_path(tmp_path / "shared" / "text.txt").is_file()
    for path in (tmp_path, tmp_path / "shared" / "out" / "passwd", tmp_path / "shared-too"):
        with raises_input_error("path-not-allowed"):
            paths.resolve_allowed_path(path)


def test_no_job_of_a_page_reads_another_path_and_names_on_the_hub_stay_names(served, tmp_path):
    served("0.0.0.0")
    workspace = paths.workspace()
    for path in ("/etc/passwd", "../x", "~/x"):
        with raises_input_error("path-not-allowed"):
            panel.launch(workspace, Spec(CorpusStep(), {"text": (path,)}), "c")
    assert not (workspace.root / "jobs").exists()
    paths.check_model("bert-base-uncased")
    paths.check_model("allenai/scibert_scivocab_uncased")


def test_guards_of_a_page_read_no_other_path(served, tmp_path, long_text):
    spec = Spec(PretrainStep(), {"text": (str(long_text),)})
    served("127.0.0.1")
    assert guards.find_guards(Workspace(tmp_path / "w"), spec)
    served("0.0.0.0")
    assert not guards.find_guards(Workspace(tmp_path / "w"), spec)


def test_hosts_that_lead_to_the_lab(monkeypatch):
    assert list_allowed_hosts("127.0.0.1") == ["localhost", "127.0.0.1", "::1"]
    everywhere = list_allowed_hosts("0.0.0.0")
    assert {"localhost", "127.0.0.1"} < set(everywhere)
    assert "*" not in everywhere
    assert os.uname().nodename in everywhere
