"""The files that come with vocadapt beside its modules: app.py, the pages, the theme, the demo."""

from pathlib import Path

PACKAGE = Path(__file__).parents[1]


def find_shipped_files() -> Path:
    """Return the folder with app.py, `pages`, `assets` and `.streamlit`.

    In an installed wheel it is vocadapt/shipped (pyproject.toml puts the files there), in a clone
    of the repository the folder that contains the package.
    """
    installed = PACKAGE / "shipped"
    if installed.is_dir():
        return installed
    return PACKAGE.parent
