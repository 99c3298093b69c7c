"""Options of the initializers that have settings of their own: --NAME-SETTING."""

from argparse import Namespace
from collections.abc import Collection
from dataclasses import replace

from vocadapt.cli.parser import Parser
from vocadapt.cli.setting_options import add_settings, read_given
from vocadapt.errors import InputError
from vocadapt.vocabulary.initializers.initialize import INITIALIZERS, InitializerSettings


def add_initializer_settings(parser: Parser) -> None:
    """Add an option for each setting that only one initializer has."""
    for name, initializer in INITIALIZERS.items():
        if initializer.settings is not None:
            add_settings(parser, initializer.settings, prefix=f"{name}-")


def read_initializer_settings(
    options: Namespace, rows: InitializerSettings, used: Collection[str]
) -> InitializerSettings:
    """Return the settings with those that were given for single initializers.

    used: names of the initializers that will run. Raises InputError for a setting of another one.
    """
    own = dict(rows.options)
    for name, initializer in INITIALIZERS.items():
        if initializer.settings is None:
            continue
        given = read_given(options, initializer.settings, prefix=f"{name}-")
        if given and name not in used:
            raise InputError(
                f"Settings of {name} were given, and this initializer is not used.",
                f"Choose the initializer {name}, or leave its settings out.",
            )
        if given:
            own[name] = replace(own.get(name) or initializer.settings(), **given)
    return replace(rows, options=own)
