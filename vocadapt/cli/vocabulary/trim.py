"""The command vocabulary trim."""

import time
from dataclasses import dataclass
from pathlib import Path
from typing import NotRequired, cast

from vocadapt.cli.command import Answer, Command, Options, exclusive, read_settings, setting_options
from vocadapt.cli.options import (
    CASING,
    CORPUS,
    CORPUS_SETTINGS_WITHOUT_SEED,
    ArtifactAnswer,
    build_answer,
    choose_destination,
    destination_options,
    model_options,
    open_named_model,
    read_texts,
    write_artifact,
)
from vocadapt.cli.tables import format_facts
from vocadapt.cli.workspace_options import output_option
from vocadapt.errors import InputError
from vocadapt.lab.steps.adapt import AdaptStep, ModelNumbers
from vocadapt.lab.steps.step import Spec
from vocadapt.lab.workspace.drafts import check_free_file, open_file_draft
from vocadapt.models.language_model import LanguageModel, open_model
from vocadapt.pipeline import Sources, plan_adaptation
from vocadapt.presets import build_trim
from vocadapt.recipe import Recipe
from vocadapt.vocabulary.plan.plan import PlanNumbers, PlanSettings
from vocadapt.vocabulary.plan.token_map import check_token_map_path, write_token_map
from vocadapt.vocabulary.plan.trim_figures import TextFigures, TrimFigures

ONE_OF_TWO = "none; one of the two is required"  # shown in place of default values
CHANGES = (
    "Lines whose tokens are all kept have the same tokens and hidden states as before, and the same"
    " logits except for rounding. Probabilities and losses change, because the softmax is over"
    " fewer tokens."
)
CHARACTERS_LOST = (
    "Characters that the text does not contain were removed: in other texts they become unknown"
    " tokens or bytes."
)


class ModelAnswer(ArtifactAnswer[ModelNumbers]):
    """The trimmed model."""

    token_map: NotRequired[str]


@dataclass(frozen=True, kw_only=True)
class MapAnswer(PlanNumbers):
    """The plan, if only a token map was written."""

    token_map: Path
    seconds: float


def _trim(options: Options) -> Answer[ModelAnswer | MapAnswer]:
    names = ("cover", "keep", "characters")
    recipe = build_trim(
        **{name: value for name in names if (value := getattr(options, name)) is not None}
    )
    folder = choose_destination(options, "models")
    map_file = _read_map_path(options)
    if folder is None and map_file is None:
        raise InputError(
            "No output was given: use --out DIR or --name N for a model, --token-map FILE for a"
            " token map of the original model.",
            code="no-output",
        )
    # 1. Write the model, or only plan it.
    if folder is None:
        return _write_map_only(recipe, options, map_file)
    settings = read_settings(options, AdaptStep, AdaptStep(recipe))
    inputs = {"model": options.model, "text": options.corpus}
    spec = Spec(settings, inputs, options.offline, options.casing)
    artifact = write_artifact(spec, options)
    answer = build_answer(artifact)
    numbers: ModelNumbers = answer.json["numbers"]
    assert numbers.trim is not None
    notes = [answer.text, *_describe(numbers, numbers.trim, recipe)]
    # 2. Write the token map.
    values = dict(answer.json)
    if map_file is not None:
        tokens = open_model(artifact.folder).vocabulary.tokens
        _write_map(map_file, open_named_model(options), tokens, numbers.trim)
        values["token_map"] = str(map_file)
        notes.append(f"Token map: {map_file}")
    return Answer(cast(ModelAnswer, values), "\n\n".join(notes), answer.exit)


def _read_map_path(options: Options) -> Path | None:
    """Check and return the path of the token map; None if none was requested."""
    if options.token_map is None:
        return None
    path = Path(options.token_map)
    check_token_map_path(path)
    check_free_file(path, options.overwrite)
    return path


def _write_map_only(recipe: Recipe, options: Options, path: Path | None) -> Answer[MapAnswer]:
    """Plan a trim, and write the token map of the unchanged model."""
    assert path is not None
    start = time.perf_counter()
    model = open_named_model(options)
    corpus = read_texts(options, options.corpus)
    plan = plan_adaptation(recipe, model, Sources(corpus), progress=options.progress)
    assert plan.trim is not None
    _write_map(path, model, plan.tokens, plan.trim)
    seconds = time.perf_counter() - start
    answer = MapAnswer(**vars(plan.summary()), token_map=path, seconds=seconds)
    facts = {
        "tokens_before": answer.tokens_before,
        "tokens_after": answer.tokens_after,
        "coverage": f"{plan.trim.coverage:.4%}",
        "token_map": path,
        "seconds": seconds,
    }
    return Answer(answer, format_facts(facts))


def _write_map(
    path: Path, model: LanguageModel, tokens: tuple[str, ...], trim: TrimFigures
) -> None:
    """Write the kept tokens as a draft vocabulary of the original model."""
    rows = len(model.vocabulary)
    if not model.path.is_file():  # the number of outputs of its head
        rows = int(model.config.get("vocab_size", rows))
    facts = {
        "tokens": len(tokens),
        "vocabulary": rows,
        "coverage": trim.coverage,
        "text_tokens": trim.tokens,
    }
    with open_file_draft(path) as draft:
        write_token_map(draft, model.vocabulary, tokens, rows, facts)


def _describe(numbers: ModelNumbers, trim: TrimFigures, recipe: Recipe) -> list[str]:
    """Describe what a trim keeps and what it changes, in sentences."""
    # 1. The tokens and parameters that are kept.
    before = numbers.parameters_before
    fewer = numbers.parameters_saved
    saved = numbers.bytes_saved
    assert before is not None and fewer is not None and saved is not None
    kept = (
        f"{numbers.tokens_after:,} of {numbers.tokens_before:,} tokens are kept;"
        f" {fewer:,} fewer parameters ({fewer / max(before, 1):.1%}), {saved / 1e6:,.1f} MB."
    )
    stay = "; ".join(f"{count:,} {reason}" for reason, count in trim.stay.items())
    if stay:
        kept += f" Kept although the text does not contain them: {stay}."

    # 2. What is tokenized differently.
    differing: list[str] = []
    if trim.pretokens:
        differing.append(
            f"{trim.changed_pretokens:,} of {trim.pretokens:,} words"
            f" ({trim.changed_pretokens_fraction:.4%})"
        )
    if numbers.lines is not None:
        differing.append(
            f"{numbers.changed_lines:,} of {numbers.lines:,} lines"
            f" ({numbers.changed_lines_fraction:.2%})"
        )
    changed = (
        f"{trim.kept_tokens:,} of {trim.tokens:,} tokens of the text ({trim.coverage:.4%}) are"
        f" kept. Tokenized differently: {', '.join(differing)}."
    )
    if trim.unknown_after > trim.unknown_before:
        more = trim.unknown_after - trim.unknown_before
        changed += f" {more:,} words have an unknown token now."

    # 3. What the trim does to other texts, and to probabilities.
    notes = [_describe_held_out(trim.held_out), kept, changed, CHANGES]
    if recipe.vocabulary.characters == "text":
        notes.append(CHARACTERS_LOST)
    return notes


def _describe_held_out(own: TextFigures | None) -> str:
    if own is None:
        return "No line is held out, so the effect on other texts was not measured."
    growth = own.tokens_after / own.tokens - 1
    return (
        "Estimate for other texts of the domain: a trim by the lines that are not held out keeps"
        f" {own.kept_tokens:,} of the {own.tokens:,} tokens of held-out lines"
        f" ({own.coverage:.4%}), and changes their length by {growth:+.2%}."
    )


TRIM = Command(
    _trim,
    (
        *model_options(),
        CASING,
        CORPUS,
        exclusive(setting_options(PlanSettings, "cover", "keep", shown_default=ONE_OF_TWO)),
        setting_options(PlanSettings, "characters"),
        output_option(
            "--token-map",
            metavar="FILE",
            help="write the kept tokens as a draft vocabulary of the original model, .json or"
            " .safetensors; without --out and --name, nothing else is written",
        ),
        setting_options(AdaptStep, "certify"),
        CORPUS_SETTINGS_WITHOUT_SEED,
        *destination_options(),
    ),
    description="Remove the tokens of a model that a text does not need: the model gets smaller, and"
    " the text keeps its tokens.",
)
