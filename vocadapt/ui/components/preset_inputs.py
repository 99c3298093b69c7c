"""Inputs for training settings: initialized from the preset, and remembered per preset."""

from collections.abc import Mapping
from typing import Any

import streamlit as st

from vocadapt.settings import limits
from vocadapt.training.schedules import SCHEDULES
from vocadapt.ui.components.optional_input import optional_number


class PresetNumbers:
    """Number inputs in two columns for the settings of a preset."""

    def __init__(self, usual: Any, preset: str, helps: Mapping[str, str]) -> None:
        self.usual, self.preset, self.helps = usual, preset, helps
        self.columns = st.columns(2)

    def __call__(
        self,
        column: int,
        label: str,
        name: str,
        form: str | None = None,
        most: int | None = None,
        empty: str = "",
    ) -> float:
        """Show the number input of a setting within its bounds, or up to `most`; return its value.

        empty: if given, the field may be left empty, which means 0.
        """
        value = getattr(self.usual, name)
        lowest, highest = limits(self.usual, name)
        kind = type(lowest)
        step = kind(1) if kind is int else kind(value / 10 or 0.01)
        place, key = self.columns[column], f"{name}_{self.preset}"
        help = self.helps.get(name)
        highest = highest if most is None else min(highest, most)
        if empty:
            bounds = (lowest, highest)
            found = optional_number(
                label, bounds, value, empty, place, step=step, key=key, help=help
            )
            return kind(found)  # type: ignore[no-any-return]
        found = place.number_input(label, lowest, highest, value, step, form, key=key, help=help)
        return kind(found)  # type: ignore[no-any-return]


def pick_schedule(usual: Any, preset: str) -> str:
    """Show the picker of the learning rate scheduler; return its name."""
    names = list(SCHEDULES)
    return st.selectbox(
        "LR scheduler",
        names,
        names.index(usual.schedule),
        key=f"schedule_{preset}",
        format_func=lambda name: f"{name}: {SCHEDULES[name].about}",
    )
