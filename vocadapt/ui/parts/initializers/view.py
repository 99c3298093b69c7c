"""Blocks of the part Initializers: the transfer, and one token under each initializer."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import streamlit as st

from vocadapt.analysis.leaderboard.inputs import build_target_materials, build_vector_materials
from vocadapt.analysis.leaderboard.leaderboard import fit_own_alignment, initialize_token
from vocadapt.errors import InputError
from vocadapt.lab.inputs.corpora import list_texts, read_corpus
from vocadapt.lab.workspace.workspace import Artifact, Workspace
from vocadapt.models.language_model import LanguageModel
from vocadapt.spaces.alignment.alignment import Alignment, AlignmentSettings
from vocadapt.spaces.neighbors.search import list_neighbors
from vocadapt.spaces.space import EmbeddingSpace, Matrix
from vocadapt.spaces.word2vec.trainer import Word2VecSettings
from vocadapt.ui.components import mistakes, pickers, word_links, word_query
from vocadapt.ui.components.blocks import draw_heading, draw_metrics, draw_note
from vocadapt.ui.components.glossary import explain
from vocadapt.ui.components.setting_inputs import draw_settings
from vocadapt.ui.state import address, cache
from vocadapt.ui.state.names import display_model
from vocadapt.ui.text.markup import Card, draw_neighbor_cards, escape_invisible, plain
from vocadapt.ui.text.number_formats import count
from vocadapt.vocabulary.families import Vocabulary
from vocadapt.vocabulary.initializers.initialize import (
    INITIALIZERS,
    InitializerSettings,
    Materials,
    NewEmbeddings,
    format_provenance,
    initialize,
)

DEFAULT_INITIALIZERS = ("stacked", "syntactic", "semantic", "aligned")
Key = tuple[str, ...]
LISTED = 5  # neighbors of a token on each card
HELP = {
    "target": (
        "Selects the source of the new tokens: word vectors or a model of this workspace; the"
        " last option takes a model folder or a bare vocab.txt. For the latter, token vectors are"
        " trained on a text first."
    ),
    "new": "Number of tokens that the model lacks; each needs an embedding.",
    "common": (
        "Number of tokens that both vocabularies contain. They keep their embeddings, and new"
        " embeddings are combined from them."
    ),
}


@dataclass(frozen=True, eq=False)
class Transfer:
    """Materials of the initializers, and their cache key.

    inputs: role → path, the inputs of the step that compares initializers on these materials.
    examples: tokens to look at first; () if none are known to be good ones.
    """

    key: Key
    materials: Materials
    inputs: Mapping[str, str]
    examples: tuple[str, ...] = ()


def list_targets(workspace: Workspace) -> dict[str, Artifact]:
    """Return the word vectors and models of the workspace by label, as sources of new tokens."""
    vectors = workspace.artifacts("vectors")
    models = workspace.artifacts("models")
    found = {f"word vectors · {artifact.name}": artifact for artifact in vectors}
    return found | {f"model · {artifact.name}": artifact for artifact in models}


def prepare_transfer(workspace: Workspace, name: str, target: Artifact | str) -> Transfer | None:
    """Prepare the materials of the initializers, cached between reruns; return None if a bare
    vocabulary has no token vectors yet.

    Raises InputError if the target has no new token.
    """
    base = cache.model_of(name)
    inputs = {"model": str(base.path)}
    key: Key = (str(base.path), cache.model_stamp(name))
    # 1. Word vectors: the new tokens are their words.
    if isinstance(target, Artifact) and target.folder.parent.name == "vectors":
        key = (*key, str(target.folder), target.stamp)
        materials = _materials(key, base, cache.space_of(target), None)
        added = frozenset(materials.plan.new_embeddings)
        examples = tuple(word for word in word_query.examples_of(target, base) if word in added)
        return Transfer(key, materials, inputs | {"vectors": str(target.folder)}, examples)
    # 2. A model: its tokens have embeddings.
    given = str(target.folder) if isinstance(target, Artifact) else target
    other = cache.model_of(given)
    inputs = inputs | {"target": str(other.path)}
    key = (*key, given, cache.model_stamp(given))
    if other.path.is_dir():
        return Transfer(key, _materials(key, base, other.space, other.vocabulary), inputs)
    # 3. A bare vocabulary: vectors of its tokens are trained on a text first.
    corpus = _choose_training_text(workspace, key)
    if corpus is None:
        return None
    key = (*key, str(corpus.folder), corpus.stamp)
    space = _train_token_vectors(corpus, other, base.dim)
    inputs["text"] = str(corpus.folder)
    return Transfer(key, _materials(key, base, space, other.vocabulary), inputs)


def draw_headline(materials: Materials) -> None:
    """Draw the numbers of new and common tokens, and the dimensions."""
    draw_metrics(
        ("New tokens", count(len(materials.plan.new_embeddings)), None, HELP["new"]),
        ("Common tokens", count(len(materials.donors)), None, HELP["common"]),
        ("Dimension", f"{materials.similarity_space.dim} → {materials.model.dim}"),
    )


@st.fragment
def draw_token_inspector(transfer: Transfer) -> None:
    """Draw the neighbors of a token in the target space, in the model, and under each initializer
    (Fast 2023, table 6.11).
    """
    draw_heading("One token under each initializer")
    key, materials = transfer.key, transfer.materials
    space = materials.similarity_space
    new = [token for token in materials.plan.new_embeddings if token in space]
    long = [token for token in new if len(token) > 5 and token.isalpha()]
    examples = transfer.examples or long[: word_query.EXAMPLES]
    # The tokens of the target, followed by those that only the model has.
    tokens = tuple(dict.fromkeys((*space.words, *materials.model.words)))
    found = word_query.draw_word_search(
        "initializers_token", "Type a token of the target", examples, tokens
    )
    methods = st.multiselect(
        "Initializers",
        list(INITIALIZERS),
        list(DEFAULT_INITIALIZERS),
        key="initializers_methods",
        bind="query-params",
        help=explain("Initializers"),
    )
    draw_explanations(methods)
    if found is None or found.word is None:
        return
    with mistakes.show_errors():
        cards = _cards(key, materials, found.word, tuple(methods))
        draw_neighbor_cards(cards, word_links.build_links("initializers_token"))
        draw_note(
            "The five nearest tokens by cosine; special tokens are left out. Below the name of each"
            " initializer are the source tokens of the embedding and their weights. Neighbors of"
            " similar meaning are a good sign, but no proof of better scores. Click a token to"
            " select it."
        )


def draw_explanations(names: Sequence[str]) -> None:
    """Explain initializers, one sentence each, with their formulas and sources."""
    lines = (
        f"**{plain(name)}**: {plain(INITIALIZERS[name].about)}"
        f" :small[:gray[{plain(INITIALIZERS[name].formula)} · {plain(INITIALIZERS[name].source)}]]"
        for name in names
    )
    with st.popover("What they do", icon=":material/help:"):
        st.markdown("  \n".join(lines) or "No initializer is selected.")


def _choose_training_text(workspace: Workspace, key: Key) -> Artifact | None:
    """Draw the picker of the text on which token vectors are trained; return it after a click on
    the button, None before.
    """
    corpora = list_texts(workspace)
    if not corpora:
        pickers.draw_empty_state(
            "A bare vocabulary has no token vectors.",
            "They are trained on a text of your domain: import one first.",
            "text",
        )
        return None
    corpus = pickers.pick("Training text", corpora, "initializers_corpus")
    # The vectors are trained on click; another model or text needs another click.
    requested = (*key, str(corpus.folder), corpus.stamp)
    if st.session_state.get("trained") == requested:
        return corpus
    st.markdown("Token vectors are trained on the text first; this can take minutes.")
    if st.button("Train token vectors", type="primary", key="train_tokens"):
        st.session_state["trained"] = requested
        return corpus
    return None


@st.cache_resource(
    max_entries=2,
    show_spinner="Training vectors of the target's tokens …",
    hash_funcs=cache.STAMPS,
)
def _train_token_vectors(corpus: Artifact, target: LanguageModel, dim: int) -> EmbeddingSpace:
    from vocadapt.training.word_vectors import train_token_vectors

    text = read_corpus([corpus.folder])
    settings = Word2VecSettings(dim=dim, workers=1)
    return train_token_vectors(text, target.splitter, target.vocabulary, settings)[0]


@st.cache_resource(max_entries=4, show_spinner="Planning the transfer …")
def _materials(
    key: Key, _model: LanguageModel, _space: EmbeddingSpace, _vocabulary: Vocabulary | None
) -> Materials:
    if _vocabulary is None:
        return build_vector_materials(_model, _space)
    return build_target_materials(_model, _vocabulary, _space)


def _cards(key: Key, materials: Materials, token: str, methods: tuple[str, ...]) -> list[Card]:
    """Build the neighbor lists of a token: in the target space, in the model, and under each
    initializer with the provenance of its embedding.
    """
    # 1. The neighbors of the token in the spaces that contain it, without special tokens.
    space = _leave_out_special_tokens(key, "target", materials.similarity_space)
    model = _leave_out_special_tokens(key, "model", materials.model)
    cards = []
    if token in space:
        name, kind = space.name, "domain"
        if materials.target is not None:
            name = display_model(address.workspace(), name)
            kind = "target"
        cards.append(_build_card("In the target space", name, kind, space, space[token], token))
    if token in model:
        own = "its own embedding"
        cards.append(_build_card("In the model", own, "source", model, model[token], token))
    # 2. The neighbors of its embedding by each initializer, among the tokens of the model.
    for method in methods:
        try:
            embedding, provenance, donors = _initialize(key, method, token, materials)
        except InputError as error:
            # An initializer that cannot initialize this token must not hide the others.
            empty = escape_invisible(str(error))
            cards.append(Card(method, "cannot run", "neutral", [], empty=empty))
            continue
        card = _build_card(method, provenance, "good", model, embedding, token)
        cards.append(replace(card, words=donors))
    return cards


def _build_card(
    title: str, note: str, kind: str, space: EmbeddingSpace, vector: Matrix, token: str
) -> Card:
    """Build the card of the nearest tokens of a vector (dim,) in a space, without `token`."""
    near = list_neighbors(space, vector, LISTED, own=token)
    return Card(title, note, kind, near, random_cosine=cache.random_cosine_of(space))


@st.cache_data(max_entries=256, show_spinner="Computing the embedding …")
def _initialize(
    key: Key, method: str, token: str, _materials: Materials
) -> tuple[Matrix, str, frozenset[str]]:
    """Return the embedding of a token by an initializer, its origin in one line, and its donors."""
    # The alignment of a token of the model must not know it: that one is fitted for each token.
    if INITIALIZERS[method].needs_alignment and token not in _materials.model:
        _materials = replace(_materials, alignment=_fit_alignment(key, _materials))
    if INITIALIZERS[method].fits_map and token in _materials.plan.new_embeddings:
        made = _initialize_all(key, method, _materials)
        row = made.tokens.index(token)
    else:
        made = initialize_token(_materials, token, InitializerSettings(method))
        row = 0
    origin = made.provenance[row]
    donors = frozenset(donor for donor, _ in origin.donors) - {token}
    return made.matrix[row], format_provenance(token, origin), donors


@st.cache_resource(max_entries=2, show_spinner="Fitting the map of all new tokens, once …")
def _initialize_all(key: Key, method: str, _materials: Materials) -> NewEmbeddings:
    return initialize(_materials, InitializerSettings(method))


@st.cache_resource(max_entries=4, show_spinner="Fitting the alignment …")
def _fit_alignment(key: Key, _materials: Materials) -> Alignment:
    """Return the alignment by which new tokens are initialized."""
    return fit_own_alignment(_materials, AlignmentSettings())


# One for each role: each is a copy of a matrix of embeddings.
@st.cache_resource(max_entries=2, show_spinner=False)
def _leave_out_special_tokens(key: Key, role: str, _space: EmbeddingSpace) -> EmbeddingSpace:
    """Return the tokens of a space that a text can contain; role: which space of the transfer."""
    left_out = _space.kinds.special | _space.kinds.placeholders
    if not left_out.intersection(_space.words):
        return _space
    return _space.take([row for row, word in enumerate(_space.words) if word not in left_out])


def draw_own_settings(
    settings: Mapping[str, Any], names: Collection[str], key: str
) -> dict[str, Any]:
    """Draw the inputs of the own settings of these initializers; return the settings by name.

    settings: the initial values, by name; others are at their defaults. key: prefix of the keys of
    the inputs.
    """
    options = {}
    for name in names:
        kind = INITIALIZERS[name].own
        if kind is None:
            continue
        with st.container(border=True):
            st.markdown(f"Settings of **{name}**")
            options[name] = draw_settings(settings.get(name) or kind(), f"{key}_{name}")
    return options
