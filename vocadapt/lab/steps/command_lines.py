"""Command lines of steps, to repeat in a terminal what was done in the browser."""

import shlex
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, fields, replace
from pathlib import Path
from typing import Any

from vocadapt.files import expand_path
from vocadapt.lab.steps.continue_pretraining import ContinuedPretrainingStep
from vocadapt.lab.steps.finetune import ALL_FOLDS
from vocadapt.lab.steps.spec import Spec
from vocadapt.lab.steps.step import STEPS
from vocadapt.lab.workspace.workspace import UPLOADS, Artifact
from vocadapt.settings import Setting, groups_of, settings_of
from vocadapt.spaces.io.storage import VECTORS
from vocadapt.spaces.projection.methods import ProjectionSettings
from vocadapt.spaces.projection.token_choice import TokenChoice
from vocadapt.text.corpus import CorpusSettings
from vocadapt.training.masked.trainer import BUDGETS

PROGRAM = ("python", "-m", "vocadapt")
SETTING_FLAGS = {  # flags that are not the setting's name
    "epochs": "--num-epochs",
    "batch": "--batch-size",
    "lr": "--learning-rate",
    "warm_up": "--warmup-ratio",
    "schedule": "--lr-scheduler",
    "clip": "--max-grad-norm",
    "parts": "--gradient-accumulation-steps",
    "share": "--mlm-probability",
    "ungrouped": "--no-group-by-length",
    "unit": "--normalize",
}


def flag_of(setting: str) -> str:
    """Return the command-line flag of a setting."""
    return SETTING_FLAGS.get(setting, f"--{setting.replace('_', '-')}")


CORPUS_FLAGS = {
    "corpus.field": "--field",
    "corpus.min_length": "--min-length",
    "corpus.sample": "--sample",
    "corpus.seed": "--sample-seed",
    "corpus.language": "--language",
    "corpus.max_line_mb": "--max-line-mb",
}
MASKED = (
    "length",
    "batch",
    "lr",
    "epochs",
    "tokens",
    "hours",
    "share",
    "dropout",
    "seed",
    "warm_up",
    "schedule",
    "parts",
    "save_minutes",
)
FINETUNING = (
    "epochs",
    "batch",
    "lr",
    "chunk",
    "warm_up",
    "schedule",
    "weight_decay",
    "clip",
    "freeze",
    "with_dev",
    "patience",
    "word_rule",
    "ungrouped",
)
JUDGING = ("methods", "held_out", "judged", "norm_matched", "seed")
FLAGS: dict[str, dict[str, str]] = {
    "corpus": CORPUS_FLAGS,
    "vectors": (
        CORPUS_FLAGS
        | {
            f"word2vec.{name}": f"--{name.replace('_', '-')}"
            for name in (
                "dim",
                "window",
                "min_count",
                "negative",
                "skip_gram",
                "alpha",
                "epochs",
                "seed",
                "workers",
            )
        }
        | {"word2vec.sample": "--subsample", "resample": "--resample"}
    ),
    "contextual": (
        CORPUS_FLAGS
        | {
            f"contextual.{name}": flag_of(name)
            for name in (
                "layer",
                "occurrences",
                "length",
                "batch",
                "min_count",
                "first",
                "seed",
            )
        }
        | {"contextual.unit": "--token-unit"}
    ),
    "import": CORPUS_FLAGS
    | {"limit": "--limit", "fold": "--fold-case", "collisions": "--collisions"},
    "alignment": {
        **{
            f"alignment.{name}": flag_of(name)
            for name in ("method", "unit", "center", "ridge", "weights", "seed")
        },
        "alignment.anchors.single_characters": "--anchors-without=single-characters",
        "alignment.anchors.digits": "--anchors-without=digits",
        "alignment.anchors.continuation": "--anchors-without=continuation",
        "alignment.anchors.min_count": "--min-count",
        "folds": "--folds",
        "compare": "--all",
    },
    "model": CORPUS_FLAGS,
    "leaderboard": (
        {**CORPUS_FLAGS, "leaderboard.rows.neighbors": "--neighbors"}
        | {f"leaderboard.{name}": f"--{name.replace('_', '-')}" for name in JUDGING}
    ),
    "pretrain": (
        CORPUS_FLAGS
        | {f"scratch.{name}": f"--{name}" for name in ("vocabulary", "trainer", "layers", "hidden")}
        | {f"scratch.training.{name}": flag_of(name) for name in MASKED}
        | {"scratch.cased": "--cased", "scratch.random_rows": "--random-rows", "half": "--half"}
    ),
    "continued": (
        CORPUS_FLAGS
        | {f"further.training.{name}": flag_of(name) for name in MASKED}
        | {
            "further.train_heads": "--train-heads",
            "further.nsp": "--nsp",
            "further.keep_minutes": "--keep-minutes",
        }
    ),
    "finetune": {
        "kind": "--task",
        **{f"finetune.{name}": flag_of(name) for name in FINETUNING},
        "finetune.length": "--max-length",
        "unit": "--example-unit",
        **{name: f"--{name}" for name in ("tokenization", "seeds", "scorer", "fold", "limit")},
    },
    "convert": {},
    "projection": {
        **{
            f"choice.{field.name}": f"--{field.name.replace('_', '-')}"
            for field in fields(TokenChoice)
        },
        **{
            f"projection.{field.name}": f"--{field.name.replace('_', '-')}"
            for field in fields(ProjectionSettings)
        },
    },
}


def build_command(spec: Spec, folder: Path) -> str:
    """Return the command line that runs `spec` into `folder`, without settings at their defaults;
    "" if there is none.
    """
    step = STEPS[spec.step]
    expressed = spec if step.express is None else step.express(spec, folder)
    if expressed is None or not step.command:
        return ""
    return shlex.join(build_arguments(_name_uploads(expressed, folder), folder))


def build_artifact_command(artifact: Artifact) -> str:
    """Return the command line that made an artifact, with absolute paths of its inputs."""
    root = artifact.folder.parents[1]
    parts = shlex.split(artifact.manifest.command)
    return shlex.join(
        [str(root / part) if "/" in part and (root / part).exists() else part for part in parts]
    )


def build_context_command(
    word: str, text: Sequence[str | Path], corpus: Mapping[str, Any], model: str
) -> str:
    """Return the command line that shows a word in context; `corpus`: settings of the text."""
    defaults = asdict(CorpusSettings())
    chosen = {path.partition(".")[2]: flag for path, flag in CORPUS_FLAGS.items()}
    flags = [
        [flag] if corpus[name] is True else [flag, str(corpus[name])]
        for name, flag in chosen.items()
        if corpus[name] != defaults[name]
    ]
    files = [str(path) for path in text]
    given = ["--corpus", *files, "--model", model, *(part for flag in flags for part in flag)]
    return shlex.join([*PROGRAM, "context", *given, "--", word])


def build_arguments(spec: Spec, folder: Path) -> list[str]:
    """Return the command line of a spec as a list of arguments."""
    step = STEPS[spec.step]
    arguments = [*PROGRAM, *step.command, *_input_arguments(spec)]
    if step.own_arguments is not None:
        arguments += step.own_arguments(spec.settings, folder)
    arguments += _setting_arguments(spec)
    if spec.casing:
        arguments += ["--casing", spec.casing]
    if spec.offline:
        arguments.append("--offline")
    if step.out:
        arguments += [step.out, str(folder)]
    return arguments


def _name_uploads(spec: Spec, folder: Path) -> Spec:
    """Replace the paths of uploads, which are removed, by the names of the uploaded files."""
    uploads = folder.parent.parent / UPLOADS
    named = {
        role: tuple(Path(path).name if Path(path).parent == uploads else path for path in paths)
        for role, paths in spec.inputs.items()
    }
    return replace(spec, inputs=named)


def _input_arguments(spec: Spec) -> Iterator[str]:
    roles = STEPS[spec.step].roles
    for name, paths in spec.inputs.items():
        flag = roles[name].flag
        if name == "space":  # word vectors and models have different flags
            flag = "--vectors" if (expand_path(paths[0]) / VECTORS).is_file() else "--model"
        yield from ([flag, *paths] if flag else paths)


def _setting_arguments(spec: Spec) -> Iterator[str]:
    values, defaults = (
        _flatten(asdict(spec.settings)),
        _flatten(asdict(STEPS[spec.step].settings())),
    )
    overruled = _unused_budgets(spec.settings)
    for path, flag in FLAGS[spec.step].items():
        if path.rpartition(".")[2] in overruled:
            continue
        value = "all" if path == "fold" and values[path] == ALL_FOLDS else values[path]
        if value == defaults[path]:
            continue
        if isinstance(value, tuple):
            yield from [flag, *map(str, value)]
        elif value is True:
            yield flag
        else:  # a value that looks like a flag stays a value
            yield from [f"{flag}={value}"] if str(value).startswith("-") else [flag, str(value)]


def _unused_budgets(settings: object) -> tuple[str, ...]:
    """Return the training budgets that are not used: the command line takes only one."""
    way = (
        settings.further
        if isinstance(settings, ContinuedPretrainingStep)
        else getattr(settings, "scratch", None)
    )
    return tuple(name for name in BUDGETS if name != way.training.budget) if way else ()


def setting_arguments(
    settings: Any, defaults: Any, names: Collection[str] | None = None
) -> Iterator[str]:
    """Yield the command-line arguments of the settings that are not at their defaults.

    names: of the fields to include; None: all. Settings that the instance names as `unused` are
    left out.
    """
    declared, groups = settings_of(settings), groups_of(settings)
    unused = getattr(settings, "unused", ())
    for field in fields(settings):
        if field.name in unused or (names is not None and field.name not in names):
            continue
        value, default = getattr(settings, field.name), getattr(defaults, field.name)
        if field.name in declared:
            yield from _arguments_of(declared[field.name], value, default)
        elif field.name in groups:
            yield from setting_arguments(value, default, groups[field.name][1])


def _arguments_of(declared: Setting, value: Any, default: Any) -> list[str]:
    """Return the arguments of one setting; none if it is at its default."""
    flag = declared.flag
    if not flag or (value == default and not declared.always):
        return []
    if declared.kind is bool:
        return [flag]
    if declared.several:
        return [flag, *map(str, value)]
    words = [word for word, number in declared.words.items() if number == value]
    text = words[0] if words else str(value)
    if text.startswith("-"):  # a value that looks like a flag stays a value
        return [f"{flag}={text}"]
    return [flag, text]


def _flatten(values: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for key, value in values.items():
        flat |= (
            _flatten(value, f"{prefix}{key}.")
            if isinstance(value, Mapping)
            else {f"{prefix}{key}": value}
        )
    return flat
