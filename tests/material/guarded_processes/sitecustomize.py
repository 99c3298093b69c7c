"""Python imports this module when a process of the tests starts: it installs the network guard."""

import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

# Under its own name, so that a process that also imports it (a worker of pytest) has one guard.
NAME = "tests.material.network_guard"
spec = spec_from_file_location(NAME, Path(__file__).parents[1] / "network_guard.py")
assert spec is not None and spec.loader is not None
guard = module_from_spec(spec)
sys.modules[NAME] = guard
spec.loader.exec_module(guard)
guard.install()
