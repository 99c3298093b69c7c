"""Cache of parsed small files: pages list hundreds of artifacts and jobs in every run."""

import os
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from pathlib import Path
from typing import Generic, TypeVar

T = TypeVar("T")
MAX_ENTRIES = 5000
SETTLED = 50_000_000  # nanoseconds: a younger file may change again without a change of its times


class CachedReader(Generic[T]):
    """Function that reads a file, cached until the file's inode, size or times change.

    Values are shared: do not modify them. At most `max_entries` are kept; the least recently used
    is dropped.
    """

    def __init__(self, read: Callable[[Path], T], max_entries: int = MAX_ENTRIES) -> None:
        self._read, self._max_entries = read, max_entries
        self._kept: OrderedDict[str, tuple[tuple[int, ...], T]] = OrderedDict()
        self._lock = threading.Lock()

    def __call__(self, path: Path) -> T:
        """Return the value of a file; raise OSError if it does not exist, and what the function
        raises.
        """
        name, state = str(path), os.stat(path)
        key = (state.st_dev, state.st_ino, state.st_size, state.st_mtime_ns, state.st_ctime_ns)
        with self._lock:
            held = self._kept.get(name)
            if held is not None and held[0] == key:
                self._kept.move_to_end(name)
                return held[1]
        value = self._read(path)
        if time.time_ns() - max(state.st_mtime_ns, state.st_ctime_ns) > SETTLED:
            with self._lock:
                self._kept[name] = (key, value)
                while len(self._kept) > self._max_entries:
                    self._kept.popitem(last=False)
        return value

    def __len__(self) -> int:
        return len(self._kept)
