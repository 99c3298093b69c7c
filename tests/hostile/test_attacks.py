"""The attacks of `attacks.py`, with those in odd orders: a sample in every test run, all of them in
the nightly run.
"""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.hostile import attacks_in_odd_orders as orders
from tests.material import counting_step

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


# Those that start no job.
@pytest.mark.parametrize(
    "act",
    [
        orders.delete_and_rename_at_once,
        orders.delete_while_copies_are_made,
        orders.put_records_of_unfinished_moves,
        orders.restore_one_thing_five_times_at_once,
        orders.save_one_slice_ten_times_at_once,
        orders.write_notes_that_are_none,
    ],
)
def test_some_odd_orders_hold(act, tmp_path, monkeypatch):
    counting_step.use(monkeypatch)
    assert orders.run_act(act, tmp_path / "lab") == 0


def test_a_fault_in_an_odd_order_is_seen(tmp_path, monkeypatch):
    counting_step.use(monkeypatch)

    def leave_a_draft(lab):
        (lab.workspace.root / "corpora" / ".a.draft").mkdir()

    with pytest.raises(AssertionError, match="draft"):
        orders.run_act(leave_a_draft, tmp_path / "a")
    with pytest.raises(AssertionError, match="not refused"):
        orders.run_act(lambda lab: orders.refuse(lambda: None), tmp_path / "b")


@pytest.mark.slow
def test_every_attack_holds():
    attack()


def test_a_fault_is_seen(tmp_path):
    """The judge of the attacks, judged: each kind of bad ending has its name."""
    from tests.hostile.attacks import Attempt, Outcome, find_fault

    sentence, traceback = "out.txt: missing.\nCheck it.\n", "Traceback (most recent call last)"
    assert Outcome(2, sentence, (), 1.0).fault == ""
    assert "60 s" in Outcome(None, "", (), 60.0).fault
    assert "-6" in Outcome(-6, "", (), 1.0).fault
    assert Outcome(1, traceback, (), 1.0).fault
    assert Outcome(2, "", (), 1.0).fault
    assert Outcome(2, "a\n" * 4, (), 1.0).fault
    assert Outcome(2, "a" * 5000, (), 1.0).fault
    assert Outcome(2, "\u202ea", (), 1.0).fault
    assert "out" in Outcome(2, "refused", ("out",), 1.0).fault
    read, refused = Outcome(0, "", (), 1.0), Outcome(2, "no text.", (), 1.0)
    assert find_fault(Attempt("a", ()), read) == find_fault(Attempt("a", (), True), refused) == ""
    assert "refused" in find_fault(Attempt("a", (), True), read)
