"""How the lab is shared with others: the options of `python -m vocadapt app`, and their values."""

import re
from argparse import Namespace
from dataclasses import dataclass, fields
from typing import Any

from vocadapt.errors import InputError

QUOTA_MB, KEEP_DAYS, JOBS_PER_VISITOR = 500, 30, 6
ORIGIN = re.compile(r"https?://[A-Za-z0-9.-]+(:\d+)?")
HOST_NAME = re.compile(r"[A-Za-z0-9.-]+")

# Options of the command line → arguments of argparse's `add_argument`.
SHARING: dict[str, dict[str, Any]] = {
    "--files-root": {
        "metavar": "DIR",
        "help": "folder whose files the pages may open, if the lab is served to others",
    },
    "--host-name": {
        "metavar": "NAME",
        "help": "name by which browsers reach the lab through a proxy, such as lab.example.org",
    },
    "--embed-in": {
        "metavar": "SITE",
        "help": "site that may show the lab in a frame, such as https://example.org",
    },
    "--max-upload-mb": {
        "type": int,
        "metavar": "N",
        "help": "largest file that can be uploaded, in megabytes (default 200)",
    },
    "--read-only": {
        "action": "store_true",
        "help": "show the workspace to others: nothing can be saved or started",
    },
    "--sign-in": {
        "action": "store_true",
        "help": "require an account, by the section [auth] of .streamlit/secrets.toml",
    },
    "--workspace-per-visitor": {
        "action": "store_true",
        "help": "give each visitor a workspace, in the folder that --workspace names",
    },
    "--quota-mb": {
        "type": int,
        "default": QUOTA_MB,
        "metavar": "N",
        "help": f"storage of a visitor in megabytes (default {QUOTA_MB})",
    },
    "--keep-days": {
        "type": int,
        "default": KEEP_DAYS,
        "metavar": "N",
        "help": f"days without a visit until the visitor's workspace is removed (default {KEEP_DAYS})",
    },
    "--jobs-per-visitor": {
        "type": int,
        "default": JOBS_PER_VISITOR,
        "metavar": "N",
        "help": f"jobs of a visitor that may run or wait (default {JOBS_PER_VISITOR})",
    },
}


@dataclass(frozen=True)
class Sharing:
    """How the lab is shared with others; `SHARING` explains the values.

    max_upload_mb: None for the default. quota_mb, keep_days and jobs_per_visitor apply if each visitor
    has a workspace.
    """

    files_root: str | None = None
    host_name: str | None = None
    embed_in: str | None = None
    max_upload_mb: int | None = None
    read_only: bool = False
    sign_in: bool = False
    workspace_per_visitor: bool = False
    quota_mb: int = QUOTA_MB
    keep_days: int = KEEP_DAYS
    jobs_per_visitor: int = JOBS_PER_VISITOR

    def __post_init__(self) -> None:
        """Raise InputError for invalid or contradictory values."""
        if self.read_only and self.workspace_per_visitor:
            raise InputError(
                "A read-only lab gives visitors no workspaces.", "Leave out one of the two options."
            )
        for name in ("max_upload_mb", "quota_mb", "keep_days", "jobs_per_visitor"):
            number = getattr(self, name)
            if number is not None and number < 1:
                raise InputError(f"Got {number}.", "Give a whole number from 1.", name)
        if self.host_name is not None and not HOST_NAME.fullmatch(self.host_name):
            raise InputError(
                f"{self.host_name!r} is not a host name.",
                "Give it like lab.example.org, without https:// and port.",
                "host_name",
            )
        if self.embed_in is not None and not ORIGIN.fullmatch(self.embed_in):
            raise InputError(
                f"{self.embed_in!r} is not the address of a site.",
                "Give it like https://example.org, without a path.",
                "embed_in",
            )


def build_sharing(options: Namespace) -> Sharing:
    """Build the values from a parsed command line; raises InputError if they are invalid."""
    return Sharing(**{one.name: getattr(options, one.name) for one in fields(Sharing)})
