"""Cache of parsed small files: pages list hundreds of artifacts and jobs on every rerun."""

import os
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from pathlib import Path
from typing import Generic, TypeVar

T = TypeVar("T")
MAX_ENTRIES = 5000
# Nanoseconds; a file that changed more recently may change again without a new modification time.
MIN_AGE = 50_000_000


class CachedReader(Generic[T]):
    """A function that reads a file, cached until the file's inode, size or times change.

    Values are shared: do not modify them. At most `max_entries` are cached; the least recently used
    are dropped.
    """

    def __init__(self, read: Callable[[Path], T], max_entries: int = MAX_ENTRIES) -> None:
        self._read, self._max_entries = read, max_entries
        self._entries: OrderedDict[str, tuple[tuple[int, ...], T]] = OrderedDict()
        self._lock = threading.Lock()

    def __call__(self, path: str | Path) -> T:
        """Return the parsed content of a file; raise OSError if it does not exist."""
        # 1. Look up the version of the file. The key is computed before reading, so that a change
        #    during reading is noticed at the next call.
        name = str(path)
        state = os.stat(path)
        key = (state.st_dev, state.st_ino, state.st_size, state.st_mtime_ns, state.st_ctime_ns)
        with self._lock:
            entry = self._entries.get(name)
            if entry is not None and entry[0] == key:
                self._entries.move_to_end(name)
                return entry[1]

        # 2. Read outside the lock. A file that has just changed is not cached: another change
        #    within the resolution of its times would not be noticed.
        value = self._read(Path(path))
        if time.time_ns() - max(state.st_mtime_ns, state.st_ctime_ns) > MIN_AGE:
            with self._lock:
                self._entries[name] = (key, value)
                while len(self._entries) > self._max_entries:
                    self._entries.popitem(last=False)
        return value

    def __len__(self) -> int:
        return len(self._entries)
