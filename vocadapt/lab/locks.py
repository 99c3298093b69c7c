"""Locks on folders that die with their holder: the kernel lets go when the process ends, however it ends."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


def take(folder: Path) -> int | None:
    """Lock a folder and give the file descriptor that holds the lock; None where somebody else holds it."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        return None
    return descriptor


@contextmanager
def hold(folder: Path) -> Iterator[int]:
    """Lock a folder for the length of a block; raises BlockingIOError where somebody else holds it."""
    descriptor = take(folder)
    if descriptor is None:
        raise BlockingIOError(f"{folder} is locked by another process")
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def held(folder: Path) -> bool:
    """Whether a living process holds the lock of this folder; False where the folder is gone."""
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
