"""Natural language inference: whether one sentence follows from another."""

from vocadapt.errors import InputError
from vocadapt.training.examples.examples import Text
from vocadapt.training.tasks.formats.table_rows import Row, Shape
from vocadapt.training.tasks.kinds.kind import SAMPLE_SENTENCE, TextInput
from vocadapt.training.tasks.kinds.labeled_texts import UNDECIDED, LabeledTexts

NLI_LABELS = frozenset({"entailment", "neutral", "contradiction", "not_entailment", UNDECIDED})


class NaturalLanguageInference(LabeledTexts):
    """Natural language inference on pairs of sentences."""

    name = "nli"
    about = "whether one sentence follows from another"
    file_format = (
        'JSON lines {"sentence1": ..., "sentence2": ..., "gold_label": ...}, or columns of these'
        " names; without a header two sentences; label and id are recognized if that is unambiguous"
    )
    default_scorer = "accuracy"
    inputs = (
        TextInput("sentence", "Text", SAMPLE_SENTENCE, height=110, offers_examples=True),
        TextInput("pair", "Second sentence", SAMPLE_SENTENCE),
    )
    not_plain_text = "pairs of sentences"
    plain_text_remedy = "Give them as in the task's files: sentence1, sentence2."
    columns = Shape(
        "text",
        {2: ("text", "pair")},
        "pairID, sentence1, sentence2, gold_label",
        ("sentence1", "premise"),
        NLI_LABELS,
    )

    def check_row(self, row: Row, place: str) -> None:
        """Raise InputError for a row with one sentence."""
        if "pair" not in row:
            raise InputError(
                f"{place}: NLI needs two sentences, found one.",
                "Name them sentence1 and sentence2.",
                code="one-sentence",
            )

    def has_agreed_label(self, text: Text) -> bool:
        """Whether the annotators agreed on a label."""
        return text.labels != (UNDECIDED,)
