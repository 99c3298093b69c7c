"""Parts of the initialisers page: what is transferred, the leaderboard, and one token under every initialiser."""

import json
import shlex
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import streamlit as st

from vocadapt.analysis import figures
from vocadapt.analysis.leaderboard import FLOORS, Leaderboard, LeaderboardSettings, compare_initialisers, made_for
from vocadapt.analysis.leaderboard import estimate_seconds as estimate
from vocadapt.analysis.transfer import materials_from_target, materials_from_vectors
from vocadapt.errors import InputError
from vocadapt.lab.commands import PROGRAM
from vocadapt.lab.corpora import read_corpus
from vocadapt.lab.workspace import Artefact, Workspace
from vocadapt.models.language_model import LanguageModel
from vocadapt.spaces.nearest import nearest
from vocadapt.spaces.space import EmbeddingSpace, Matrix
from vocadapt.spaces.word2vec import Word2VecSettings, estimate_seconds
from vocadapt.text.corpus import Corpus
from vocadapt.text.words import WordCounts
from vocadapt.ui import cache, choose, mistakes, probe
from vocadapt.ui.export import tsv
from vocadapt.ui.markup import Card, neighbour_cards, visible
from vocadapt.ui.numbers import count, duration, fraction
from vocadapt.vocabulary.initialise import INITIALISERS, Materials, RowSettings, provenance_line
from vocadapt.vocabulary.wordpiece import Vocabulary

SHOWN = ("syntactic", "semantic", "aligned")  # under which a token is looked at first
MEANS = ("centred cosine", "P@1", "MRR", "length ratio")
Key = tuple[str, ...]
HELP = {
    "target": "Word vectors or a model of this workspace, or type the folder of another model, or a bare vocab.txt: vectors of "
    "its tokens are then trained on a text.",
    "new": "Tokens that the model lacks: each needs a row.",
    "common": "Tokens that both have. They keep their rows, and new rows are made of them: they are the donors.",
    "width": "Numbers in a vector of the target, and in a row of the model.",
    "centred cosine": "How alike the made row and the true one are, both less the mean row. 1: equal; 0: nothing in common.",
    "P@1": "Share of hidden tokens whose true row is the nearest of all to the made one.",
    "MRR": "Mean of 1 / rank of the true row: 1 is always first.",
    "median rank": "Half of the true rows come nearer than this place.",
    "length ratio": "Length of the made rows by that of the model's own. 1 is as long.",
    "kept": "How many of a token's nearest neighbours in the target are near its new row in the model, too.",
    "filled otherwise": "Rows that the initialiser could not make: another one did.",
}


@dataclass(frozen=True, eq=False)
class Transfer:
    """What initialisers draw on, its key between reruns, and the command line that draws on the same."""

    key: Key
    materials: Materials
    command: tuple[str, ...]


def targets(workspace: Workspace) -> dict[str, Artefact]:
    """What rows can be transferred from: word vectors and models of the workspace, by the name they are shown under."""
    found = {f"word vectors · {artefact.name}": artefact for artefact in workspace.artefacts("vectors")}
    return found | {f"model · {artefact.name}": artefact for artefact in workspace.artefacts("models")}


def transfer(workspace: Workspace, name: str, target: Artefact | str) -> Transfer | None:
    """What initialisers draw on, kept between reruns; None while a bare vocabulary waits for the text it is to be trained on.

    Raises InputError where nothing is new to the model.
    """
    base = cache.model_of(name)
    command = [*PROGRAM, "initialisers", "--model", str(base.path)]
    key: Key = (str(base.path), cache.model_stamp(name))
    if isinstance(target, Artefact) and _is_vectors(target):
        key = (*key, str(target.folder), target.stamp)
        return Transfer(key, _materials(key, base, cache.space_of(target), None), (*command, "--vectors", str(target.folder)))
    given = str(target.folder) if isinstance(target, Artefact) else target
    other = cache.model_of(given)
    command, key = [*command, "--target", str(other.path)], (*key, given, cache.model_stamp(given))
    if other.path.is_dir():
        return Transfer(key, _materials(key, base, other.space, other.vocabulary), tuple(command))
    corpus = _text_for(workspace, base, given, key)
    if corpus is None:
        return None
    key = (*key, str(corpus.folder), corpus.stamp)
    space = _token_space(key, read_corpus([corpus.folder]), other, Word2VecSettings(dim=base.dim))
    materials = _materials(key, base, space, other.vocabulary)
    return Transfer(key, materials, (*command, "--corpus", str(corpus.folder)))


def headline(materials: Materials) -> None:
    """The transfer in figures."""
    columns = st.columns(3)
    columns[0].metric("New tokens", count(len(materials.plan.new_rows)), help=HELP["new"])
    columns[1].metric("Common tokens", count(len(materials.donors)), help=HELP["common"])
    columns[2].metric("Width", f"{materials.similar.dim} → {materials.model.dim}", help=HELP["width"])


def leaderboard(transfer: Transfer) -> None:
    """The comparison behind its button, since it takes a while; then picture, verdict and table."""
    key, materials = transfer.key, transfer.materials
    st.subheader("Before any training: which rows are right?")
    st.markdown(
        "*Held out*: some common tokens are hidden, made anew as if the model lacked them, and compared with the rows they truly "
        "have. *Floors* know nothing of a token (the mean row, a random one): what is not above them has learned nothing."
    )
    with st.container(horizontal=True, vertical_alignment="bottom"):
        about = "0: 500, or a quarter of the common tokens."
        hidden = int(st.number_input("Tokens to hide", 0, 5000, 0, step=100, key="hidden", bind="query-params", help=about))
        seed = int(st.number_input("Seed", 0, 1_000_000, 1, key="seed", bind="query-params"))
        matched = st.toggle("Norm-matched too", key="matched", bind="query-params", help="Also at the old rows' median length.")
    settings = LeaderboardSettings(held_out=hidden, seed=seed, norm_matched=matched)
    asked = (*key, str(settings))
    if st.session_state.get("compared") != asked:
        st.markdown(f"{len(INITIALISERS)} initialisers take about {duration(estimate(materials, settings))}.")
        if not st.button("Compare the initialisers", type="primary", icon=":material/leaderboard:", key="compare"):
            return
    with mistakes.shown():
        board = _board(asked, settings, materials)
        st.session_state["compared"] = asked
        _standings(board)
        _export(board, settings, transfer.command)


@st.fragment
def token_inspector(transfer: Transfer) -> None:
    """Table 6.11 of the thesis for any token: its neighbours in the target space, in the model, and under each initialiser."""
    st.subheader("One token under each initialiser")
    key, materials = transfer.key, transfer.materials
    space = materials.similar
    examples = [t for t in materials.plan.new_rows if t in space and len(t) > 5 and t.isalpha()][: probe.EXAMPLES]
    token = probe.ask_for_word("token", "Type a token of the target", examples)
    methods = st.multiselect("Initialisers", list(INITIALISERS), list(SHOWN), key="methods", bind="query-params")
    if not token:
        return
    with mistakes.shown():
        if token not in space and token not in materials.model:
            raise InputError(f"{token[:60]!r} is neither in the target space nor in the model.", "Try another, or an example.")
        neighbour_cards(_cards(key, materials, token, tuple(methods)))
        st.markdown(
            ":small[:gray[The 5 nearest tokens, by cosine. Under each initialiser's name: what its row is made of (its donors "
            "and their weights). A good row has neighbours of the same meaning.]]"
        )


def _is_vectors(target: Artefact) -> bool:
    return target.folder.parent.name == "vectors"


def _text_for(workspace: Workspace, base: LanguageModel, target: str, key: Key) -> Artefact | None:
    """The text that vectors of a bare vocabulary's tokens are trained on; None until there is one and the button was pressed."""
    corpora = workspace.artefacts("corpora")
    if not corpora:
        choose.nothing_yet(
            "A bare vocabulary has no vectors of its tokens.", "They are trained on a text of your domain: take one in first.",
            "pages/words/vectors.py", "Take in a text",
        )  # fmt: skip
        return None
    corpus = choose.pick("Text that vectors of its tokens are trained on", corpora, "corpus")
    asked = (*key, str(corpus.folder), corpus.stamp)
    if st.session_state.get("trained") != asked:
        counts = cache.words_of(corpus, cache.model_of(target).splitter, workspace.root)
        settings = Word2VecSettings(dim=base.dim)
        about = f"about {duration(estimate_seconds(WordCounts(counts, 0, 0), settings))}" if counts else "some minutes"
        st.markdown(f"A vocabulary alone says nothing of what its tokens mean: that is learned from the text, in {about}.")
        if not st.button("Train vectors of its tokens", type="primary", icon=":material/scatter_plot:", key="train_tokens"):
            return None
        st.session_state["trained"] = asked
    return corpus


@st.cache_resource(max_entries=2, show_spinner="Training vectors of the target's tokens …")
def _token_space(key: Key, _corpus: Corpus, _target: LanguageModel, _settings: Word2VecSettings) -> EmbeddingSpace:
    from vocadapt.training.token_space import token_space

    return token_space(_corpus, _target.splitter, _target.vocabulary, _settings)[0]


@st.cache_resource(max_entries=4, show_spinner="Planning the transfer …")
def _materials(key: Key, _model: LanguageModel, _space: EmbeddingSpace, _vocabulary: Vocabulary | None) -> Materials:
    return materials_from_target(_model, _vocabulary, _space) if _vocabulary else materials_from_vectors(_model, _space)


@st.cache_resource(max_entries=8, show_spinner="Comparing the initialisers …")
def _board(key: Key, settings: LeaderboardSettings, _materials: Materials) -> Leaderboard:
    return compare_initialisers(_materials, settings)


def _standings(board: Leaderboard) -> None:
    """The picture, the verdict and the table, with n, candidates and chance."""
    st.markdown(f"**{visible(board.verdict)}**")
    names, cosines = [row.initialiser for row in board.rows], [row.centred_cosine for row in board.rows]
    kept = f"neighbours kept, of {board.k}"
    errors, floors = [2 * row.standard_error for row in board.rows], [row.initialiser in FLOORS for row in board.rows]
    st.plotly_chart(figures.leaderboard(names, cosines, errors, floors), key="board", config={"displayModeBar": False})
    st.dataframe(
        {
            "initialiser": [f"{row.initialiser} (floor)" if row.floor else row.initialiser for row in board.rows],
            "centred cosine": cosines, "P@1": [row.p1 for row in board.rows], "MRR": [row.mrr for row in board.rows],
            "median rank": [row.median_rank for row in board.rows], "length ratio": [row.norm_ratio for row in board.rows],
            kept: [row.neighbour_overlap for row in board.rows],
            "filled otherwise": [row.fallbacks for row in board.rows],
        },
        column_config={
            **{name: st.column_config.NumberColumn(format="%.3f", help=HELP[name]) for name in MEANS},
            kept: st.column_config.NumberColumn(format="%.3f", help=HELP["kept"]),
            **{name: st.column_config.NumberColumn(help=HELP[name]) for name in ("median rank", "filled otherwise")},
        },
        hide_index=True, key="standings",
    )  # fmt: skip
    st.markdown(
        f":small[:gray[{count(len(board.hidden))} of {count(board.of)} common tokens hidden; their true rows among "
        f"{count(board.candidates)}, chance P@1 {fraction(board.chance['p@1'])}, MRR {fraction(board.chance['mrr'])}. Lengths "
        f"and neighbours of {count(board.judged)} of {count(board.added)} new tokens, among {count(board.neighbour_candidates)}. "
        "Whiskers: ± 2 standard errors.]]"
    )
    for name, why in board.skipped.items():
        st.markdown(f":small[Not in the table: {name}.] :small[:gray[{why}]]")


def _export(board: Leaderboard, settings: LeaderboardSettings, command: Sequence[str]) -> None:
    line = [*command, "--held-out", str(len(board.hidden)), "--seed", str(settings.seed)]
    rows = [row.to_dict() for row in board.rows]
    with st.expander("Details & export", icon=":material/data_object:"):
        st.markdown("The same comparison in a terminal; with `--text` it also asks for the masked-word loss")
        st.code(shlex.join([*line, *(["--norm-matched"] if settings.norm_matched else [])]), language="bash", wrap_lines=True)
        with st.container(horizontal=True):
            make = {
                "leaderboard.tsv": lambda: tsv(tuple(rows[0]), [tuple(row.values()) for row in rows]),
                "leaderboard.json": lambda: json.dumps(board.to_dict(), indent=1),
            }
            for name, content in make.items():
                st.download_button(name, content, name, on_click="ignore", icon=":material/download:", key=f"get_{name}")


def _cards(key: Key, materials: Materials, token: str, methods: tuple[str, ...]) -> list[Card]:
    """The lists of a token: target space, model, each initialiser with what its row is made of."""
    space, model = materials.similar, materials.model
    cards, kind = [], "domain" if materials.target is None else "target"
    if token in space:
        cards.append(Card("In the target space", visible(space.name), kind, _near(space, space[token], token)))
    if token in model:
        cards.append(Card("In the model", "its own row", "source", _near(model, model[token], token)))
    for method in methods:
        try:
            row, line = _row(key, method, token, materials)
        except InputError as error:
            cards.append(Card(method, "cannot run", "null", [], empty=visible(str(error))))
            continue
        cards.append(Card(method, visible(line), "good", _near(model, row, token), told=True))
    return cards


@st.cache_data(max_entries=256, show_spinner="Making its row …")
def _row(key: Key, method: str, token: str, _materials: Materials) -> tuple[Matrix, str]:
    rows = made_for(_materials, token, RowSettings(method))
    return rows.matrix[0], provenance_line(token, rows.provenance[0])


def _near(space: EmbeddingSpace, vector: Matrix, token: str, k: int = 5) -> list[tuple[str, float]]:
    own = np.array([space.index.get(token, -1)])
    found = nearest(vector[None], space, k, leave_out=own)
    return [(space.words[i], float(score)) for i, score in zip(found.rows[0], found.scores[0], strict=True)]
