"""How the lab is shared with others: a demo that is read-only, or a class with a workspace each."""

import re
from dataclasses import dataclass

from vocadapt.errors import InputError
from vocadapt.settings import CheckedSettings, setting

ORIGIN = re.compile(r"https?://[A-Za-z0-9.-]+(:\d+)?")
HOST_NAME = re.compile(r"[A-Za-z0-9.-]+")
MAX_MEGABYTES = 1_000_000


@dataclass(frozen=True)
class Sharing(CheckedSettings):
    """Settings of a lab that others use; by default, it is for one user on this machine."""

    files_root: str = setting(
        "", "folder whose files the pages may open, if the lab is served to others", empty="none"
    )
    host_name: str = setting(
        "",
        "name by which browsers reach the lab, through a proxy or in the network: lab.example.org",
        empty="none",
    )
    embed_in: str = setting(
        "", "site that may show the lab in a frame: https://example.org", empty="none"
    )
    max_upload_mb: int = setting(
        200, "largest file that can be uploaded, in megabytes", low=1, high=MAX_MEGABYTES
    )
    memory_mb: int = setting(
        4_000,
        "memory of the server at which the caches of its pages are emptied, in megabytes",
        low=500,
        high=MAX_MEGABYTES,
    )
    read_only: bool = setting(False, "show the workspace to others: nothing is saved or started")
    sign_in: bool = setting(
        False, "require an account, by the section [auth] of .streamlit/secrets.toml"
    )
    workspace_per_visitor: bool = setting(
        False, "give each visitor a workspace, in the folder of the workspace"
    )
    quota_mb: int = setting(500, "storage of each visitor, in megabytes", low=1, high=MAX_MEGABYTES)
    keep_days: int = setting(
        30, "days without a visit until a visitor's workspace is removed", low=1, high=36_500
    )
    jobs_per_visitor: int = setting(
        6, "jobs of each visitor that may run or wait", low=1, high=1_000
    )

    def __post_init__(self) -> None:
        """Raise InputError for invalid or contradictory values."""
        super().__post_init__()
        if self.read_only and self.workspace_per_visitor:
            raise InputError(
                "A read-only lab gives visitors no workspaces.", "Leave out one of the two options."
            )
        if self.host_name and not HOST_NAME.fullmatch(self.host_name):
            raise InputError(
                f"{self.host_name!r} is not a host name.",
                "Give it like lab.example.org, without https:// and port.",
                "host_name",
            )
        if self.embed_in and not ORIGIN.fullmatch(self.embed_in):
            raise InputError(
                f"{self.embed_in!r} is not the address of a site.",
                "Give it like https://example.org, without a path.",
                "embed_in",
            )
