"""Cheap checks of many values, as one test."""

import functools
import inspect
import traceback
from collections.abc import Callable, Iterable
from typing import Any

import pytest


def check_each(
    names: str, values: Iterable[Any], label: Callable[[Any], str] = str
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Run a test on each value, as one case that lists all values that fail.

    names, values: as of pytest.mark.parametrize, which makes a case of each value.
    label: what a failure is named by, given the value. Fixtures are made once.
    """
    own = [name.strip() for name in names.split(",")]
    several = list(values)

    def decorate(test: Callable[..., None]) -> Callable[..., None]:
        @functools.wraps(test)
        def run_all(**fixtures: Any) -> None:
            assert several, "no value to check"
            failures = []
            for value in several:
                arguments = [value] if len(own) == 1 else value
                try:
                    test(**dict(zip(own, arguments, strict=True)), **fixtures)
                except (Exception, pytest.fail.Exception) as failure:
                    line = traceback.extract_tb(failure.__traceback__)[-1].lineno
                    failures.append(f"{label(value)} (line {line}): {failure!r}")
            assert not failures, "\n".join(failures)

        signature = inspect.signature(test)
        fixtures = [one for name, one in signature.parameters.items() if name not in own]
        run_all.__signature__ = signature.replace(parameters=fixtures)  # type: ignore[attr-defined]
        return run_all

    return decorate
