"""Page Train: fine-tune and pretrain models, and compare their scores."""

from vocadapt.ui.shell import frame

frame.draw_page("train")
