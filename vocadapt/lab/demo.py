"""The demo: a small general and a small biomedical model, biomedical vectors, an alignment, and all
steps on them.

`assets/demo/` has the layout of a workspace. Opening the demo copies its artifacts into another
workspace. Running it takes under a minute on two cores: some steps are run on gensim's small news
corpus, the others on the biomedical vectors.
"""

import shutil
import time
from collections.abc import Callable, Iterator, Mapping
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
from vocadapt.lab.steps.step import Numbers, Spec
from vocadapt.lab.steps.vectors import VectorsStep
from vocadapt.lab.workspace.drafts import open_draft
from vocadapt.lab.workspace.manifest import MANIFEST
from vocadapt.lab.workspace.workspace import Artifact, Workspace
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

Place = tuple[str, str]  # kind and name of an artifact
Outcome = tuple[str, Numbers, str]  # sentence, figures and command line of a step
DEMO = Path(vocadapt.__file__).parents[1] / "assets" / "demo"

# Artifacts by kind and name: those that are shipped, and those that the demo's steps create.
MODEL, BIOMEDICAL = ("models", "demo-bert"), ("models", "demo-biomedical-bert")
VECTORS, MAP = ("vectors", "demo-biomedical"), ("alignments", "demo-map")
BEST = ("alignments", "demo-best")
EXAMPLES = DEMO / "examples.json"  # words to offer first: see assets/demo/make_examples.py
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

# Two words that also occur in general text, and one that does not.
WORDS = ("disorders", "asthma", "tachycardia")


@dataclass(frozen=True)
class DemoStepResult:
    """Result of one step: a sentence on what it did, its figures, seconds and command line."""

    step: str
    did: str
    seconds: float
    command: str
    numbers: Numbers


@dataclass(frozen=True)
class ArtifactStep:
    """A step of the demo that creates the artifact `place` from other artifacts.

    sentence: template of the result's sentence, with the names of figures in braces. note: computes
    the value of `{note}` in it.
    """

    place: Place
    step: str
    settings: Any
    inputs: Mapping[str, Place]
    sentence: str
    note: Callable[[Workspace, Numbers], str] | None = None

    def __call__(self, workspace: Workspace, progress: Progress) -> Outcome:
        """Run the step."""
        inputs = {}
        if self.place == NEWS:
            inputs["text"] = (str(find_news_text()),)
        for role, place in {**self.inputs, "model": MODEL}.items():
            inputs[role] = (str(workspace.folder(*place)),)
        spec, folder = Spec(self.step, self.settings, inputs), workspace.folder(*self.place)
        numbers = dict(run_step(spec, folder, progress, overwrite=True).manifest.numbers)
        filled = dict(numbers)
        if self.note is not None:
            filled["note"] = self.note(workspace, numbers)
        return self.sentence.format_map(filled), numbers, build_command(spec, folder)


def is_demo_installed() -> bool:
    """Return whether the demo's artifacts are part of this installation."""
    return all((DEMO / kind / name / MANIFEST).is_file() for kind, name in SHIPPED)


def open_demo(workspace: Workspace) -> list[Artifact]:
    """Copy the demo's artifacts into a workspace; existing artifacts are not replaced.

    Raises InputError if they are not part of this installation.
    """
    for kind, name in SHIPPED:
        source, target = DEMO / kind / name, workspace.folder(kind, name)
        if not (source / MANIFEST).is_file():
            raise InputError(
                f"The demo is not part of this installation: {source} is missing.",
                "Run vocadapt from a clone of the repository.",
            )
        if not (target / MANIFEST).is_file():
            with open_draft(target) as draft:
                shutil.copytree(source, draft, dirs_exist_ok=True)
    return [workspace.artifact(kind, name) for kind, name in SHIPPED]


def find_news_text() -> Path:
    """Return gensim's 300 news stories: enough to demonstrate the steps, too little for a useful
    alignment.
    """
    return find_gensim_file("lee_background.cor")


def run_demo(workspace: Workspace, progress: Progress = silent) -> Iterator[DemoStepResult]:
    """Run every step of the demo in a workspace, replacing earlier results; yield each result."""
    start = time.perf_counter()
    open_demo(workspace)
    did = "copied the two small models, the biomedical vectors and their alignment"
    yield DemoStepResult("open", did, time.perf_counter() - start, "", {})
    for number, (name, step) in enumerate(STEPS):
        step_progress = part(progress, number / len(STEPS), (number + 1) / len(STEPS))
        step_progress(0.0, name)
        start = time.perf_counter()
        did, numbers, command = step(workspace, step_progress)
        yield DemoStepResult(name, did, time.perf_counter() - start, command, numbers)


def _judge_news_alignment(workspace: Workspace, numbers: Numbers) -> str:
    if numbers["verdict"] != "chance":
        return "better than chance, but far from useful"
    words = workspace.artifact(*NEWS).manifest.numbers["words"]
    return (
        f"too little text: {words:,} words of news contain too few anchors, each too rare, for an"
        " alignment that generalizes to unseen words; a few million words of one domain are enough"
    )


def _find_neighbors(workspace: Workspace, progress: Progress) -> Outcome:
    """Find the wordpieces nearest to a few aligned words in the embeddings of the model."""
    vectors, model_folder = workspace.folder(*VECTORS), workspace.folder(*MODEL)
    model, space = open_model(model_folder), load_space(vectors)
    alignment = Alignment.load(workspace.folder(*REFITTED))
    words = [word for word in WORDS if word in space] or list(space.words[:3])
    spaces = CrossSpace(space, model.word_space, alignment)
    nearest = {}
    for word in words:
        listed = spaces.lists(word, ListSettings(3))["to_pieces"] or []
        nearest[word] = [name for name, _ in listed]
    did = "; ".join(f"{word} is nearest to {', '.join(names)}" for word, names in nearest.items())
    arguments = f"neighbors {' '.join(words)} --vectors {vectors} --model {model_folder}"
    return did, {"nearest": nearest}, f"python -m vocadapt {arguments}"


def _check_adapted(workspace: Workspace, numbers: Numbers) -> str:
    """Return the result of the certificate, and one word that has become a single token."""
    before = open_model(workspace.folder(*MODEL)).vocabulary
    after = open_model(workspace.folder(*ADAPTED)).vocabulary
    example = ""
    for word in sorted(WORDS, key=lambda word: -len(before.tokenize(word))):
        tokens = before.tokenize(word)
        if len(tokens) > 1 and len(after.tokenize(word)) == 1:
            example = f"; {word} was tokenized as {' '.join(tokens)} and is now one token"
            break
    return _check_certificate(workspace, numbers) + example


def _compare_models(workspace: Workspace, progress: Progress) -> Outcome:
    """Compare the vocabularies and embeddings of the two models."""
    places = [str(workspace.folder(*place)) for place in (MODEL, BIOMEDICAL)]
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
        f" tokens; the mean cosine of two tokens is {tables.mean_cosine[0][0]:.3f} in the general"
        f" and {tables.mean_cosine[1][1]:.3f} in the biomedical model, and that of a common token's"
        f" two embeddings {tables.mean_cosine_common[0][1]:.3f}"
    )
    return did, numbers, f"python -m vocadapt diagnose {' '.join(places)}"


def _check_certificate(workspace: Workspace, numbers: Numbers) -> str:
    if numbers["certificate"]:
        return "every check of the certificate passed"
    return "THE CERTIFICATE FAILED"


SCORES = "held-out P@5 {p@5:.3f} on {anchors:,} anchors, chance {chance@5:.5f}"
STEPS: tuple[tuple[str, Callable[[Workspace, Progress], Outcome]], ...] = (
    (
        "text",
        ArtifactStep(
            NEWS,
            "corpus",
            CorpusStep(copy=True),
            {},
            "imported and counted {words:,} words of news",
        ),
    ),
    (
        "word vectors",
        ArtifactStep(
            NEWS_VECTORS,
            "vectors",
            VectorsStep(word2vec=Word2VecSettings(workers=1)),
            {"text": NEWS},
            "trained vectors for {words:,} words, {new_words:,} of them new to the model",
        ),
    ),
    (
        "alignment of the news",
        ArtifactStep(
            NEWS_MAP,
            "alignment",
            # Ridge regression: there are fewer anchors than least squares needs.
            AlignmentStep(AlignmentSettings("ridge", ridge=1.0), folds=3),
            {"vectors": NEWS_VECTORS},
            f"{SCORES}: {{note}}",
            _judge_news_alignment,
        ),
    ),
    (
        "alignment",
        ArtifactStep(
            REFITTED,
            "alignment",
            AlignmentStep(folds=10),
            {"vectors": VECTORS},
            f"fitted the biomedical alignment again: {SCORES}",
        ),
    ),
    ("neighbors", _find_neighbors),
    (
        "adapted model",
        ArtifactStep(
            ADAPTED,
            "model",
            ModelStep(),
            {"vectors": VECTORS},
            "added {added:,} words to the model; {note}",
            _check_adapted,
        ),
    ),
    ("two vocabularies", _compare_models),
    (
        "transfer",
        ArtifactStep(
            MOVED,
            "model",
            ModelStep(PRESETS["transfer-semantic"]),
            {"target": BIOMEDICAL},
            "replaced the general model's vocabulary by the biomedical one; {added:,} new tokens were"
            " initialized from their neighbors in the biomedical model; {note}",
            _check_certificate,
        ),
    ),
)
