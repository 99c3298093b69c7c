"""The registry of loaders, and the setting that selects the loaders to try."""

from dataclasses import dataclass

from vocadapt.extensions import register
from vocadapt.models.edit import Edit
from vocadapt.models.loaders.loader import Loader, LoadResult, try_loader
from vocadapt.models.loaders.python_packages import try_onnx, try_sentence_transformers
from vocadapt.models.loaders.tokenizer_files import try_sentencepiece, try_tokenizers
from vocadapt.models.loaders.transformers_js import try_transformers_js
from vocadapt.progress import Progress, parts, silent
from vocadapt.settings import CheckedSettings, setting

ALL, QUICK = "all", "quick"  # choices that select several loaders

LOADERS: dict[str, Loader] = {
    "tokenizers": Loader(
        "tokenizers", "ids of tokenizer.json", try_tokenizers, ("tokenizers",), is_quick=True
    ),
    "sentencepiece": Loader(
        "SentencePiece", "no .model file without the edit", try_sentencepiece, is_quick=True
    ),
    "transformers-js": Loader("transformers.js", "ids in Node.js", try_transformers_js),
    "onnx": Loader(
        "ONNX Runtime",
        "outputs of an export by torch",
        try_onnx,
        ("onnxruntime", "onnx", "onnxscript"),
    ),
    "sentence-transformers": Loader(
        "sentence-transformers",
        "ids and sentence embeddings",
        try_sentence_transformers,
        ("sentence_transformers",),
    ),
}


def register_loader(name: str, loader: Loader) -> None:
    """Add a loader to the registry; raises InputError for a name that is taken or invalid."""
    register(LOADERS, "a loader", name, loader)


def list_choices() -> dict[str, str]:
    """List the choices of the setting, each with what it compares."""
    several = {QUICK: "loaders that need no other program", ALL: "all loaders"}
    return {**several, **{name: loader.about for name, loader in LOADERS.items()}}


@dataclass(frozen=True)
class LoaderSettings(CheckedSettings):
    """Settings of the loaders."""

    loaders: tuple[str, ...] = setting(
        (QUICK,),
        "programs to load the adapted model in, if they are installed",
        choices=list_choices,
    )

    def is_requested(self, name: str) -> bool:
        """Return whether a loader is to be tried."""
        is_quick = QUICK in self.loaders and LOADERS[name].is_quick
        return ALL in self.loaders or name in self.loaders or is_quick


def try_loaders(
    edit: Edit, settings: LoaderSettings | None = None, progress: Progress = silent
) -> tuple[LoadResult, ...]:
    """Try the requested loaders on an edited model; the others are reported as not tried."""
    settings = settings or LoaderSettings()
    slow = [n for n in LOADERS if settings.is_requested(n) and not LOADERS[n].is_quick]
    reports = parts(progress, dict.fromkeys(slow, 1.0)) if slow else {}
    results = []
    for name, loader in LOADERS.items():
        if name in reports:
            reports[name](0.0, f"loading in {loader.title}")
        results.append(try_loader(name, loader, edit, settings.is_requested(name)))
    return tuple(results)
