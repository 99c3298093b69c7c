"""Uploads to the pages: their number, size, type and name are checked by the server.

A program that speaks the protocol of the pages need not keep to what a browser offers.
"""

import ast
import io
import re
from pathlib import Path

import pytest
import streamlit as st
from streamlit.elements.lib.file_uploader_utils import (
    enforce_filename_restriction,
    normalize_upload_file_type,
)
from streamlit.errors import StreamlitAPIException
from streamlit.testing.v1 import AppTest

from tests.material.input_errors import raises_input_error
from tests.material.sources import list_modules, list_nodes, parse, read_source
from vocadapt.lab.workspace.workspace import RESERVED, Workspace
from vocadapt.system.files import MEGABYTE
from vocadapt.ui.components import intake

UI = Path(intake.__file__).parents[1]
TYPES = (intake.TEXT_TYPES, intake.VECTOR_TYPES, intake.TASK_TYPES, ("toml",), ("zip",), ("txt",))


class Upload(io.BytesIO):
    """An upload, of a size that need not be in memory."""

    def __init__(self, name: str, size: int = 1) -> None:
        super().__init__(b"a")
        self.name, self.claimed = name, size

    def getbuffer(self):
        class Buffer:
            nbytes = self.claimed

        return Buffer()


@pytest.mark.parametrize(
    "name",
    [
        "../../../etc/passwd",
        "C:\\Windows\\system32\\x.dll",
        "a\0.txt",
        "a\n\r\tb.txt",
        "\x1b[31mred.txt",
        "\u202egnp.txt",
        "\ud800.txt",
        "con.txt",
        "LPT1.tsv.gz",
        "nul",
        "~root/.ssh/id.txt",
        "-o ProxyCommand=x.txt",
        "=cmd|' /C calc'!A0.csv",
        "<img src=x onerror=alert(1)>.txt",
        "a" * 10_000 + ".txt",
        "a" + ".gz" * 1_000,
        ".txt" * 1_000,
        "." * 1_000,
        "é" * 300 + ".txt",
        "a:stream.txt",
        ".draft",
        "",
    ],
)
def test_a_name_becomes_a_short_plain_one(name, tmp_path):
    safe = intake.make_safe_name(name)
    assert re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9._-]*", safe) and len(safe) <= 90
    assert not RESERVED.fullmatch(safe) and not safe.endswith(".")
    (saved,) = intake.save_uploads([Upload(name)], Workspace(tmp_path / "w"))
    assert saved.parent == tmp_path / "w" / "uploads" and saved.read_bytes() == b"a"


def test_many_files_at_once_are_refused_before_any_is_saved(tmp_path):
    uploads = [Upload(f"{number}.txt") for number in range(intake.MAX_UPLOADS + 1)]
    with raises_input_error("too-many-files", "101", "100") as caught:
        intake.save_uploads(uploads, Workspace(tmp_path / "w"))
    assert caught.value.remedy and not (tmp_path / "w").exists()
    assert len(intake.save_uploads(uploads[1:], Workspace(tmp_path / "w"))) == 100


def test_a_file_above_the_limit_of_the_server_is_refused(tmp_path):
    limit = st.get_option("server.maxUploadSize")
    intake.check_uploads([Upload("a.txt", limit * MEGABYTE)])
    for uploads in (
        [Upload("a.txt", limit * MEGABYTE + 1)],
        [Upload("b"), Upload("a.txt", 1 << 40)],
    ):
        with raises_input_error("file-too-large", "a.txt", f"{limit} MB"):
            intake.save_uploads(uploads, Workspace(tmp_path / "w"))
    with raises_input_error("file-too-large", "20 MB"):
        intake.check_uploads([Upload("x" * 5_000, 21 * MEGABYTE)], intake.MAX_TABLE_MB)
    assert not (tmp_path / "w").exists()


@pytest.mark.parametrize(
    "name", ["a.exe", "a.txt.exe", "a", ".txt\0.exe", "a.html", "a.svg", "a.py", "a.pkl"]
)
@pytest.mark.parametrize("types", TYPES)
def test_another_type_is_refused_by_the_server(name, types):
    with pytest.raises(StreamlitAPIException):
        enforce_filename_restriction(name, normalize_upload_file_type(types))


def find_uploaders() -> list[tuple[str, ast.Call]]:
    found = []
    for path in list_modules("vocadapt/ui"):
        for node in list_nodes(parse(read_source(path))):
            if isinstance(node, ast.Call) and getattr(node.func, "attr", "") == "file_uploader":
                found.append((path.relative_to(UI).as_posix(), node))
    return found


def test_every_upload_names_its_types_and_is_checked():
    """Without types, or with MIME types, Streamlit checks nothing."""
    uploaders = find_uploaders()
    assert len(uploaders) == 5
    for place, call in uploaders:
        given = {keyword.arg: keyword.value for keyword in call.keywords}
        named = [node.value for node in ast.walk(given["type"]) if isinstance(node, ast.Constant)]
        assert all("/" not in name for name in named), place
        assert "check_uploads(" in read_source(UI / place), place
    # Two take files of any size: those that a job reads from disk.
    limited = [any(one.arg == "max_upload_size" for one in call.keywords) for _, call in uploaders]
    assert limited.count(False) == 2


def draw_study() -> None:
    import streamlit as st

    from vocadapt.errors import InputError
    from vocadapt.ui.components.text_file import draw_text_file

    try:
        st.markdown(draw_text_file("study", "A study", "a = 1", "Help"))
    except InputError as error:
        st.error(error.problem)


@pytest.mark.parametrize(
    ("content", "said"),
    [(b"a" * (MEGABYTE + 1), "at most 1 MB"), (b"\xff", "not UTF-8"), (b"b = 2", "")],
)
def test_a_settings_file_is_small_text(content, said):
    app = AppTest.from_function(draw_study).run()
    app.file_uploader(key="study_upload").set_value(("s.toml", content, "text/plain")).run()
    assert not app.exception
    if said:
        assert said in app.error[0].value and not app.markdown
    else:
        assert app.markdown[0].value == content.decode()
