"""Control characters in texts and tokens do not reach the terminal."""

import pytest

from vocadapt.cli import main
from vocadapt.text.display import escape_lines

RED = "\x1b[31m"


def test_only_line_feeds_and_tabs_stay():
    assert escape_lines("a\tb\nc") == "a\tb\nc"
    assert escape_lines(f"{RED}x\x07\r") == "␛[31mx␇␍"
    # A bidirectional override, and a control character beyond ASCII.
    assert escape_lines("\u202ex\x9b") == "‹U+202E›x‹U+009B›"


@pytest.mark.parametrize("json", [False, True])
def test_a_word_with_an_escape_sequence_is_shown_as_pictures(tiny_bert, tmp_path, capsys, json):
    text = tmp_path / "text.txt"
    text.write_text(f"heart {RED}\n", encoding="utf-8")
    arguments = ["lens", str(text), "--model", str(tiny_bert), *["--json"] * json]
    assert main(arguments) == 0
    streams = capsys.readouterr()
    assert "\x1b" not in streams.out + streams.err


def test_an_error_names_what_was_typed_without_its_escape_sequence(tiny_bert, tmp_path, capsys):
    missing = str(tmp_path / f"{RED}file")
    assert main(["words", "count", missing, "--model", str(tiny_bert)]) == 2
    shown = capsys.readouterr().err
    assert "␛[31mfile" in shown and "\x1b" not in shown
