"""Page Train: fine-tune and pretrain models, and compare their scores."""

from vocadapt.ui.finetune import page as finetune_part
from vocadapt.ui.frame import frame
from vocadapt.ui.pretraining import page as pretraining_part
from vocadapt.ui.results import page as results_part

frame.draw_page(
    "train",
    {
        "finetune": finetune_part.draw,
        "results": results_part.draw,
        "pretraining": pretraining_part.draw,
    },
)
