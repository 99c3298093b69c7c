"""The rates that energy, CO2 and cost are estimated with in a workspace: declared once, for all steps."""

from pathlib import Path

from vocadapt.footprint import RATES, Rates, read_rates


def read_workspace_rates(root: Path | None) -> Rates:
    """Return the rates of a workspace: those of the program, changed by its file footprint.toml.

    The folder of a study or search is a workspace itself, and follows the one that it is in. Raises InputError
    for a file that is no such table.
    """
    if root is None:
        return read_rates()
    copies = [root / RATES]
    if root.parent.name in ("studies", "searches"):
        copies.insert(0, root.parent.parent / RATES)
    return read_rates(*copies)
