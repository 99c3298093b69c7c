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
from vocadapt.ui.state.names import name_adaptation


@dataclass(frozen=True)
class OpenedStudy:
    """A study of the workspace. file: None if it does not exist. grid: None if there is no file or
    it cannot be read; `problem` says why.
    """

    artifact: Artifact
    file: Path | None
    grid: Grid | None
    problem: str = ""
    remedy: str = ""

    @property
    def root(self) -> Path:
        """Folder of the study, which is itself a workspace."""
        return self.artifact.folder

    @cached_property
    def states(self) -> tuple[CellState, ...]:
        """The states of its cells, as they are now."""
        return find_states(self.grid, self.root) if self.grid else ()

    @cached_property
    def names(self) -> dict[str, str]:
        """Display names of the rows: an adapted model that is named after its preset has the name
        that other pages give it, unless two rows would have the same.
        """
        assert self.grid is not None
        found: dict[str, str] = {}
        for row in self.grid.rows:
            shown = self._describe_row(row)
            found[row] = row if shown in found.values() else shown
        return found

    def _describe_row(self, row: str) -> str:
        assert self.grid is not None
        variant, separator, corpus = row.partition(" · ")
        one = next((one for one in self.grid.study.variants if one.name == variant), None)
        given = one.adapting if one else {}
        origins = [given[source] for source in ("vectors", "target", "corpus") if given.get(source)]
        if (
            one is None
            or not origins
            or given.get("preset") not in (variant, variant.removesuffix("-adapted"))
        ):
            return row
        origin = origins[0] if isinstance(origins[0], str) else origins[0][0]
        shown = name_adaptation(Path(one.model).name, Path(origin).name)
        return f"{shown}{separator}{corpus}"

    @property
    def n_left(self) -> int:
        """Number of cells without a result."""
        return sum(not one.is_finished for one in self.states)

    @property
    def stamp(self) -> str:
        """Changes with the file of the study, and with the number of finished cells."""
        file = compute_seen_stamp([self.file]) if self.file else ""
        n_done = len(self.states) - self.n_left
        return f"{self.root} {self.artifact.stamp} {file} {n_done}"


def open_study(workspace: Workspace, study: Artifact) -> OpenedStudy:
    """Open a study: read its file and expand it."""
    file = find_study_file(study, workspace)
    if file is None:
        problem = "The file of this study is gone, so its cells are unknown."
        return OpenedStudy(study, None, None, problem)
    try:
        read = read_study(file)
        places = [*map(Path, list_paths(read)), *(workspace.root / "tasks").glob("*/manifest.json")]
        stamp = compute_seen_stamp([*read.files, *(one for one in places if os.path.exists(one))])
        grid = _expand(str(file), stamp, str(study.folder), str(workspace.root))
    except InputError as error:
        return OpenedStudy(study, file, None, error.problem, error.remedy)
    return OpenedStudy(study, file, grid)


@st.cache_resource(max_entries=8, show_spinner="Reading the study …")
def _expand(file: str, stamp: str, root: str, workspace: str) -> Grid:
    """Expand a study; cached while its file and its inputs are unchanged.

    Nothing is downloaded, because the file may name any model.
    """
    study = read_study(Path(file))
    opened = Workspace(Path(workspace))
    return expand(study, Path(root), workspace=opened, offline=True)
