"""The rates for estimates of energy, CO2 and cost in a workspace."""

from pathlib import Path

from vocadapt.lab.workspace.workspace import find_root
from vocadapt.system.footprint import RATES, Rates, read_rates


def read_workspace_rates(root: Path | None) -> Rates:
    """Return the rates of a workspace: those of the program, changed by its file footprint.toml.

    The folder of a study or search is itself a workspace; it also uses the file of the workspace
    around it. Raises InputError for an invalid file.
    """
    copies = list[Path]()
    while root is not None:
        copies.insert(0, root / RATES)
        root = find_root(root)
    return read_rates(*copies)
