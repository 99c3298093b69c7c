"""Files that come with gensim, found without importing it: that takes longer than a page may."""

from importlib.util import find_spec
from pathlib import Path

from vocadapt.errors import InputError


def find_gensim_file(name: str) -> Path:
    """Return the path of one of gensim's test files; raises InputError if gensim is not installed."""
    found = find_spec("gensim")
    if found is None or found.origin is None:
        raise InputError("gensim is not installed, and its word lists come with it.", "Install requirements.txt.")
    return Path(found.origin).parent / "test" / "test_data" / name
