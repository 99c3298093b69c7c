"""Benchmark cards: labels, version, splits and sizes, metric, license and source of each benchmark
of the papers, as data.

Facts that neither the papers, their code nor the files contain stay empty and are displayed as "not
known here".
"""

import tomllib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from vocadapt.errors import InputError

CARDS = Path(__file__).parent / "cards"
UNKNOWN = "not known here"
ACCESS = {
    "free": "anyone may download it",
    "bring": "bring the files: no stable public place is known here",
    "agreement": "bring the files: they are given out under an agreement",
}


@dataclass(frozen=True)
class CardFile:
    """Source of a split: a path under the card's base, or a member of the zip at that path; its
    SHA-256 if known.
    """

    path: str
    sha256: str = ""
    member: str = ""


@dataclass(frozen=True)
class Card:
    """A benchmark.

    sizes: split → what is counted → number. metric: how its papers score it; scorer: how we do.
    source: where the card's facts are from. files: the files that `download` fetches from `base`;
    without a base, users bring them; {fold} in a path stands for the number of a fold.
    """

    name: str
    kind: str
    about: str = ""
    version: str = ""
    labels: tuple[str, ...] = ()
    sizes: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    scorer: str = ""
    negative: tuple[str, ...] = ()
    metric: str = ""
    license: str = ""
    access: str = "bring"
    where: str = ""
    base: str = ""
    files: Mapping[str, CardFile] = field(default_factory=dict)
    folds: int = 0
    groups: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    source: str = ""

    @property
    def free(self) -> bool:
        """Whether `download` can fetch it."""
        return bool(self.base and self.files)

    @property
    def family(self) -> str:
        """The collection it belongs to."""
        return self.name.partition("/")[0]

    def to_dict(self) -> dict[str, Any]:
        """Return JSON values; None for unknown facts."""
        return {name: value or None for name, value in asdict(self).items()} | {
            "family": self.family
        }


@cache
def cards() -> Mapping[str, Card]:
    """Load all cards by name, `family/benchmark`, in the order of their files."""
    found: dict[str, Card] = {}
    for path in sorted(CARDS.glob("*.toml")):
        content = tomllib.loads(path.read_text(encoding="utf-8"))
        common = content.get("common", {})
        for name, values in content["cards"].items():
            card = _card(f"{path.stem}/{name}", {**common, **values})
            found[card.name] = card
    return found


def card_of(name: str) -> Card:
    """Return the card of a name, or of the only benchmark with that name in any family; raises
    InputError, with similar names, if there is none.
    """
    from difflib import get_close_matches

    every = cards()
    if name in every:
        return every[name]
    wanted = name.lower()
    fitting = [
        known for known in every if wanted in (known.lower(), known.lower().partition("/")[2])
    ]
    if len(fitting) == 1:
        return every[fitting[0]]
    if fitting:
        raise InputError(
            f"There are {len(fitting)} benchmarks {name!r}: {', '.join(fitting)}.",
            "They differ: choose one.",
        )
    ends = {known.lower().partition("/")[2]: known for known in every} | {
        known.lower(): known for known in every
    }
    near = [ends[match] for match in get_close_matches(wanted, ends, n=3, cutoff=0.5)]
    advice = (
        f"Did you mean {' or '.join(dict.fromkeys(near))}?"
        if near
        else "python -m vocadapt tasks lists them."
    )
    raise InputError(f"There is no benchmark {name!r}.", advice)


def groups() -> dict[str, tuple[str, ...]]:
    """Return group → Bio-LM tasks in it, for group means: sequence labeling, classification,
    PubMed, clinical.
    """
    found: dict[str, list[str]] = {}
    for card in cards().values():
        for group in card.groups:
            found.setdefault(group, []).append(card.name)
    return {group: tuple(names) for group, names in found.items()}


def _card(name: str, values: Mapping[str, Any]) -> Card:
    lists: dict[str, Any] = {
        key: tuple(values.get(key, ())) for key in ("labels", "negative", "groups", "notes")
    }
    files = {split: CardFile(**file) for split, file in values.get("files", {}).items()}
    plain = {key: value for key, value in values.items() if key not in (*lists, "files")}
    return Card(name, files=files, **lists, **plain)
