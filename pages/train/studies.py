"""Page Studies: grids of variants, tasks and seeds, and searches of settings."""

from vocadapt.ui.parts.search import page as search_part
from vocadapt.ui.parts.studies import page as studies_part
from vocadapt.ui.shell import frame

frame.draw_page("studies", {"studies": studies_part.draw, "search": search_part.draw})
