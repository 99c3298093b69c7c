"""docs/commands.md is generated from the parsers and up to date."""

from tests.material.cases import check_each
from vocadapt.cli.reference import FILE, render_command, render_reference
from vocadapt.cli.run import COMMANDS


def test_the_reference_is_current():
    assert FILE.read_text(encoding="utf-8") == render_reference(), (
        "run python -m vocadapt.cli.reference"
    )


@check_each("name", COMMANDS)
def test_every_option_has_a_help_text_that_is_no_fragment(name):
    """A help text begins with a noun or a verb, not with "of the …"."""
    for item in render_command(name):
        if not item.startswith("- `"):
            continue
        text = item.split("`", 2)[2].partition(": ")[2]
        assert text, item
        assert text.split()[0] not in ("of", "or", "default", "under", "by", "with"), item
