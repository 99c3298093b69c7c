"""Full garbage collections that do not hold up an answer.

Streamlit collects after every run of a page, in the thread that also keeps the answer from being sent. With torch, transformers
and plotly loaded that takes .1–.2 s, nearly all of it to find once more that libraries are in use.
"""

import gc
import time
from collections.abc import Mapping

LONG = 0.02  # seconds a full collection may take before what outlived it is set aside
OLDEST = 2  # the generation of a full collection


class _SetAside:
    """After a full collection that took long, set aside what outlived it: later ones look only at what is new.

    What is set aside is still freed when nothing refers to it; only a cycle that was in use then is not found later.
    """

    began = 0.0

    def __call__(self, phase: str, info: Mapping[str, int]) -> None:
        if info["generation"] != OLDEST:
            return
        if phase == "start":
            self.began = time.perf_counter()
        elif time.perf_counter() - self.began > LONG:
            gc.freeze()


def keep_short() -> None:
    """Keep full collections of this process short from now on; a second call changes nothing."""
    if not any(isinstance(one, _SetAside) for one in gc.callbacks):
        gc.callbacks.append(_SetAside())
