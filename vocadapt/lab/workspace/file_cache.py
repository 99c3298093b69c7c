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
        self._entries: OrderedDict[str, tuple[tuple[int, ...], T]] = OrderedDict()
        self._lock = threading.Lock()

    def __call__(self, path: Path) -> T:
        """Return the value of a file; raise OSError if it does not exist, and what the function
        raises.
        """
        # 1. What tells versions of a file apart; taken before it is read, so that a change
        #    meanwhile is noticed at the next call.
        name, state = str(path), os.stat(path)
        key = (state.st_dev, state.st_ino, state.st_size, state.st_mtime_ns, state.st_ctime_ns)
        with self._lock:
            entry = self._entries.get(name)
            if entry is not None and entry[0] == key:
                self._entries.move_to_end(name)
                return entry[1]

        # 2. Read outside the lock, and keep the value unless the file is too young: a second change
        #    within the resolution of its times would go unnoticed.
        value = self._read(path)
        if time.time_ns() - max(state.st_mtime_ns, state.st_ctime_ns) > SETTLED:
            with self._lock:
                self._entries[name] = (key, value)
                while len(self._entries) > self._max_entries:
                    self._entries.popitem(last=False)
        return value

    def __len__(self) -> int:
        return len(self._entries)
