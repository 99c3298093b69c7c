"""Python imports this module when a process of the tests starts: it installs the network guard."""

import runpy
from pathlib import Path

runpy.run_path(str(Path(__file__).parents[1] / "network_guard.py"))["install"]()
