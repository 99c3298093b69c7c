"""The demo: a general and a biomedical model, biomedical vectors and a map that come with vocadapt,
and the whole walk on them.

`assets/demo/` is laid out as a workspace. Opening the demo copies its artifacts into another
workspace; walking it runs every step for real on two cores in under a minute, on gensim's bundled
news text for the mechanics and on the vectors for the rest.
"""

import shutil
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import vocadapt
from vocadapt.errors import InputError
from vocadapt.lab.steps.command_lines import command_of
from vocadapt.lab.steps.spec import AlignmentStep, CorpusStep, ModelStep, Spec, VectorsStep
from vocadapt.lab.steps.steps import run_step
from vocadapt.lab.workspace.manifest import MANIFEST
from vocadapt.lab.workspace.workspace import Artifact, Workspace, writing
from vocadapt.models.language_model import open_model
from vocadapt.progress import Progress, part, silent
from vocadapt.recipe import PRESETS
from vocadapt.spaces.alignment.alignment import Alignment, AlignmentSettings
from vocadapt.spaces.diagnostics.mean_cosines import cosine_tables
from vocadapt.spaces.io.bundled import find_gensim_file
from vocadapt.spaces.io.storage import load_space
from vocadapt.spaces.neighbors.cross_space import CrossSpace, ListSettings
from vocadapt.spaces.word2vec.trainer import Word2VecSettings
from vocadapt.vocabulary.overlap import overlap

DEMO = Path(vocadapt.__file__).parents[1] / "assets" / "demo"
MODEL, BIOMEDICAL = ("models", "demo-bert"), ("models", "demo-biomedical-bert")
VECTORS, MAP = ("vectors", "demo-biomedical"), ("alignments", "demo-map")
SHIPPED = (MODEL, BIOMEDICAL, VECTORS, MAP)
NEWS, NEWS_VECTORS, NEWS_MAP = (
    ("corpora", "demo-news"),
    ("vectors", "demo-news"),
    ("alignments", "demo-news-map"),
)
REFITTED, ADAPTED, MOVED = (
    ("alignments", "demo-map-again"),
    ("models", "demo-adapted"),
    ("models", "demo-transferred"),
)
WORDS = (
    "disorders",
    "asthma",
    "tachycardia",
)  # words that general text can place, and one that it cannot


@dataclass(frozen=True)
class Walked:
    """One step of the walk as it went: what it did in a sentence, its figures, the seconds it took,
    and its command line.
    """

    step: str
    did: str
    numbers: dict[str, Any]
    seconds: float
    command: str = ""

    def to_dict(self) -> dict[str, Any]:
        """As JSON values."""
        return {
            "step": self.step,
            "did": self.did,
            "seconds": self.seconds,
            "command": self.command,
            "numbers": self.numbers,
        }


def shipped() -> bool:
    """Whether the demo's artifacts came with this installation."""
    return all((DEMO / kind / name / MANIFEST).is_file() for kind, name in SHIPPED)


def open_demo(workspace: Workspace) -> list[Artifact]:
    """Put the shipped artifacts into a workspace; those that are there already are left alone.

    Raises InputError where they did not come with this installation.
    """
    for kind, name in SHIPPED:
        source, target = DEMO / kind / name, workspace.folder(kind, name)
        if not (source / MANIFEST).is_file():
            raise InputError(
                f"The demo did not come with this installation: {source} is missing.",
                "Run from a clone.",
            )
        if not (target / MANIFEST).is_file():
            with writing(target) as draft:
                shutil.copytree(source, draft, dirs_exist_ok=True)
    return [workspace.artifact(kind, name) for kind, name in SHIPPED]


def news_text() -> Path:
    """The 300 news stories that come with gensim: enough to see how each step works, too little to
    learn from.
    """
    return find_gensim_file("lee_background.cor")


def walk(workspace: Workspace, progress: Progress = silent) -> Iterator[Walked]:
    """Run every step of the walk in a workspace, whatever lies there from an earlier walk, and tell
    how each went.
    """
    start = time.perf_counter()
    open_demo(workspace)
    yield Walked(
        "open",
        "copied the two small models, the biomedical vectors and their map",
        {},
        time.perf_counter() - start,
    )
    for number, (name, step) in enumerate(STEPS):
        yield _timed(
            name, step, workspace, part(progress, number / len(STEPS), (number + 1) / len(STEPS))
        )


def _timed(
    name: str,
    step: Callable[[Workspace, Progress], Walked],
    workspace: Workspace,
    progress: Progress,
) -> Walked:
    progress(0.0, name)
    start = time.perf_counter()
    walked = step(workspace, progress)
    return Walked(name, walked.did, walked.numbers, time.perf_counter() - start, walked.command)


def _text(workspace: Workspace, progress: Progress) -> Walked:
    inputs = {"text": (str(news_text()),), "model": (_at(workspace, MODEL),)}
    spec = Spec("corpus", CorpusStep(copy=True), inputs)
    numbers = _run(spec, workspace, NEWS, progress).manifest.numbers
    return _said(
        spec, workspace, NEWS, f"took in and counted {numbers['words']:,} words of news", numbers
    )


def _news_vectors(workspace: Workspace, progress: Progress) -> Walked:
    spec = Spec(
        "vectors", VectorsStep(word2vec=Word2VecSettings(workers=1)), _inputs(workspace, text=NEWS)
    )
    numbers = _run(spec, workspace, NEWS_VECTORS, progress).manifest.numbers
    did = (
        f"trained vectors for {numbers['words']:,} words, {numbers['new_words']:,} of them new to"
        " the model"
    )
    return _said(spec, workspace, NEWS_VECTORS, did, numbers)


def _news_map(workspace: Workspace, progress: Progress) -> Walked:
    # Ridge: the news holds fewer common words than least squares needs.
    chosen = AlignmentStep(AlignmentSettings("ridge", ridge=1.0), folds=3)
    spec = Spec("alignment", chosen, _inputs(workspace, vectors=NEWS_VECTORS))
    numbers = _run(spec, workspace, NEWS_MAP, progress).manifest.numbers
    verdict = (
        _too_little(workspace)
        if numbers["verdict"] == "chance"
        else "better than chance, but far from useful"
    )
    return _said(spec, workspace, NEWS_MAP, f"{_scored(numbers)}: {verdict}", numbers)


def _too_little(workspace: Workspace) -> str:
    words = workspace.artifact(*NEWS).manifest.numbers["words"]
    return (
        f"too little text: {words:,} words of news hold too few anchors, each seen too seldom, for"
        " a map that carries over to words it has not seen; a few million words of one domain are"
        " enough"
    )


def _map(workspace: Workspace, progress: Progress) -> Walked:
    spec = Spec("alignment", AlignmentStep(folds=10), _inputs(workspace, vectors=VECTORS))
    numbers = _run(spec, workspace, REFITTED, progress).manifest.numbers
    return _said(
        spec, workspace, REFITTED, f"fitted the biomedical map anew: {_scored(numbers)}", numbers
    )


def _neighbors(workspace: Workspace, progress: Progress) -> Walked:
    model, space = open_model(_at(workspace, MODEL)), load_space(Path(_at(workspace, VECTORS)))
    alignment = Alignment.load(Path(_at(workspace, REFITTED)))
    words = [word for word in WORDS if word in space] or list(space.words[:3])
    spaces = CrossSpace(space, model.space, alignment, model.vocabulary.special)
    found = {word: spaces.lists(word, ListSettings(3))["to_pieces"] for word in words}
    nearest = {word: [name for name, _ in listed or []] for word, listed in found.items()}
    did = "; ".join(f"{word} lands next to {', '.join(names)}" for word, names in nearest.items())
    arguments = (
        f"neighbors {' '.join(words)} --vectors {_at(workspace, VECTORS)} --model"
        f" {_at(workspace, MODEL)}"
    )
    return Walked("", did, {"nearest": nearest}, 0.0, f"python -m vocadapt {arguments}")


def _adapt(workspace: Workspace, progress: Progress) -> Walked:
    spec = Spec("model", ModelStep(), _inputs(workspace, vectors=VECTORS))
    made = _run(spec, workspace, ADAPTED, progress)
    numbers, model = made.manifest.numbers, open_model(made.folder)
    before = open_model(_at(workspace, MODEL)).vocabulary
    longest = sorted(WORDS, key=lambda word: -len(before.cut(word)))
    word = next(
        (
            word
            for word in longest
            if len(before.cut(word)) > 1 and len(model.vocabulary.cut(word)) == 1
        ),
        "",
    )
    cut = f"; {word} was {' '.join(before.cut(word))} and is one token now" if word else ""
    return _said(
        spec,
        workspace,
        ADAPTED,
        f"gave the model {numbers['added']:,} words, {_checked(numbers)}{cut}",
        numbers,
    )


def _pair(workspace: Workspace, progress: Progress) -> Walked:
    places = [_at(workspace, place) for place in (MODEL, BIOMEDICAL)]
    models = [open_model(place) for place in places]
    shared = overlap([model.vocabulary for model in models])
    tables = cosine_tables([model.space for model in models])
    numbers = {
        "common": shared.common,
        "mean_cosine": tables.mean_cosine,
        "mean_cosine_common": tables.mean_cosine_common,
    }
    did = (
        f"the general and the biomedical model share {shared.common[0][1]:,} of {shared.sizes[0]:,}"
        f" tokens; two tokens have a mean cosine of {tables.mean_cosine[0][0]:.3f} in the one and"
        f" {tables.mean_cosine[1][1]:.3f} in the other, a common token's two rows"
        f" {tables.mean_cosine_common[0][1]:.3f}"
    )
    return Walked("", did, numbers, 0.0, f"python -m vocadapt diagnose {' '.join(places)}")


def _transfer(workspace: Workspace, progress: Progress) -> Walked:
    spec = Spec(
        "model", ModelStep(PRESETS["transfer-semantic"]), _inputs(workspace, target=BIOMEDICAL)
    )
    numbers = _run(spec, workspace, MOVED, progress).manifest.numbers
    did = (
        f"gave the general model the biomedical vocabulary, {numbers['added']:,} tokens of it new,"
        " by their neighbors there"
    )
    return _said(spec, workspace, MOVED, f"{did}; {_checked(numbers)}", numbers)


STEPS: tuple[tuple[str, Callable[[Workspace, Progress], Walked]], ...] = (
    ("text", _text),
    ("word vectors", _news_vectors),
    ("alignment of the news", _news_map),
    ("alignment", _map),
    ("neighbors", _neighbors),
    ("adapted model", _adapt),
    ("two vocabularies", _pair),
    ("transfer", _transfer),
)


def _run(spec: Spec, workspace: Workspace, place: tuple[str, str], progress: Progress) -> Artifact:
    return run_step(spec, workspace.folder(*place), progress, overwrite=True)


def _said(
    spec: Spec, workspace: Workspace, place: tuple[str, str], did: str, numbers: Any
) -> Walked:
    return Walked("", did, dict(numbers), 0.0, command_of(spec, workspace.folder(*place)))


def _checked(numbers: Any) -> str:
    return (
        "every check of the certificate passed"
        if numbers["certificate"]
        else "THE CERTIFICATE FAILED"
    )


def _scored(numbers: Any) -> str:
    return (
        f"held-out P@5 {numbers['p@5']:.3f} on {numbers['anchors']:,} anchors, chance"
        f" {numbers['chance@5']:.5f}"
    )


def _inputs(workspace: Workspace, **others: tuple[str, str]) -> dict[str, tuple[str, ...]]:
    places = {**others, "model": MODEL}
    return {role: (_at(workspace, place),) for role, place in places.items()}


def _at(workspace: Workspace, place: tuple[str, str]) -> str:
    return str(workspace.folder(*place))
