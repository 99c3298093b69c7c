"""The demo: small general and biomedical models, biomedical vectors and an alignment, and all steps
on them.

`assets/demo/` is laid out as a workspace. Opening the demo copies its artifacts into another
workspace. Running it takes under a minute on two cores: gensim's news text shows the mechanics, the
biomedical vectors the rest.
"""

import shutil
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import vocadapt
from vocadapt.errors import InputError
from vocadapt.lab.steps.adapt import ModelStep
from vocadapt.lab.steps.alignment import AlignmentStep
from vocadapt.lab.steps.command_lines import build_command
from vocadapt.lab.steps.corpus import CorpusStep
from vocadapt.lab.steps.run import run_step
from vocadapt.lab.steps.spec import Spec
from vocadapt.lab.steps.vectors import VectorsStep
from vocadapt.lab.workspace.manifest import MANIFEST
from vocadapt.lab.workspace.workspace import Artifact, Workspace, open_draft
from vocadapt.models.language_model import open_model
from vocadapt.presets import PRESETS
from vocadapt.progress import Progress, part, silent
from vocadapt.spaces.alignment.alignment import Alignment, AlignmentSettings
from vocadapt.spaces.diagnostics.statistics import build_cosine_tables
from vocadapt.spaces.io.storage import load_space
from vocadapt.spaces.io.word_files import find_gensim_file
from vocadapt.spaces.neighbors.cross_space import CrossSpace, ListSettings
from vocadapt.spaces.word2vec.trainer import Word2VecSettings
from vocadapt.vocabulary.overlap import measure_overlap

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
class DemoStepResult:
    """Result of one step: what it did in a sentence, its figures, seconds and command line."""

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


def is_demo_installed() -> bool:
    """Whether the demo's artifacts came with this installation."""
    return all((DEMO / kind / name / MANIFEST).is_file() for kind, name in SHIPPED)


def open_demo(workspace: Workspace) -> list[Artifact]:
    """Copy the demo's artifacts into a workspace; existing ones are left alone.

    Raises InputError if they did not come with this installation.
    """
    for kind, name in SHIPPED:
        source, target = DEMO / kind / name, workspace.folder(kind, name)
        if not (source / MANIFEST).is_file():
            raise InputError(
                f"The demo did not come with this installation: {source} is missing.",
                "Run from a clone.",
            )
        if not (target / MANIFEST).is_file():
            with open_draft(target) as draft:
                shutil.copytree(source, draft, dirs_exist_ok=True)
    return [workspace.artifact(kind, name) for kind, name in SHIPPED]


def find_news_text() -> Path:
    """Return gensim's 300 news stories: enough to show how each step works, too little to learn
    from.
    """
    return find_gensim_file("lee_background.cor")


def run_demo(workspace: Workspace, progress: Progress = silent) -> Iterator[DemoStepResult]:
    """Run every step of the demo in a workspace, replacing earlier results; yield each result."""
    start = time.perf_counter()
    open_demo(workspace)
    yield DemoStepResult(
        "open",
        "copied the two small models, the biomedical vectors and their alignment",
        {},
        time.perf_counter() - start,
    )
    for number, (name, step) in enumerate(STEPS):
        yield _time_step(
            name, step, workspace, part(progress, number / len(STEPS), (number + 1) / len(STEPS))
        )


def _time_step(
    name: str,
    step: Callable[[Workspace, Progress], DemoStepResult],
    workspace: Workspace,
    progress: Progress,
) -> DemoStepResult:
    progress(0.0, name)
    start = time.perf_counter()
    walked = step(workspace, progress)
    return DemoStepResult(
        name, walked.did, walked.numbers, time.perf_counter() - start, walked.command
    )


def _import_news(workspace: Workspace, progress: Progress) -> DemoStepResult:
    inputs = {"text": (str(find_news_text()),), "model": (_path_of(workspace, MODEL),)}
    spec = Spec("corpus", CorpusStep(copy=True), inputs)
    numbers = _run_step(spec, workspace, NEWS, progress).manifest.numbers
    return _build_result(
        spec, workspace, NEWS, f"took in and counted {numbers['words']:,} words of news", numbers
    )


def _train_news_vectors(workspace: Workspace, progress: Progress) -> DemoStepResult:
    spec = Spec(
        "vectors", VectorsStep(word2vec=Word2VecSettings(workers=1)), _inputs(workspace, text=NEWS)
    )
    numbers = _run_step(spec, workspace, NEWS_VECTORS, progress).manifest.numbers
    did = (
        f"trained vectors for {numbers['words']:,} words, {numbers['new_words']:,} of them new to"
        " the model"
    )
    return _build_result(spec, workspace, NEWS_VECTORS, did, numbers)


def _align_news(workspace: Workspace, progress: Progress) -> DemoStepResult:
    # Ridge: the news holds fewer common words than least squares needs.
    chosen = AlignmentStep(AlignmentSettings("ridge", ridge=1.0), folds=3)
    spec = Spec("alignment", chosen, _inputs(workspace, vectors=NEWS_VECTORS))
    numbers = _run_step(spec, workspace, NEWS_MAP, progress).manifest.numbers
    verdict = (
        _explain_small_text(workspace)
        if numbers["verdict"] == "chance"
        else "better than chance, but far from useful"
    )
    return _build_result(
        spec, workspace, NEWS_MAP, f"{_describe_scores(numbers)}: {verdict}", numbers
    )


def _explain_small_text(workspace: Workspace) -> str:
    words = workspace.artifact(*NEWS).manifest.numbers["words"]
    return (
        f"too little text: {words:,} words of news hold too few anchors, each seen too seldom, for"
        " an alignment that generalizes to unseen words; a few million words of one domain are"
        " enough"
    )


def _align_biomedical(workspace: Workspace, progress: Progress) -> DemoStepResult:
    spec = Spec("alignment", AlignmentStep(folds=10), _inputs(workspace, vectors=VECTORS))
    numbers = _run_step(spec, workspace, REFITTED, progress).manifest.numbers
    return _build_result(
        spec,
        workspace,
        REFITTED,
        f"fitted the biomedical alignment again: {_describe_scores(numbers)}",
        numbers,
    )


def _find_neighbors(workspace: Workspace, progress: Progress) -> DemoStepResult:
    model, space = (
        open_model(_path_of(workspace, MODEL)),
        load_space(Path(_path_of(workspace, VECTORS))),
    )
    alignment = Alignment.load(Path(_path_of(workspace, REFITTED)))
    words = [word for word in WORDS if word in space] or list(space.words[:3])
    spaces = CrossSpace(space, model.word_space, alignment)
    found = {word: spaces.lists(word, ListSettings(3))["to_pieces"] for word in words}
    nearest = {word: [name for name, _ in listed or []] for word, listed in found.items()}
    did = "; ".join(f"{word} lands next to {', '.join(names)}" for word, names in nearest.items())
    arguments = (
        f"neighbors {' '.join(words)} --vectors {_path_of(workspace, VECTORS)} --model"
        f" {_path_of(workspace, MODEL)}"
    )
    return DemoStepResult("", did, {"nearest": nearest}, 0.0, f"python -m vocadapt {arguments}")


def _adapt_model(workspace: Workspace, progress: Progress) -> DemoStepResult:
    spec = Spec("model", ModelStep(), _inputs(workspace, vectors=VECTORS))
    made = _run_step(spec, workspace, ADAPTED, progress)
    numbers, model = made.manifest.numbers, open_model(made.folder)
    before = open_model(_path_of(workspace, MODEL)).vocabulary
    longest = sorted(WORDS, key=lambda word: -len(before.tokenize(word)))
    word = next(
        (
            word
            for word in longest
            if len(before.tokenize(word)) > 1 and len(model.vocabulary.tokenize(word)) == 1
        ),
        "",
    )
    example = f"; {word} was {' '.join(before.tokenize(word))} and is one token now" if word else ""
    return _build_result(
        spec,
        workspace,
        ADAPTED,
        f"gave the model {numbers['added']:,} words, {_describe_certificate(numbers)}{example}",
        numbers,
    )


def _compare_models(workspace: Workspace, progress: Progress) -> DemoStepResult:
    places = [_path_of(workspace, place) for place in (MODEL, BIOMEDICAL)]
    models = [open_model(place) for place in places]
    shared = measure_overlap([model.vocabulary for model in models])
    tables = build_cosine_tables([model.space for model in models])
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
    return DemoStepResult("", did, numbers, 0.0, f"python -m vocadapt diagnose {' '.join(places)}")


def _transfer_vocabulary(workspace: Workspace, progress: Progress) -> DemoStepResult:
    spec = Spec(
        "model", ModelStep(PRESETS["transfer-semantic"]), _inputs(workspace, target=BIOMEDICAL)
    )
    numbers = _run_step(spec, workspace, MOVED, progress).manifest.numbers
    did = (
        f"gave the general model the biomedical vocabulary, {numbers['added']:,} tokens of it new,"
        " by their neighbors there"
    )
    return _build_result(
        spec, workspace, MOVED, f"{did}; {_describe_certificate(numbers)}", numbers
    )


STEPS: tuple[tuple[str, Callable[[Workspace, Progress], DemoStepResult]], ...] = (
    ("text", _import_news),
    ("word vectors", _train_news_vectors),
    ("alignment of the news", _align_news),
    ("alignment", _align_biomedical),
    ("neighbors", _find_neighbors),
    ("adapted model", _adapt_model),
    ("two vocabularies", _compare_models),
    ("transfer", _transfer_vocabulary),
)


def _run_step(
    spec: Spec, workspace: Workspace, place: tuple[str, str], progress: Progress
) -> Artifact:
    return run_step(spec, workspace.folder(*place), progress, overwrite=True)


def _build_result(
    spec: Spec, workspace: Workspace, place: tuple[str, str], did: str, numbers: Any
) -> DemoStepResult:
    return DemoStepResult(
        "", did, dict(numbers), 0.0, build_command(spec, workspace.folder(*place))
    )


def _describe_certificate(numbers: Any) -> str:
    return (
        "every check of the certificate passed"
        if numbers["certificate"]
        else "THE CERTIFICATE FAILED"
    )


def _describe_scores(numbers: Any) -> str:
    return (
        f"held-out P@5 {numbers['p@5']:.3f} on {numbers['anchors']:,} anchors, chance"
        f" {numbers['chance@5']:.5f}"
    )


def _inputs(workspace: Workspace, **others: tuple[str, str]) -> dict[str, tuple[str, ...]]:
    places = {**others, "model": MODEL}
    return {role: (_path_of(workspace, place),) for role, place in places.items()}


def _path_of(workspace: Workspace, place: tuple[str, str]) -> str:
    return str(workspace.folder(*place))
