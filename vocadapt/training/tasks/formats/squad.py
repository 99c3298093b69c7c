"""Reader of questions on long documents, from SQuAD's JSON. Answers that are not at their offset
are moved to where they occur.

Offsets are usually wrong because the context was changed before them, so the answers of a context
share a shift, and a repeated answer is not always the occurrence that is nearest to its offset:

1. Candidate shifts are those to the nearest occurrence of each answer, the most frequent first.
2. The votes of a shift are the answers of the context that occur there.
3. Each answer moves by the shift with most votes at which it occurs. If there is none with two
   votes, it moves to its nearest occurrence, and counts as ambiguous if there are others.

deepset's Covid-QA of 23 April 2020 has 234 answers that are not at their offset; repairs are
counted, and so are answers that the context does not contain.
"""

from collections import Counter
from collections.abc import Collection, Iterator
from itertools import count
from pathlib import Path
from typing import Any, TypeVar

from vocadapt.errors import InputError
from vocadapt.system.files import parse_json
from vocadapt.text.formats.text_file import open_text_file
from vocadapt.training.examples.examples import Answer, Question, Split

REMEDY = (
    'Expected SQuAD\'s form: {"data": [{"paragraphs": [{"context": "…", "qas": [{"id", "question",'
    ' "answers"}]}]}]}.'
)
REPAIRED = "answers not at their offset, moved to where they stand"
AMBIGUOUS = (
    "moved answers that stand more than once, where no other answer shares their shift: the nearest"
    " place was taken"
)
NOT_IN_CONTEXT = "answers that do not stand in their context: no training, but scored"
T = TypeVar("T")
CANDIDATES = 10  # shifts of a context that are tried


def read_questions(path: Path) -> Split:
    """Read questions; every answer's start is checked against its context.

    Notes count answers, moved ones (in all, by distance, and those whose place is not certain),
    and those missing in their context (start None). Raises InputError for other JSON, for answers
    to only some questions, and for no question.
    """
    # 1. The JSON of the file.
    with open_text_file(path) as source:
        text = source.read_document()
    if not text.strip():
        raise InputError(f"{path}: is empty.", REMEDY, code="empty-file")
    content = parse_json(text, str(path), REMEDY)
    if not isinstance(content, dict) or not isinstance(content.get("data"), list):
        raise InputError(
            f'{path}: expected a JSON object with a list "data".', REMEDY, code="wrong-type"
        )

    # 2. Questions; `notes` counts while they are read.
    notes: Counter[str] = Counter({REPAIRED: 0, AMBIGUOUS: 0, NOT_IN_CONTEXT: 0})
    questions = tuple(_questions(content["data"], path, notes))
    if not questions:
        raise InputError(f"{path}: holds no question.", REMEDY, code="no-questions")

    # 3. The checks that need all questions.
    _check_all(questions, path)
    documents = len({question.context for question in questions})
    return Split(questions, {"documents": documents, **notes}, path)


def _check_all(questions: Collection[Question], path: Path) -> None:
    if len({question.answers is None for question in questions}) > 1:
        bare = next(question.id for question in questions if question.answers is None)
        raise InputError(
            f"{path}: question {bare!r:.60} has no answers, others have.",
            'Say "is_impossible": true, or add one.',
            code="some-unanswered",
        )
    repeated = [
        name for name, times in Counter(question.id for question in questions).items() if times > 1
    ]
    if repeated:
        raise InputError(
            f"{path}: {len(repeated):,} ids stand more than once, {repeated[0]!r:.60} for one.",
            "Make ids unique.",
            code="repeated-ids",
        )


def find_nearest_occurrence(context: str, text: str, start: int) -> int | None:
    """Return the occurrence of an answer nearest to `start`; None if the context does not contain
    it.

    `find_nearest_occurrence("a cat, a dog", "dog", 8)` → 9.
    """
    start = max(0, start)
    after = context.find(text, start)
    before = context.rfind(text, 0, start + len(text))
    found = [place for place in (before, after) if place >= 0]
    return min(found, key=lambda place: abs(place - start)) if found else None


class Shifts:
    """Shifts of the answers of a context, the one with most votes first.

    answers: distinct texts, none of them empty, with their offsets.

    An answer that is at its offset stays there, unless more than half of all answers share another
    shift.
    """

    def __init__(self, context: str, answers: Collection[tuple[str, int]]) -> None:
        self.context = context
        nearest = Counter(
            found - start
            for text, start in answers
            if (found := find_nearest_occurrence(context, text, start)) is not None
        )
        candidates = [shift for shift, _ in nearest.most_common(CANDIDATES)]
        self.votes = {
            shift: sum(self.fits(shift, text, start) for text, start in answers)
            for shift in candidates
        }
        self.ranked = sorted(candidates, key=lambda shift: (-self.votes[shift], abs(shift)))
        if 0 in self.votes and 2 * self.votes[self.ranked[0]] <= len(answers):
            self.ranked.remove(0)
            self.ranked.insert(0, 0)

    def fits(self, shift: int, text: str, start: int) -> bool:
        """Return whether an answer occurs at its offset plus a shift."""
        return start + shift >= 0 and self.context.startswith(text, start + shift)

    def find(self, text: str, start: int) -> tuple[int | None, bool]:
        """Return the occurrence of an answer, None if it has none, and whether it is ambiguous."""
        shift = next((shift for shift in self.ranked if self.fits(shift, text, start)), None)
        if shift is not None and (shift == 0 or self.votes[shift] > 1):
            return start + shift, False
        found = find_nearest_occurrence(self.context, text, start)
        return found, found is not None and self.context.count(text) > 1


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
            entries = _part(paragraph, "qas", list, place)
            given = [_read_answers(entry, place) for entry in entries]
            every = {answer for answers in given for answer in answers or () if answer[0]}
            shifts = Shifts(context, every)
            for entry, answers in zip(entries, given, strict=True):
                question = _part(entry, "question", str, place)
                located = None
                if answers is not None:
                    located = tuple(_locate(text, start, shifts, notes) for text, start in answers)
                own = f"{number}-{next(running)}"
                name = entry.get("id")
                yield Question(
                    str(own if name is None else name), question, context, located, document
                )


def _read_answers(entry: Any, place: str) -> list[tuple[str, int]] | None:
    """Return the texts and offsets of the answers to a question; None if they are not known."""
    _part(entry, "question", str, place)
    if entry.get("is_impossible") is True:
        return []
    given = entry.get("answers")
    # The form of the datasets library: a list of texts, and one of offsets.
    if isinstance(given, dict) and isinstance(given.get("text"), list):
        texts, starts = (_part(given, name, list, place) for name in ("text", "answer_start"))
        if len(texts) != len(starts):
            raise InputError(
                f"{place}: {len(texts):,} texts of answers, {len(starts):,} offsets.",
                REMEDY,
                code="other-number-of-offsets",
            )
        given = [
            {"text": text, "answer_start": start} for text, start in zip(texts, starts, strict=True)
        ]
    if not given:
        return None
    if not isinstance(given, list):
        raise InputError(
            f'{place}: expected "answers" (list), found {type(given).__name__}.',
            REMEDY,
            code="wrong-type",
        )
    return [
        (_part(answer, "text", str, place), _part(answer, "answer_start", int, place))
        for answer in given
    ]


def _locate(text: str, start: int, shifts: Shifts, notes: Counter[str]) -> Answer:
    found, is_ambiguous = shifts.find(text, start) if text else (None, False)
    notes["answers"] += 1
    if found is None:
        notes[NOT_IN_CONTEXT] += 1
    elif found != start:
        notes[REPAIRED] += 1
        notes[f"moved by {found - start:+d}"] += 1
        notes[AMBIGUOUS] += is_ambiguous
    return Answer(text, found)


def _part(value: Any, name: str, kind: type[T], place: str) -> T:
    part = value.get(name) if isinstance(value, dict) else None
    if not isinstance(part, kind) or isinstance(part, bool):
        raise InputError(
            f'{place}: expected "{name}" ({kind.__name__}), found {type(part).__name__}.',
            REMEDY,
            code="wrong-type",
        )
    return part
