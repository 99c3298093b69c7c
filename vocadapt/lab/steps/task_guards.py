"""Guards of a fine-tuning: enough of each label, sentences in chunks, test examples that are in
train, new words in the task.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np

from vocadapt.lab.steps.guards import Change, Guard
from vocadapt.models.language_model import LanguageModel
from vocadapt.training.encoding.model_tokenizers import ADAPTED, load_tokenizers
from vocadapt.training.estimates import count_chunks, list_trained_splits
from vocadapt.training.examples.examples import Example, Split
from vocadapt.training.finetune.settings import FinetuneSettings
from vocadapt.training.tasks.seen_examples import (
    count_seen,
    describe_seen,
    fingerprint_examples,
    read_seen,
)
from vocadapt.training.tasks.task import Task
from vocadapt.training.tasks.training_sample import sample_training_split
from vocadapt.training.trained_parameters import find_activated_ids, find_new_ids

MAX_NAMED = 5  # labels named in a sentence
MANY_SEEN = 0.01  # fraction of a split above which its score is in doubt
MORE_EPOCHS = 3  # times as many epochs repair a training with too few entities (see the kind `ner`)


def list_task_guards(
    model: LanguageModel, whole: Task, task: Task, settings: FinetuneSettings, limit: int
) -> Iterator[Guard]:
    """Yield the guards of a fine-tuning that depend on its task and its model.

    whole: the task with all examples. task: the same, limited to `limit` examples.
    """
    yield from _find_label_guards(whole, task, settings, limit)
    yield from _find_chunk_guards(task, settings)
    yield from _find_seen_guards(model, task, settings)
    yield from _find_new_word_guards(model, task)


def _find_label_guards(
    whole: Task, task: Task, settings: FinetuneSettings, limit: int
) -> Iterator[Guard]:
    """Warn of labels with fewer entities or examples than a training needs."""
    splits = list_trained_splits(task, settings)
    every = list_trained_splits(whole, settings)
    needed = task.kind.min_per_label
    drawn = task.kind.count_labels(_join(splits))
    found = {label: drawn[label] for label in task.kind.count_labels(_join(every))}
    few = {label: n for label, n in sorted(found.items(), key=lambda one: one[1]) if n < needed}
    if not few:
        return
    named = ", ".join(
        f"{n:,} of {label}" if label else f"{n:,}" for label, n in list(few.items())[:MAX_NAMED]
    )
    if len(few) > MAX_NAMED:
        n_others = len(few) - MAX_NAMED
        named += f", and {n_others} other label{'s' * (n_others != 1)}"
    epochs = f"{settings.epochs} epoch{'s' * (settings.epochs != 1)}"
    n_examples = sum(map(len, splits))
    of = sum(map(len, every))
    which = f"All {of:,}" if n_examples == of else f"{n_examples:,} of {of:,}"
    yield Guard(
        "few-labels",
        f"{which} training {splits[0].examples[0].plural} hold few {task.kind.counted_noun}:"
        f" {named}. With fewer than {needed}, trainings of {epochs} learned little or nothing.",
        {"labels": few, "needed": needed, "examples": n_examples, "of": of},
        find_repair(whole, task, settings, limit),
        serious=True,
    )


def find_repair(whole: Task, task: Task, settings: FinetuneSettings, limit: int) -> Change:
    """Return the change of settings that repairs a training in which nothing is learned: a larger
    limit, if there are too few of a label and more examples, else more epochs.

    The limit is doubled until the sample has enough of each label; it is 0 (all examples) if no
    limit suffices.
    """
    kind = whole.kind
    train = whole.splits["train"]
    drawn, every = (kind.count_labels(one.splits["train"].examples) for one in (task, whole))
    # No limit can help a label that is too rare in all examples.
    wanted = {label: min(n, kind.min_per_label) for label, n in every.items()}
    if all(drawn[label] >= n for label, n in wanted.items()):
        return {"finetune.epochs": MORE_EPOCHS * settings.epochs}
    larger = 2 * limit
    while larger < len(train):
        labels = sample_training_split(train, kind, larger).labels
        if all(labels.get(label, 0) >= n for label, n in wanted.items()):
            return {"limit": larger}
        larger *= 2
    return {"limit": 0}


def _find_chunk_guards(task: Task, settings: FinetuneSettings) -> Iterator[Guard]:
    """Report that sentences are divided into chunks: an epoch counts the chunks."""
    examples = _join(list_trained_splits(task, settings))
    chunks = count_chunks(task, examples, settings)
    if chunks > len(examples):
        divided = "sentence is" if len(examples) == 1 else "sentences are"
        yield Guard(
            "chunks",
            f"{len(examples):,} training {divided} divided into {chunks:,} chunks of at most"
            f" {settings.chunk} words.",
            {"examples": len(examples), "chunks": chunks, "words": settings.chunk},
        )


def _find_seen_guards(
    model: LanguageModel, task: Task, settings: FinetuneSettings
) -> Iterator[Guard]:
    """Warn of test and dev examples that the model is, or was, trained on."""
    trained = list_trained_splits(task, settings)
    seen = fingerprint_examples(_join(trained)) | (read_seen(Path(model.path)) or frozenset())
    for name, split in task.splits.items():
        if any(split is one for one in trained):  # equal ones may be the same file
            continue
        if described := describe_seen(split.examples, seen):
            n_seen = count_seen(split.examples, seen)
            yield Guard(
                "seen",
                f"{name}: {described}",
                {"split": name, "seen": n_seen, "of": len(split)},
                serious=n_seen > MANY_SEEN * len(split),
            )


def _find_new_word_guards(model: LanguageModel, task: Task) -> Iterator[Guard]:
    """Report how many new words of an adapted model occur in the task."""
    new = sorted({*find_new_ids(model), *find_activated_ids(model)})
    tokenizer = load_tokenizers(model).get(ADAPTED) if new else None
    if tokenizer is None:
        return
    words = {
        word for example in _join(task.splits.values()) for word in example.list_words(str.split)
    }
    ids = tokenizer.word_ids(sorted(words)).values()
    used = np.unique(np.concatenate([np.zeros(0, dtype=np.int32), *ids]))
    n_used = len(np.intersect1d(used, np.array(new)))
    sentence = f"{n_used:,} of the {len(new):,} new words of {model.name} occur in this task"
    if n_used:
        sentence += "."
    else:
        sentence += ": it reads the task as the original model does, so their scores cannot differ."
    numbers = {"model": model.name, "occurring": n_used, "of": len(new)}
    yield Guard("new-words", sentence, numbers, serious=not n_used)


def _join(splits: Iterable[Split]) -> list[Example]:
    """Return the examples of several splits."""
    return [example for split in splits for example in split.examples]
