"""Options of several commands that need no library; `options` imports the steps, which takes a second."""

from vocadapt.cli.command import option

WORKSPACE = option(
    "--workspace",
    metavar="W",
    default="workspace",
    help="workspace folder (default ./workspace)",
)
OVERWRITE_FILE = option("--overwrite", action="store_true", help="replace the file if it exists")
