"""A script runner for Streamlit's test driver that reruns one fragment, as a browser requests it.

monkeypatch.setattr(app_test, "LocalScriptRunner", FragmentRunner)
rerun_fragment(app, app.button(key="pick").click())
"""

import time
from dataclasses import replace
from typing import Any

from streamlit.runtime.scriptrunner_utils.script_requests import ScriptRequests
from streamlit.testing.v1 import AppTest
from streamlit.testing.v1.local_script_runner import LocalScriptRunner


class FragmentRunner(LocalScriptRunner):
    """Reruns the fragment `fragment`, or the whole page, and measures the run.

    fragments: id of each widget drawn so far -> id of its fragment, "" if it has none.
    choice: id of a menu and the label of the option to select: the test driver itself cannot select
    an option whose label differs from its value.
    """

    fragment: str | None = None
    fragments: dict[str, str] = {}  # noqa: RUF012
    choice: tuple[str, str] | None = None
    pages: dict[str, Any] = {}  # noqa: RUF012  # as the last run declared them
    seconds = processor = 0.0  # of the last run

    def request_rerun(self, rerun_data: Any) -> Any:
        """Request a rerun of the fragment, with the selected option."""
        if FragmentRunner.choice is not None and rerun_data.widget_states is not None:
            widget, label = FragmentRunner.choice
            for state in rerun_data.widget_states.widgets:
                if state.id == widget:
                    state.string_value = label
        # The driver begins with a request for the whole page, which would replace this one.
        if FragmentRunner.fragment is not None:
            self._requests = ScriptRequests()
        return super().request_rerun(replace(rerun_data, fragment_id=FragmentRunner.fragment))

    def _run_script_thread(self) -> None:
        # A fragment does not declare the pages again, to which its links lead.
        if FragmentRunner.fragment is not None:
            self._pages_manager._set_pages(FragmentRunner.pages)
        start, used = time.perf_counter(), time.process_time()
        super()._run_script_thread()
        FragmentRunner.seconds = time.perf_counter() - start
        FragmentRunner.processor = time.process_time() - used
        FragmentRunner.pages = self._pages_manager.get_pages()

    def forward_msgs(self) -> list[Any]:
        """Return the messages of the run; note the fragment of each widget."""
        messages = super().forward_msgs()
        for message in messages:
            if message.HasField("delta") and message.delta.WhichOneof("type") == "new_element":
                element = message.delta.new_element
                widget = getattr(element, element.WhichOneof("type"))
                if getattr(widget, "id", ""):
                    FragmentRunner.fragments[widget.id] = message.delta.fragment_id
        return messages


def rerun_fragment(app: AppTest, widget: Any) -> AppTest:
    """Rerun the fragment of a widget that was just changed; only its elements are in the result."""
    FragmentRunner.fragment = FragmentRunner.fragments[widget.id] or None
    try:
        return app.run()
    finally:
        FragmentRunner.fragment = None
