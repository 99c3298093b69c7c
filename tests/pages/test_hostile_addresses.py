"""Hostile addresses: all settings of a page have hostile values; no exception, no content of
other files, nothing hidden."""

import pytest

from tests.pages.test_address import SOURCES, keys_of, part_of
from tests.pages.test_pages import markup, texts
from vocadapt.ui.frame.pages import PARTS

VALUES = [
    "/etc/passwd",
    "../../../etc/passwd",
    "/proc/self/environ",
    "file:///etc/passwd",
    "\u202egnol",
    "a\nb\x00c",
    "<script>alert(1)</script>",
    "x" * 6000,
    "999999999999999999999999",
    "-1",
    "nan",
    "[](http://evil.example)",
]
PAGES = [*PARTS]
LONGEST = 2000  # characters of an error


def keys_of_page(page):
    """The keys of a page in the address."""
    found = {key for path in SOURCES if part_of(path) == page for key in keys_of(path)}
    return sorted(key for key in found if not key.endswith("_"))


def check_page(open_page, workspace, page, value):
    app = open_page(page, workspace, **dict.fromkeys(keys_of_page(page), value))
    assert not app.exception, (page, value)
    shown = [
        *texts(app),
        markup(app),
        *(error.value for error in app.error),
        *(text.value for text in app.text),
    ]
    assert not any("root:x:" in text or "PATH=" in text for text in shown)
    told = [
        text
        for text in (*(error.value for error in app.error), *(text.value for text in app.text))
        if text
    ]
    assert all(len(text) <= LONGEST for text in told)
    assert not any("\u202e" in text for text in told)


def test_the_keys_of_the_pages_are_found():
    assert sum(len(keys_of_page(page)) for page in PARTS) > 60


@pytest.mark.parametrize(
    ("page", "value"), [(page, VALUES[i % len(VALUES)]) for i, page in enumerate(PAGES)]
)
def test_a_hostile_address_opens_nothing(open_page, seeded, page, value):
    check_page(open_page, seeded, page, value)


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES)
@pytest.mark.parametrize("value", VALUES)
def test_no_hostile_address_opens_anything(open_page, seeded, page, value):
    check_page(open_page, seeded, page, value)
