"""A limited number of training examples, drawn at random and then exchanged so that rare labels are
among them.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from vocadapt.training.examples.examples import SAMPLE_SEED, Split
from vocadapt.training.tasks.kinds import TaskKind

MAX_NAMED = 5  # labels named in a sentence


@dataclass(frozen=True)
class TrainingSample:
    """A sample of the training examples: `of` is the number of all of them.

    labels: label → number of entities or examples in the sample. at_random: the same before
    examples were exchanged.
    """

    split: Split
    of: int
    labels: Mapping[str, int]
    at_random: Mapping[str, int]
    noun: str

    def describe(self) -> str:
        """Describe the sample in one sentence; "" if it holds all examples."""
        if len(self.split) == self.of:
            return ""
        text = f"train: {len(self.split):,} of {self.of:,} examples, drawn at random"
        raised = [name for name in self.labels if self.labels[name] != self.at_random.get(name, 0)]
        if not raised:
            return f"{text}."
        named = ", ".join(
            f"{name or 'entity'} {self.labels[name]:,} instead of {self.at_random.get(name, 0):,}"
            for name in raised[:MAX_NAMED]
        )
        if len(raised) > MAX_NAMED:
            named += f" and {len(raised) - MAX_NAMED} more"
        return f"{text}, then some exchanged for examples of rare labels ({self.noun}: {named})."

    def to_dict(self) -> dict[str, object]:
        """Return its figures as plain values."""
        return {"examples": len(self.split), "of": self.of, "labels": dict(self.labels)}


def sample_training_split(split: Split, kind: TaskKind, limit: int) -> TrainingSample:
    """Return a sample of the training examples (0: all), the same each time, in the split's order.

    A random sample of a task with rare entities holds too few of them to learn from: 200 sentences
    of Linnaeus hold about 35. So examples are exchanged until each label is in
    `kind.target_per_label` of them. If that is more than an equal share of half of the sample, the
    share is enough; it is at least 1 if there are no more labels than examples in the sample. The
    other half stays as it was drawn, so that the sample keeps examples without any label.

    1. Draw at random.
    2. Add examples of each label that is too rare, the rarest label first, in random order.
    3. Remove as many others, at random, but none that a label needs.

    Example, limit 4, labels A A B B B B, of which B B B B are drawn: A needs min(200, 4 // 4) = 1
    example, so one A is added, and one B removed.
    """
    examples = split.examples
    if not limit or len(examples) <= limit:
        labels = kind.count_labels(examples)
        return TrainingSample(split, len(examples), labels, labels, kind.counted_noun)

    # 1. The random sample; the others, in random order, come after it.
    random = np.random.default_rng(SAMPLE_SEED)
    drawn = random.choice(len(examples), limit, replace=False)
    others = random.permutation(np.setdiff1d(np.arange(len(examples)), drawn))

    # 2. Examples of labels that are too rare.
    labels_of = [frozenset(kind.count_labels([example])) for example in examples]
    found = Counter(label for place in drawn for label in labels_of[place])
    every = Counter(label for own in labels_of for label in own)
    needed = limit // (2 * max(1, len(every)))
    if not needed and len(every) <= limit:
        needed = 1
    needed = min(kind.target_per_label, needed)
    added = dict[int, None]()
    for label in sorted(every, key=lambda label: (every[label], label)):
        for place in others:
            if found[label] >= needed:
                break
            if label in labels_of[place] and int(place) not in added:
                added[int(place)] = None
                found.update(labels_of[place])

    # 3. Remove as many of the random sample.
    removed = set[int]()
    for place in sorted(drawn.tolist(), key=lambda place: len(labels_of[place])):
        if len(removed) == len(added):
            break
        if all(found[label] > needed for label in labels_of[place]):
            removed.add(place)
            found.subtract(labels_of[place])
    kept = sorted({*drawn.tolist(), *added} - removed)
    at_random = kind.count_labels(examples[place] for place in sorted(drawn.tolist()))
    chosen = tuple(examples[place] for place in kept)
    return TrainingSample(
        replace(split, examples=chosen),
        len(examples),
        kind.count_labels(chosen),
        at_random,
        kind.counted_noun,
    )
