"""Dataclasses become JSON objects, and are built from them again."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import pytest

from vocadapt.spaces.alignment.methods import AlignmentSettings
from vocadapt.system.json_values import build_value, json_name, list_known_fields, plain


@dataclass(frozen=True)
class Inner:
    p5: float = field(metadata=json_name("p@5"))
    note: str | None = None


@dataclass(frozen=True)
class Outer:
    inner: Inner
    several: tuple[Inner, ...]
    by_name: Mapping[str, Inner]
    settings: AlignmentSettings = field(default_factory=AlignmentSettings)


VALUE = Outer(Inner(0.5), (Inner(0.1), Inner(0.2, "x")), {"a": Inner(float("nan"))})


def test_a_value_is_an_object_of_its_fields_under_their_public_names():
    written = plain(VALUE)
    assert written["inner"] == {"p@5": 0.5, "note": None}
    assert written["several"][1] == {"p@5": 0.2, "note": "x"}
    assert written["by_name"] == {"a": {"p@5": None, "note": None}}
    assert list_known_fields(VALUE.inner) == {"p@5": 0.5}


def test_it_is_built_again_with_defaults_for_what_is_missing():
    written = plain(VALUE) | {"of another version": 1}
    again = build_value(Outer, written)
    assert (again.inner, again.several, again.settings) == (
        VALUE.inner,
        VALUE.several,
        VALUE.settings,
    )
    assert build_value(Inner | None, None) is None
    assert build_value(Inner, {"p@5": 1.0}) == Inner(1.0)
    with pytest.raises(TypeError, match="p5"):
        build_value(Inner, {"p5": 1.0})
    with pytest.raises(TypeError, match="str"):
        build_value(Inner, "text")
