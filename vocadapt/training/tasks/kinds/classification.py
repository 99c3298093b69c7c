"""Classification: one label for a text."""

from vocadapt.training.tasks.kinds.labeled_texts import LabeledTexts


class Classification(LabeledTexts):
    """Classification of texts, scored by the mean F1 of the classes."""

    name = "classification"
    about = "one label for a text"
    architecture = "ForSequenceClassification"
