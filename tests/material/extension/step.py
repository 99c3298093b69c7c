import json
from dataclasses import dataclass

from vocadapt.lab.inputs.corpora import read_corpus
from vocadapt.lab.steps import Role, Step, register_step
from vocadapt.lab.steps.step import MODEL, TEXT
from vocadapt.settings import check_settings, setting


@dataclass(frozen=True)
class LetterSettings:
    """Which letters are counted."""

    top: int = setting(3, "number of letters to keep", low=1, high=26, label="Top letters")
    lower: bool = setting(False, "lowercase the text first")
    order: str = setting(
        "count", "order of the letters", choices={"count": "most frequent", "name": "alphabetical"}
    )

    def __post_init__(self) -> None:
        check_settings(self)


def count_letters(context, settings):
    counts = {}
    for passage in read_corpus(context.spec.inputs["text"]).passages():
        text = passage.text.lower() if settings.lower else passage.text
        for letter in filter(str.isalpha, text):
            counts[letter] = counts.get(letter, 0) + 1
    context.progress(0.5, "counted")
    names = sorted(counts)
    if settings.order == "count":
        names.sort(key=counts.__getitem__, reverse=True)
    best = names[: settings.top]
    found = {letter: counts[letter] for letter in best}
    (context.draft / "letters.json").write_text(json.dumps(found))
    return {"letters": len(counts), "most": best[0]}


register_step(
    Step(
        "letters",
        "Count letters",
        LetterSettings,
        count_letters,
        makes="tallies",
        needs=(TEXT,),
        takes=(MODEL, Role("stop", "--stop-letters", "Letters to leave out")),
        libraries=("numpy",),
        command=("letters", "count"),
    )
)
