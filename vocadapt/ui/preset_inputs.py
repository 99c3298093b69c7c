"""Inputs for the settings of a training: each begins with what the chosen preset says, and remembers what was typed for it."""

from collections.abc import Mapping
from typing import Any

import streamlit as st

from vocadapt.training.schedules import SCHEDULES


class PresetNumbers:
    """Number inputs in two columns, for the settings `usual` of a preset."""

    def __init__(self, usual: Any, preset: str, helps: Mapping[str, str]) -> None:
        self.usual, self.preset, self.helps = usual, preset, helps
        self.columns = st.columns(2)

    def __call__(self, column: int, label: str, name: str, low: float, high: float, form: str | None = None) -> float:
        """The input of one setting, whole numbers where the preset has one; its value."""
        value = getattr(self.usual, name)
        kind = int if isinstance(value, int) else float
        step = kind(1) if kind is int else kind(value / 10 or 0.01)
        place, key = self.columns[column], f"{name}_{self.preset}"
        return kind(place.number_input(label, kind(low), kind(high), value, step, form, key=key, help=self.helps.get(name)))


def pick_schedule(usual: Any, preset: str) -> str:
    """How the learning rate goes over the steps."""
    names = list(SCHEDULES)
    return st.selectbox(
        "Learning rate over time", names, names.index(usual.schedule), key=f"schedule_{preset}",
        format_func=lambda name: f"{name}: {SCHEDULES[name].about}",
    )  # fmt: skip
