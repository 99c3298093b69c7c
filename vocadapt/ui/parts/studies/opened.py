"""A study as the page shows it: its artifact, file, grid, and the states of its cells."""

import os
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import streamlit as st

from vocadapt.errors import InputError
from vocadapt.lab.experiments.studies.grid import Grid, expand
from vocadapt.lab.experiments.studies.saved import find_study_file, list_paths
from vocadapt.lab.experiments.studies.states import CellState, find_states
from vocadapt.lab.experiments.studies.study_file import read_study
from vocadapt.lab.workspace.manifest import compute_seen_stamp
from vocadapt.lab.workspace.workspace import Artifact, Workspace


@dataclass(frozen=True)
class OpenedStudy:
    """A study of the workspace, its file, and its grid."""

    artifact: Artifact
    file: Path
    grid: Grid

    @property
    def root(self) -> Path:
        """Folder of the study, which is itself a workspace."""
        return self.artifact.folder

    @cached_property
    def states(self) -> tuple[CellState, ...]:
        """The states of its cells, as they are now."""
        return find_states(self.grid, self.root)

    @property
    def n_left(self) -> int:
        """Number of cells without a result."""
        return sum(not one.is_finished for one in self.states)

    @property
    def stamp(self) -> str:
        """Changes with the file of the study, and with the number of finished cells."""
        n_done = len(self.states) - self.n_left
        return f"{self.root} {self.artifact.stamp} {compute_seen_stamp([self.file])} {n_done}"


def open_study(workspace: Workspace, study: Artifact) -> OpenedStudy:
    """Open a study: read its file and expand it. Raises InputError if that is not possible."""
    file = find_study_file(study, workspace)
    if file is None:
        raise InputError("The file of this study is gone, so its cells are unknown.")
    read = read_study(file)
    places = [*map(Path, list_paths(read)), *(workspace.root / "tasks").glob("*/manifest.json")]
    stamp = compute_seen_stamp([*read.files, *(one for one in places if os.path.exists(one))])
    grid = _expand(str(file), stamp, str(study.folder), str(workspace.root))
    return OpenedStudy(study, file, grid)


@st.cache_resource(max_entries=8, show_spinner="Reading the study …")
def _expand(file: str, stamp: str, root: str, workspace: str) -> Grid:
    """Expand a study; cached while its file and its inputs are unchanged.

    Nothing is downloaded, because the file may name any model.
    """
    study = read_study(Path(file))
    opened = Workspace(Path(workspace))
    return expand(study, Path(root), workspace=opened, offline=True)
