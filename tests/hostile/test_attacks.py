"""The attacks of `attacks.py`: a sample in every test run, all of them in the nightly run."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def attack(*options: str) -> None:
    command = [sys.executable, "-m", "tests.hostile.attacks", *options]
    done = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=1800
    )
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]
    assert " 0 faults" in done.stdout


def test_every_hundredth_attack_holds():
    attack("--every", "100")


@pytest.mark.slow
def test_every_attack_holds():
    attack()


def test_a_fault_is_seen(tmp_path):
    """The judge of the attacks, judged: each kind of bad ending has its name."""
    from tests.hostile.attacks import Attempt, Outcome, find_fault

    assert Outcome(2, "out.txt: no such file.\nCheck the spelling.\n", (), 1.0).fault == ""
    assert "60 s" in Outcome(None, "", (), 60.0).fault
    assert "-6" in Outcome(-6, "", (), 1.0).fault
    assert Outcome(1, "Traceback (most recent call last)", (), 1.0).fault
    assert Outcome(2, "", (), 1.0).fault
    assert Outcome(2, "a\nb\nc\nd", (), 1.0).fault
    assert Outcome(2, "a" * 5000, (), 1.0).fault
    assert Outcome(2, "\u202ea", (), 1.0).fault
    assert "out" in Outcome(2, "refused", ("out",), 1.0).fault
    read, refused = Outcome(0, "", (), 1.0), Outcome(2, "no text.", (), 1.0)
    assert find_fault(Attempt("a", ()), read) == find_fault(Attempt("a", (), True), refused) == ""
    assert "refused" in find_fault(Attempt("a", (), True), read)
