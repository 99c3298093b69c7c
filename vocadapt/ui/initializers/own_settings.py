"""Inputs of the settings that only one initializer has."""

from collections.abc import Collection
from dataclasses import replace

import streamlit as st

from vocadapt.ui.components.setting_inputs import draw_settings
from vocadapt.vocabulary.initializers.initialize import INITIALIZERS, InitializerSettings


def draw_own_settings(
    rows: InitializerSettings, names: Collection[str], key: str
) -> InitializerSettings:
    """Draw the inputs of these initializers' own settings, and return the settings with them.

    key: prefix of the keys.
    """
    options = dict(rows.options)
    for name in names:
        kind = INITIALIZERS[name].settings
        if kind is None:
            continue
        with st.container(border=True):
            st.markdown(f"Settings of **{name}**")
            options[name] = draw_settings(st, options.get(name) or kind(), f"{key}_{name}")
    return replace(rows, options=options)
