"""Child processes that end with their parent."""

import os
import threading
from multiprocessing import parent_process


def end_with_parent() -> None:
    """End this process at once when its parent process has ended, even if that was killed."""
    threading.Thread(target=_wait_for_parent, daemon=True).start()


def _wait_for_parent() -> None:
    parent = parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
