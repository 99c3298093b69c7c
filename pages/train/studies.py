"""Page Studies: grids of variants, tasks and seeds, and searches of settings."""

from vocadapt.ui.frame import frame
from vocadapt.ui.search import page as search_part
from vocadapt.ui.studies import page as studies_part

frame.draw_page("studies", {"studies": studies_part.draw, "search": search_part.draw})
