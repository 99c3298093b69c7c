"""Page Compare spaces: changed neighborhoods, and the geometry of spaces."""

from vocadapt.ui.parts.change import page as change_part
from vocadapt.ui.parts.diagnostics import page as diagnostics_part
from vocadapt.ui.shell import frame

frame.draw_page("compare", {"change": change_part.draw, "diagnostics": diagnostics_part.draw})
