"""Locks on folders; the kernel releases them when the process ends, even if it is killed."""

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

LOOK_EVERY = 0.02  # seconds


def acquire_lock(folder: Path, patience: float = 0.0) -> int | None:
    """Lock a folder; return the file descriptor that holds the lock, None if it is locked already.

    patience: seconds for which to retry, because `is_locked` briefly takes the lock.
    """
    # flock locks belong to the open file, not to the process: a child that inherits the descriptor
    # holds the lock even after the parent closes its own descriptor.
    descriptor = os.open(folder, os.O_RDONLY)
    end = time.monotonic() + patience
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
    """Wait for the lock of a folder and hold it during the block; shared: others may share it."""
    mode = fcntl.LOCK_SH if shared else fcntl.LOCK_EX
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, mode)
        yield
    finally:
        os.close(descriptor)


def is_locked(folder: Path) -> bool:
    """Return whether a process holds the lock of a folder; False if the folder does not exist."""
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
