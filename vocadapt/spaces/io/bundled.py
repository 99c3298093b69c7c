"""Data files of the gensim package, found without importing it, because the import is slow."""

from importlib.util import find_spec
from pathlib import Path

from vocadapt.errors import InputError


def find_gensim_file(name: str) -> Path:
    """Return the path of one of gensim's test data files; raise InputError if gensim is not
    installed.
    """
    # `find_spec` locates the package without running its code.
    found = find_spec("gensim")
    if found is None or found.origin is None:
        raise InputError(
            "gensim is not installed; the word lists are part of it.", "Install requirements.txt."
        )
    return Path(found.origin).parent / "test" / "test_data" / name
