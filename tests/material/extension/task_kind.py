from typing import ClassVar

from vocadapt.text.formats.text_file import open_text_file
from vocadapt.training.examples.examples import Split, Text
from vocadapt.training.tasks.kinds import register_task_kind
from vocadapt.training.tasks.kinds.kind import TextInput
from vocadapt.training.tasks.kinds.labeled_texts import LabeledTexts


class Stars(LabeledTexts):
    """Reviews with their number of stars, in files of its own format."""

    name = "stars"
    about = "the number of stars of a review"
    file_format = "the number of stars and the review on each line: 5 | Well made."
    default_scorer = "accuracy"
    error_kinds: ClassVar = {"nearly": "one star more or less", "far": "off by two stars or more"}
    inputs = (TextInput("sentence", "Review", "Well made, and it lasts."),)

    def read(self, path, columns=None):
        """Read reviews and their stars."""
        with open_text_file(path) as file:
            pairs = [line.strip().split(" | ") for line in file.lines() if line.strip()]
        reviews = (Text(str(i), review, (stars,)) for i, (stars, review) in enumerate(pairs))
        return Split(tuple(reviews), path=path)

    def classify_confusion(self, gold, predicted):
        """Say by how many stars a prediction is wrong."""
        return "nearly" if abs(int(gold) - int(predicted)) == 1 else "far"


register_task_kind(Stars())
