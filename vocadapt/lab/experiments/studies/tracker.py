"""Export of a study's runs as the database of an experiment tracker.

The schema is that of trackio (0.43). As in Weights & Biases, a run has a config, a history by step
(here: training step) and a summary, which is the last step. One file is one project: put it into
trackio's folder under the project's name, and `trackio show` lists it.
"""

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

from vocadapt.given_settings import get_key
from vocadapt.lab.experiments.studies.grid import Cell, Grid
from vocadapt.lab.workspace.manifest import Manifest, read_manifest
from vocadapt.settings import walk_settings
from vocadapt.training.finetune.run_files import SavedRun, load_runs

SCHEMA = """
CREATE TABLE metrics (
  id INTEGER PRIMARY KEY AUTOINCREMENT, run_id TEXT NOT NULL, timestamp TEXT NOT NULL,
  run_name TEXT NOT NULL, step INTEGER NOT NULL, metrics TEXT NOT NULL, log_id TEXT, space_id TEXT);
CREATE INDEX idx_metrics_run_step ON metrics(run_id, step);
CREATE INDEX idx_metrics_run_timestamp ON metrics(run_id, timestamp);
CREATE TABLE configs (
  id INTEGER PRIMARY KEY AUTOINCREMENT, run_id TEXT NOT NULL, run_name TEXT NOT NULL,
  config TEXT NOT NULL, created_at TEXT NOT NULL, UNIQUE(run_id));
CREATE INDEX idx_configs_run_name ON configs(run_name);
"""


def render_tracker(grid: Grid, root: Path) -> bytes:
    """Return the finished runs of a study as the content of a database file (SQLite)."""
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.executescript(SCHEMA)
        for cell in grid.cells:
            if cell.step.is_whole(root):
                folder = cell.step.find_folder(root)
                manifest = read_manifest(folder)
                for run in load_runs(folder):
                    _write_run(connection, cell, manifest, run)
        connection.commit()
        return connection.serialize()


def _write_run(
    connection: sqlite3.Connection, cell: Cell, manifest: Manifest, run: SavedRun
) -> None:
    fold = run.record.get("fold") or 0
    name = f"{cell.row} · {cell.task} · seed {cell.seed}" + f" · fold {fold}" * bool(fold)
    # Variants with the same settings share a step, so the step alone does not tell their runs apart.
    identity = f"{name} · {cell.step.digest}"
    config = json.dumps(_build_config(cell, manifest, run))
    connection.execute(
        "INSERT INTO configs (run_id, run_name, config, created_at) VALUES (?, ?, ?, ?)",
        (identity, name, config, manifest.created),
    )
    connection.executemany(
        "INSERT INTO metrics (run_id, timestamp, run_name, step, metrics) VALUES (?, ?, ?, ?, ?)",
        [
            (identity, manifest.created, name, step, json.dumps(metrics))
            for step, metrics in iterate_history(run, manifest)
        ],
    )


def _build_config(cell: Cell, manifest: Manifest, run: SavedRun) -> dict[str, Any]:
    """Return the config of a run: its place in the study, settings and versions, as flat values."""
    return {
        "variant": cell.row,
        "task": cell.task,
        "kind": run.record["kind"],
        "seed": cell.seed,
        "threads": manifest.threads,
        "trained_on": run.record.get("trained_on", ""),
        **list_settings(cell.step.spec.settings),
        **{f"version.{name}": number for name, number in manifest.versions.items()},
    }


def iterate_history(run: SavedRun, manifest: Manifest) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield each step of a run with its metrics: the training loss; the dev score at the end of each
    epoch; and the summary, at the last step.
    """
    history: dict[int, dict[str, Any]] = {}
    for step, loss in run.record.get("curve", ()):
        history.setdefault(int(step), {})["train/loss"] = loss
    last, dev = max(history, default=0), run.record.get("dev", ())
    for epoch, score in enumerate(dev, start=1):
        # Epochs have equal numbers of steps.
        place = round(last * epoch / len(dev))
        history.setdefault(place, {}).update({"dev/score": score, "epoch": epoch})
    summary = history.setdefault(last, {})
    for tokenization, score in run.record.get("scores", {}).items():
        for figure, value in score.items():
            if isinstance(value, int | float):
                summary[f"test/{tokenization}/{figure}"] = value
    summary |= {"collapsed": int(bool(run.record.get("collapsed"))), "seconds": manifest.seconds}
    summary |= {name: manifest.footprint[name] for name in ("kwh", "kg_co2") if manifest.footprint}
    yield from sorted(history.items())


def list_settings(settings: Any) -> dict[str, Any]:
    """Return the settings of a step by their key in the file of a study; a setting without a key, or
    with a flag that negates it, by its own name.
    """
    found = {}
    for one, value in walk_settings(settings):
        key = get_key(one.flag or "")
        if not key or key.startswith("no_"):
            key = one.name
        found[key] = value
    return found
