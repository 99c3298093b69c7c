"""Spaces and projections of the page, and the columns that color their tokens. A projection is
computed immediately (PCA) or was saved by a job.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import chain
from pathlib import Path

import streamlit as st

from vocadapt.analysis import token_columns
from vocadapt.analysis.token_columns import (
    Column,
    build_membership_column,
    read_token_table,
)
from vocadapt.errors import InputError
from vocadapt.lab.inputs.open_space import OpenedSpace
from vocadapt.lab.reports.example_words import read_demo_examples
from vocadapt.lab.steps.projection import (
    ProjectedSpace,
    ProjectionArtifact,
    ProjectionStep,
    choose_shared_tokens,
    compute_projection,
    load_projection,
)
from vocadapt.lab.workspace.slices import list_slices
from vocadapt.lab.workspace.workspace import UPLOADS, Artifact, Workspace, list_adapted_models
from vocadapt.spaces.space import EmbeddingSpace
from vocadapt.ui.components import intake, mistakes, pickers
from vocadapt.ui.parts.adapt.model import load_record
from vocadapt.ui.state import cache, count_cache
from vocadapt.ui.state.names import list_display_names
from vocadapt.ui.text.markup import plain
from vocadapt.ui.text.number_formats import count

UNSAVED_PCA = "PCA (not saved)"
PLAIN = "one color"
ORIGIN = "origin · {}"  # {}: name of an adapted model
TABLES = f"{UPLOADS}/tables"  # the user's tables of tokens and values
HELP = "Colors tokens by length, id, frequency, region, origin, a saved slice or your own table."
MIN_EXAMPLE_LENGTH, MAX_EXAMPLES = 5, 6  # characters of an example word, number of examples
SAMPLE = 1000  # tokens on which the quality of an immediate projection is measured


@dataclass(frozen=True)
class NamedSpace:
    """A space with its display name; `name` opens it."""

    label: str
    name: str

    @property
    def opened(self) -> OpenedSpace:
        """The opened space, cached between reruns."""
        return cache.open_named_space(self.name)

    @property
    def stamp(self) -> str:
        """A cache key that changes with the files of the space."""
        return cache.space_stamp(self.name)


STAMPS = cache.STAMPS | {NamedSpace: lambda space: f"{space.label} {space.name} {space.stamp}"}


@dataclass(frozen=True, eq=False)
class OpenedProjection:
    """A projection, its spaces, and its artifact if it is saved. `key` is its cache key."""

    key: str
    spaces: tuple[NamedSpace, ...]
    projection: ProjectionArtifact
    artifact: Artifact | None = None

    @property
    def words(self) -> tuple[str, ...]:
        """The tokens of the projection."""
        return self.projection.words

    @property
    def center(self) -> str:
        """The word whose neighborhood is projected; "" if it is no neighborhood."""
        return self.projection.settings.choice.around

    @cached_property
    def added(self) -> int:
        """Number of added tokens on the projection."""
        added = self.spaces[0].opened.added
        return sum(word in added for word in self.words)

    @property
    def space(self) -> EmbeddingSpace:
        """The first space; all ids on the page are ids of this space."""
        return self.spaces[0].opened.space

    @cached_property
    def layouts(self) -> tuple[ProjectedSpace, ...]:
        """The layout of each space."""
        return tuple(filter(None, (self.projection.first, self.projection.second)))

    @property
    def kinds(self) -> tuple[str, ...]:
        """The color kind of each space; the second of two equal kinds is colored as target."""
        first, *others = ["source" if space.opened.model else "domain" for space in self.spaces]
        return first, *("target" if kind == first else kind for kind in others)


def choose_example_words(workspace: Workspace, space: NamedSpace) -> list[str]:
    """Return words whose neighborhoods are worth a look, the best one first.

    The words of the demo's measured examples come first, only added ones if the space has added
    tokens; then other added words, then other whole words, each by frequency.
    """
    opened = space.opened
    added, words = opened.added, opened.space.words
    vectors = workspace.artifacts("vectors")
    measured = [example.word for one in vectors for example in read_demo_examples(one)]
    found = dict.fromkeys(word for word in measured if word in (added or opened.space.index))
    for word in chain((word for word in words if word in added), words):
        if len(found) >= MAX_EXAMPLES:
            break
        if len(word) >= MIN_EXAMPLE_LENGTH and word.isalpha():
            found.setdefault(word)
    return list(found)[:MAX_EXAMPLES]


@st.cache_data(max_entries=16, show_spinner=False, hash_funcs=STAMPS)
def count_tokens(spaces: tuple[NamedSpace, ...], settings: ProjectionStep) -> int:
    """Return the number of tokens of a choice; raise InputError if it is invalid."""
    first, *others = [one.opened for one in spaces]
    return len(choose_shared_tokens(first, others, settings)[1])


@st.cache_resource(max_entries=8, show_spinner="Projecting the tokens …", hash_funcs=STAMPS)
def project_now(spaces: tuple[NamedSpace, ...], settings: ProjectionStep) -> OpenedProjection:
    """Return a PCA projection, computed on the page; raise InputError if there is nothing to
    project.
    """
    opened = [one.opened for one in spaces]
    second = opened[1] if len(opened) > 1 else None
    found = compute_projection(opened[0], second, settings, judged=SAMPLE)
    return OpenedProjection(f"{[one.stamp for one in spaces]} {settings}", spaces, found)


def open_saved(
    workspace: Workspace, spaces: tuple[NamedSpace, ...], artifact: Artifact
) -> OpenedProjection:
    """Return a saved projection; raise InputError if it is damaged or its tokens have changed."""
    pickers.warn_if_stale(artifact, workspace)
    found = _load_projection(artifact)
    space = spaces[0].opened.space
    # Ids are not enough: they are valid in any space that is large enough.
    words = dict(enumerate(space.words))
    if tuple(map(words.get, found.rows.tolist())) != tuple(found.words):
        raise InputError(
            f"The tokens of {spaces[0].label} have changed since {artifact.name} was created.",
            "Create the projection again.",
        )
    return OpenedProjection(f"{artifact.folder} {artifact.stamp}", spaces, found, artifact)


def list_projections(workspace: Workspace, spaces: tuple[NamedSpace, ...]) -> list[Artifact]:
    """Return the saved projections of these spaces, newest first."""
    folders = [one.opened.folder.resolve() for one in spaces]
    made = workspace.artifacts("projections")
    return [artifact for artifact in made if list_folders(workspace, artifact) == folders]


def list_folders(workspace: Workspace, made: Artifact) -> list[Path]:
    """Return the folders of the spaces of a projection."""
    given = (made.manifest.inputs.get(role) for role in ("space", "other"))
    return [(workspace.root / one.paths[0]).resolve() for one in given if one]


@st.cache_resource(max_entries=8, show_spinner="Reading the projection …", hash_funcs=cache.STAMPS)
def _load_projection(artifact: Artifact) -> ProjectionArtifact:
    return load_projection(artifact.folder)


@mistakes.show_errors()
def pick_color(workspace: Workspace, shown: OpenedProjection) -> Column | None:
    """Draw the color picker; return the selected column, None for a single color or after an error,
    which is shown.

    The default is the origin of the tokens, if the first space is an adapted model.
    """
    offered = _list_columns(workspace, shown)
    folder = shown.spaces[0].opened.folder.resolve()
    own = (one for one in list_adapted_models(workspace) if one.folder.resolve() == folder)
    default = next((ORIGIN.format(model.name) for model in own), PLAIN)
    models = list_display_names(workspace)
    chosen = pickers.pick_name(
        "Color",
        list(offered),
        "projection_color",
        default,
        help=HELP,
        labels={ORIGIN.format(name): ORIGIN.format(shown) for name, shown in models.items()},
    )
    return offered.get(chosen, offered[PLAIN])()


def draw_coverage_note(column: Column | None, shown: OpenedProjection) -> None:
    """State how many tokens have a value, unless all have one."""
    if column is not None and column.known < len(shown.words):
        st.markdown(
            f":small[:violet[{plain(column.name)}: {count(column.known)} of"
            f" {count(len(shown.words))} tokens on the projection have a value]]"
        )


@mistakes.show_errors()
def draw_upload_table(workspace: Workspace) -> None:
    """Draw the upload of a table of tokens and values, saved in the workspace as a color column."""
    st.markdown("**Your colors**")
    st.markdown(
        ":small[One line per token: token,value. Numbers are shown on a color scale, words in"
        " up to eight colors.]"
    )
    saved = intake.draw_kept_upload(
        workspace, "Your table", ["csv", "tsv", "txt"], "projection_table", TABLES, read_token_table
    )
    if saved is not None:
        st.session_state["projection_color"] = f"table · {saved.name}"
        st.rerun()


def _list_columns(
    workspace: Workspace, shown: OpenedProjection
) -> dict[str, Callable[[], Column | None]]:
    """Return the builders of all color columns by display name."""
    # 1. Columns of every projection.
    offered: dict[str, Callable[[], Column | None]] = {
        PLAIN: lambda: None,
        "length": lambda: token_columns.build_length_column(shown.words, shown.space.kinds),
        "id": lambda: token_columns.build_id_column(shown.projection.rows),
        "region": lambda: _build_region_column(shown),
    }
    # 2. Frequencies: in the training text of the vectors, and in each text that was counted.
    counts = shown.space.counts
    if counts is not None:
        offered["frequency"] = lambda: token_columns.build_frequency_column(
            counts[shown.projection.rows]
        )
    if shown.spaces[0].opened.model:
        name = shown.spaces[0].name
        texts = workspace.artifacts("corpora")
        for text in count_cache.select_counted(texts, name, workspace.root):
            offered[f"frequency · {text.name}"] = partial(
                _build_frequency_column, workspace, shown, text
            )
    # 3. Columns from the workspace: adapted models, slices, the user's tables.
    for model in list_adapted_models(workspace):
        if _is_shown(model, shown, workspace):
            offered[ORIGIN.format(model.name)] = partial(
                _build_origin_column, shown.key, shown, model
            )
    for one in list_slices(workspace):
        offered[f"slice · {one.id}"] = partial(
            build_membership_column, shown.words, one.tokens, one.name
        )
    for path in sorted((workspace.root / TABLES).glob("*")):
        offered[f"table · {path.name}"] = partial(_build_table_column, shown, path)
    return offered


def _build_region_column(shown: OpenedProjection) -> Column:
    found = shown.projection.regions
    names = [f"{number}: {region.words[0]}" for number, region in enumerate(found.regions, start=1)]
    words = tuple(names[number] for number in found.numbers.tolist())
    return Column("region", words=words, order=tuple(names))


def _build_frequency_column(
    workspace: Workspace, shown: OpenedProjection, text: Artifact
) -> Column | None:
    reducer = count_cache.reducer_of(text, shown.spaces[0].name, workspace.root)
    if not reducer:
        return None
    return token_columns.build_frequency_column(reducer.token_counts[shown.projection.rows])


@st.cache_resource(max_entries=8, show_spinner=False, hash_funcs=cache.STAMPS)
def _build_origin_column(key: str, _shown: OpenedProjection, adapted: Artifact) -> Column:
    # Cached, because a record holds every added token: reading it takes longer than all the rest.
    # The record has the tokens as the model spells them.
    model = _shown.spaces[0].opened.model
    spelled: dict[str, str] = {}
    if model is not None:
        spelled = dict(zip(model.vocabulary.names, model.vocabulary.tokens, strict=True))
    tokens = [spelled.get(word, word) for word in _shown.words]
    return token_columns.build_origin_column(tokens, load_record(adapted)["plan"])


def _build_table_column(shown: OpenedProjection, path: Path) -> Column:
    return token_columns.column_from_table(shown.words, _read_table(path), path.stem)


@st.cache_data(max_entries=4, show_spinner="Reading the table …", hash_funcs=STAMPS)
def _read_table(path: Path) -> dict[str, str]:
    return read_token_table(path)


def _is_shown(model: Artifact, shown: OpenedProjection, workspace: Workspace) -> bool:
    """Return whether an adapted model or its base model is one of the spaces of a projection."""
    given = model.manifest.inputs.get("model")
    known = {model.folder.resolve()}
    if given:
        known |= {(workspace.root / path).resolve() for path in given.paths}
    return any(one.opened.folder.resolve() in known for one in shown.spaces)
