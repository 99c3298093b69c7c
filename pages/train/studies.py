"""Page Studies: grids of variants, tasks and seeds."""

from vocadapt.ui.frame import frame
from vocadapt.ui.studies import page as studies_part

frame.draw_page("studies", {"studies": studies_part.draw})
