"""`python -m vocadapt`: the command line."""

import sys

from vocadapt.cli import main

if __name__ == "__main__":
    sys.exit(main())
