"""How the lab is served."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from vocadapt.ui.shell import server


@pytest.mark.parametrize(("own", "after"), [(None, "passive"), ("active", "active")])
def test_threads_of_the_lab_wait_asleep_unless_told_otherwise(own, after, tmp_path, monkeypatch):
    for name in (
        "OMP_WAIT_POLICY",
        server.WORKSPACE_VARIABLE,
    ):  # set first, so that they are as before afterwards
        monkeypatch.setenv(name, own or "")
    if own is None:
        del os.environ["OMP_WAIT_POLICY"]
    seen = []
    monkeypatch.setattr(
        server, "_run", lambda app, flags: seen.append(os.environ["OMP_WAIT_POLICY"])
    )
    server.serve(tmp_path, browser=False)
    assert seen == [after]


def test_a_workspace_below_the_home_of_the_user_is_served_from_there(tmp_path, monkeypatch):
    monkeypatch.setenv(server.WORKSPACE_VARIABLE, "")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    seen = []
    monkeypatch.setattr(
        server, "_run", lambda app, flags: seen.append(os.environ[server.WORKSPACE_VARIABLE])
    )
    server.serve(Path("~/project"), browser=False)
    assert seen == [str(tmp_path.resolve() / "project")] and not (tmp_path / "~").exists()


def test_no_message_is_sent_as_a_reference_that_the_browser_may_have_dropped():
    from streamlit import config
    from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
    from streamlit.runtime.forward_msg_cache import populate_hash_if_needed
    from streamlit.web.bootstrap import load_config_options

    name = "global.minCachedMessageSize"
    before = config.get_option(name)
    message = ForwardMsg()
    message.delta.new_element.markdown.body = "x" * 10**6
    try:
        load_config_options(server._load_settings())
        populate_hash_if_needed(message)
    finally:
        config.set_option(name, before)
    assert not message.metadata.cacheable


def test_the_server_knows_every_step_before_a_page_is_visited():
    """It renames and removes jobs of any step when it starts."""
    program = (
        "import vocadapt.ui.shell.server\n"
        "from vocadapt.lab.steps.step import STEPS\n"
        "print({'study', 'search', 'seeds'} <= set(STEPS))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["True"]
