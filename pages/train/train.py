"""Page Train: fine-tune and pretrain models, and compare their scores."""

from vocadapt.ui.parts.finetune import page as finetune_part
from vocadapt.ui.parts.pretraining import page as pretraining_part
from vocadapt.ui.parts.results import page as results_part
from vocadapt.ui.shell import frame

frame.draw_page(
    "train",
    {
        "finetune": finetune_part.draw,
        "results": results_part.draw,
        "pretraining": pretraining_part.draw,
    },
)
