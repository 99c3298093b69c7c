"""Details & export: the folded block at the end of every page, with settings, command and data."""

import json
from collections.abc import Callable, Mapping

import streamlit as st

from vocadapt.lab.steps.command_lines import build_artifact_command
from vocadapt.lab.workspace.workspace import Artifact
from vocadapt.text.spreadsheet import format_tsv

Download = Callable[[], str | bytes]


def details(artifact: Artifact, downloads: Mapping[str, Download] | None = None) -> None:
    """Draw the folded block; `downloads` maps file names to functions that create the content on
    click.
    """
    manifest = artifact.manifest
    with st.expander("Details & export", icon=":material/data_object:"):
        if manifest.command:
            st.markdown("The same step in a terminal")
            st.code(build_artifact_command(artifact), language="bash", wrap_lines=True)
        st.markdown("Folder")
        st.code(str(artifact.folder), language=None, wrap_lines=True)
        left, right = st.columns(2)
        left.markdown("Settings")
        left.code(_json(manifest.settings), language="json")
        right.markdown("Figures and versions")
        right.code(
            _json(
                {
                    "figures": manifest.numbers,
                    "versions": manifest.versions,
                    "made": manifest.created,
                }
            ),
            language="json",
        )
        with st.container(horizontal=True):
            for name, make in {
                "manifest.json": lambda: _manifest(artifact),
                **(downloads or {}),
            }.items():
                st.download_button(
                    name,
                    make,
                    name,
                    on_click="ignore",
                    icon=":material/download:",
                    key=f"get_{name}",
                )


def tsv(header: tuple[str, ...], rows: list[tuple[object, ...]]) -> str:
    """Format a table as TSV for spreadsheets."""
    return format_tsv([header, *rows])


def _manifest(artifact: Artifact) -> bytes:
    return (artifact.folder / "manifest.json").read_bytes()


def _json(value: object) -> str:
    return json.dumps(value, indent=1, ensure_ascii=False, default=str)
