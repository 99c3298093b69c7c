"""Locks on folders that die with their holder: the kernel lets go when the process ends, however it
ends.
"""

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

LOOK_EVERY = 0.02  # seconds


def acquire_lock(folder: Path, patience: float = 0.0) -> int | None:
    """Lock a folder; return the file descriptor that holds the lock, None if it is locked already.

    With `patience` it retries for that many seconds, since `is_locked` takes a lock for an instant.
    """
    # A lock of flock belongs to the open file, not to the process: a child that inherits the
    # descriptor keeps it when the parent closes its own.
    descriptor, end = os.open(folder, os.O_RDONLY), time.monotonic() + patience
    while True:
        with suppress(BlockingIOError):
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return descriptor
        if time.monotonic() >= end:
            os.close(descriptor)
            return None
        time.sleep(LOOK_EVERY)


@contextmanager
def hold_lock(folder: Path) -> Iterator[int]:
    """Lock a folder during a block; raises BlockingIOError if it is locked already."""
    descriptor = acquire_lock(folder)
    if descriptor is None:
        raise BlockingIOError(f"{folder} is locked by another process")
    try:
        yield descriptor
    finally:
        os.close(descriptor)


@contextmanager
def wait_for_lock(folder: Path, shared: bool = False) -> Iterator[None]:
    """Wait for the lock of a folder and hold it during the block.

    With `shared` the lock is shared: several blocks may hold it at once, but none that is alone.
    """
    mode = fcntl.LOCK_EX
    if shared:
        mode = fcntl.LOCK_SH
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, mode)
        yield
    finally:
        os.close(descriptor)


def is_locked(folder: Path) -> bool:
    """Return whether a living process holds the lock of this folder; False if the folder does not exist."""
    try:
        descriptor = os.open(folder, os.O_RDONLY)
    except FileNotFoundError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)
    return False
