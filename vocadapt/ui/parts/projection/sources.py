"""Spaces and projections of the page, and the columns that color their tokens. A projection is
computed immediately (PCA) or was saved by a job.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path

import streamlit as st

from vocadapt.analysis import token_columns
from vocadapt.analysis.token_columns import Column
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
from vocadapt.lab.workspace.slices import list_slices, load_slice
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

    @cached_property
    def tokens(self) -> list[str]:
        """The tokens of the projection as the first space's model spells them."""
        model = self.spaces[0].opened.model
        if model is None:
            return list(self.words)
        spelled = dict(zip(model.vocabulary.names, model.vocabulary.tokens, strict=True))
        return [spelled[word] for word in self.words]

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
        found: list[str] = []
        for space in self.spaces:
            kind = "source" if space.opened.model else "domain"
            found.append("target" if kind in found else kind)
        return tuple(found)


def choose_example_words(workspace: Workspace, space: NamedSpace) -> list[str]:
    """Return words whose neighborhoods are worth a look, the best one first.

    The words of the demo's measured examples come first, only added ones if the space has added
    tokens; then other added words, then other whole words, each by frequency.
    """
    vectors = workspace.artifacts("vectors")
    measured = [example.word for one in vectors for example in read_demo_examples(one)]
    return _choose_example_words(space.name, space.stamp, measured)


@st.cache_data(max_entries=16, show_spinner=False)
def _choose_example_words(name: str, stamp: str, measured: list[str]) -> list[str]:
    opened = cache.open_named_space(name)
    whole = [word for word in opened.space.words if len(word) >= MIN_EXAMPLE_LENGTH]
    whole = [word for word in whole if word.isalpha()]
    added = [word for word in whole if word in opened.added]
    preferred = [word for word in measured if word in (opened.added or opened.space.index)]
    return list(dict.fromkeys([*preferred, *added, *whole]))[:MAX_EXAMPLES]


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


def open_saved(spaces: tuple[NamedSpace, ...], artifact: Artifact) -> OpenedProjection:
    """Return a saved projection; raise InputError if it is damaged or the tokens of its space have
    changed.
    """
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


def pick_color(workspace: Workspace, shown: OpenedProjection) -> Column | None:
    """Draw the color picker; return the selected column, None for a single color or after an error,
    which is shown.

    The default is the origin of the tokens, if the first space is an adapted model.
    """
    offered = _list_columns(workspace, shown)
    folder = shown.spaces[0].opened.folder.resolve()
    default = PLAIN
    for model in list_adapted_models(workspace):
        if model.folder.resolve() == folder:
            default = ORIGIN.format(model.name)
    models = list_display_names(workspace)
    chosen = pickers.pick_name(
        "Color",
        list(offered),
        "projection_color",
        default,
        help=HELP,
        labels={ORIGIN.format(name): ORIGIN.format(shown) for name, shown in models.items()},
    )
    column = None
    with mistakes.show_errors():
        column = offered.get(chosen, offered[PLAIN])()
    return column


def draw_coverage_note(column: Column | None, shown: OpenedProjection) -> None:
    """State how many tokens have a value, unless all have one."""
    if column is not None and column.known < len(shown.words):
        note = (
            f"{count(column.known)} of {count(len(shown.words))} tokens on the projection"
            " have a value"
        )
        st.markdown(f":small[:violet[{plain(column.name)}: {note}]]")


def draw_upload_table(workspace: Workspace) -> None:
    """Draw the upload of a table of tokens and values, saved in the workspace as a color column."""
    st.markdown("**Your colors**")
    st.markdown(
        ":small[One line per token: token,value. Numbers are shown on a color scale, words in"
        " up to eight colors.]"
    )
    turn = st.session_state.setdefault("projection_table_turn", 0)
    given = st.file_uploader(
        "Your table",
        type=["csv", "tsv", "txt"],
        key=f"projection_table_{turn}",
        max_upload_size=intake.MAX_TABLE_MB,
    )
    if given is not None:
        intake.check_uploads([given], intake.MAX_TABLE_MB)
        (saved,) = intake.save_uploads([given], workspace, TABLES)
        st.session_state["projection_table_turn"] = turn + 1
        try:
            # Read it now: an invalid file must not remain among the colors.
            token_columns.read_token_table(saved)
        except BaseException:
            saved.unlink()
            raise
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
            build = partial(_build_frequency_column, workspace, shown, text)
            offered[f"frequency · {text.name}"] = build
    # 3. Columns from the workspace: adapted models, slices, the user's tables.
    for model in list_adapted_models(workspace):
        if _is_shown(model, shown, workspace):
            offered[ORIGIN.format(model.name)] = partial(
                _build_origin_column, shown.key, shown, model
            )
    for one in list_slices(workspace):
        offered[f"slice · {one.id}"] = partial(_build_slice_column, workspace, shown, one.id)
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
def _build_origin_column(key: str, _shown: OpenedProjection, model: Artifact) -> Column:
    # Cached, because a record holds every added token: reading it takes longer than all the rest.
    return token_columns.build_origin_column(_shown.tokens, load_record(model)["plan"])


def _build_slice_column(workspace: Workspace, shown: OpenedProjection, id: str) -> Column:
    chosen = load_slice(workspace, id)
    return token_columns.build_membership_column(shown.words, chosen.tokens, chosen.name)


def _build_table_column(shown: OpenedProjection, path: Path) -> Column:
    return token_columns.column_from_table(shown.words, _read_table(path), path.stem)


@st.cache_data(max_entries=4, show_spinner="Reading the table …", hash_funcs=STAMPS)
def _read_table(path: Path) -> dict[str, str]:
    return token_columns.read_token_table(path)


def _is_shown(model: Artifact, shown: OpenedProjection, workspace: Workspace) -> bool:
    """Return whether an adapted model or its base model is one of the spaces of a projection."""
    given = model.manifest.inputs.get("model")
    known = {model.folder.resolve()}
    if given:
        known |= {(workspace.root / path).resolve() for path in given.paths}
    return any(one.opened.folder.resolve() in known for one in shown.spaces)
