"""Reader of questions on long documents, from SQuAD's JSON. Answers that are not at their offset
are moved to where they occur.

deepset's Covid-QA of 23 April 2020 has 234 such answers; repairs are counted, and so are answers
that the context does not contain.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import count
from pathlib import Path
from typing import Any, TypeVar

from vocadapt.errors import InputError
from vocadapt.files import parse_json
from vocadapt.text.formats.text_file import open_text_file
from vocadapt.training.tasks.examples import Answer, Question, Split

REMEDY = (
    'Expected SQuAD\'s form: {"data": [{"paragraphs": [{"context": "…", "qas": [{"id", "question",'
    ' "answers"}]}]}]}.'
)
REPAIRED = "answers not at their offset, moved to where they stand"
NOT_IN_CONTEXT = "answers that do not stand in their context: no training, but scored"
T = TypeVar("T")
LONG_ANSWER = 500  # characters: the longest answer that inference gives (Poerner et al.)


def read_questions(path: Path) -> Split:
    """Read questions; every answer's start is checked against its context.

    Notes count answers, moved ones (in all, and by distance), those missing in their context (start
    None), those with whitespace at an end, those that occur several times, and those longer than
    500 characters. Raises InputError for other JSON, for answers to only some questions, and for no
    question.
    """
    # 1. The JSON of the file.
    with open_text_file(path) as source:
        text = source.read_document()
    if not text.strip():
        raise InputError(f"{path}: is empty.", REMEDY)
    content = parse_json(text, str(path), REMEDY)
    if not isinstance(content, dict) or not isinstance(content.get("data"), list):
        raise InputError(f'{path}: expected a JSON object with a list "data".', REMEDY)

    # 2. Questions; `notes` counts while they are read.
    notes: Counter[str] = Counter({REPAIRED: 0, NOT_IN_CONTEXT: 0})
    questions = tuple(_questions(content["data"], path, notes))
    if not questions:
        raise InputError(f"{path}: holds no question.", REMEDY)

    # 3. Either all questions have answers, or none; and ids tell them apart.
    if len({question.answers is None for question in questions}) > 1:
        bare = next(question.id for question in questions if question.answers is None)
        raise InputError(
            f"{path}: question {bare!r:.60} has no answers, others have.",
            'Say "is_impossible": true, or add one.',
        )
    repeated = [
        name for name, times in Counter(question.id for question in questions).items() if times > 1
    ]
    if repeated:
        raise InputError(
            f"{path}: {len(repeated):,} ids stand more than once, {repeated[0]!r:.60} for one.",
            "Make ids unique.",
        )
    documents = len({question.context for question in questions})
    return Split(questions, {"documents": documents, **notes}, path)


def find_nearest_occurrence(context: str, text: str, start: int) -> int | None:
    """Return the occurrence of an answer nearest to `start`; None if the context does not contain
    it.

    `find_nearest_occurrence("a cat, a dog", "dog", 8)` → 9.
    """
    start = max(0, start)
    after, before = context.find(text, start), context.rfind(text, 0, start + len(text))
    found = [place for place in (before, after) if place >= 0]
    return min(found, key=lambda place: abs(place - start)) if found else None


def _questions(articles: list[Any], path: Path, notes: Counter[str]) -> Iterator[Question]:
    """Yield questions; one without an id is named after its article and its number in the file: 2-7
    is the seventh question.
    """
    running = count(1)
    for number, article in enumerate(articles, start=1):
        place = f"{path}: article {number:,}"
        for paragraph in _part(article, "paragraphs", list, place):
            context = _part(paragraph, "context", str, place)
            document = str(paragraph.get("document_id", article.get("title") or number))
            for entry in _part(paragraph, "qas", list, place):
                question = _part(entry, "question", str, place)
                answers = _answers(entry, context, place, notes)
                own, given = f"{number}-{next(running)}", entry.get("id")
                yield Question(
                    str(own if given is None else given), question, context, answers, document
                )


def _answers(
    entry: Mapping[str, Any], context: str, place: str, notes: Counter[str]
) -> tuple[Answer, ...] | None:
    if entry.get("is_impossible") is True:
        return ()
    if not entry.get("answers"):
        return None
    return tuple(
        _answer(given, context, place, notes) for given in _part(entry, "answers", list, place)
    )


def _answer(given: Any, context: str, place: str, notes: Counter[str]) -> Answer:
    text, start = _part(given, "text", str, place), _part(given, "answer_start", int, place)
    found = find_nearest_occurrence(context, text, start) if text else None
    notes["answers"] += 1
    notes["answers with blanks at an end"] += text != text.strip()
    notes["answers that stand more than once in their context"] += (
        bool(text) and context.count(text) > 1
    )
    notes[f"answers longer than {LONG_ANSWER} characters"] += len(text) > LONG_ANSWER
    if found is None:
        notes[NOT_IN_CONTEXT] += 1
    elif found != start:
        notes[REPAIRED] += 1
        notes[f"moved by {found - start:+d}"] += 1
    return Answer(text, found)


def _part(value: Any, name: str, kind: type[T], place: str) -> T:
    """Return a value of a JSON object; raises InputError if it is missing or has another type."""
    part = value.get(name) if isinstance(value, dict) else None
    if not isinstance(part, kind) or isinstance(part, bool):
        raise InputError(
            f'{place}: expected "{name}" ({kind.__name__}), found {type(part).__name__}.', REMEDY
        )
    return part
