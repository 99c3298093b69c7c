"""How the lab is served."""

import os

import pytest

from vocadapt.ui import server


@pytest.mark.parametrize(("own", "after"), [(None, "passive"), ("active", "active")])
def test_threads_of_the_lab_wait_asleep_unless_told_otherwise(own, after, tmp_path, monkeypatch):
    for name in ("OMP_WAIT_POLICY", server.WORKSPACE):  # set first, so that they are as before afterwards
        monkeypatch.setenv(name, own or "")
    if own is None:
        del os.environ["OMP_WAIT_POLICY"]
    seen = []
    monkeypatch.setattr(server, "_run", lambda app, flags: seen.append(os.environ["OMP_WAIT_POLICY"]))
    server.serve(tmp_path, browser=False)
    assert seen == [after]
