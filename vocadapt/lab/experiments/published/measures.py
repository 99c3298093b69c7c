"""Values of tables that are computed without training, from vocabularies, weights and texts.

A measure opens what the cells of a table need, and returns the function that scores a cell. It
measures with the data and scorer that the table declares, so the score has these; a text or model
that is not the published one has its own name, so it is not compared.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache, partial

from vocadapt.errors import InputError
from vocadapt.lab.experiments.published.materials import (
    Materials,
    NamedModel,
    NamedVocabulary,
    advise_model,
    advise_task,
)
from vocadapt.lab.inputs.corpora import load_or_count_words, read_corpus
from vocadapt.lab.inputs.open_space import OpenedSpace, open_space
from vocadapt.presets import get_preset
from vocadapt.progress import Progress
from vocadapt.published.base_models import shorten_name
from vocadapt.published.comparison import Score
from vocadapt.published.tables import PublishedCell, PublishedTable, Value
from vocadapt.training.examples.examples import Split
from vocadapt.training.tasks.benchmarks import Card, cards
from vocadapt.vocabulary.growth.growth import (
    SEEDS,
    Reducer,
    compute_parameter_fraction,
    measure_growth_over_seeds,
)
from vocadapt.vocabulary.overlap import compute_overlap, count_common_tokens
from vocadapt.vocabulary.plan.reduction import ReductionSettings

Place = tuple[str, str]  # row and column of a cell
Found = dict[Place, Score | str]  # a score, or why there is none
ScoreCell = Callable[[PublishedCell], Score]  # raises InputError if there is no score
ARCHITECTURE = "bert-base-uncased"  # described by the defaults of transformers' BertConfig
MILLION = 1e6
WHOLE = "✓"  # how table 2.1 prints a term that is a single token
HYPHEN = "-"
ABSTRACTS = "abstract"  # in the name of a text of abstracts
DISEASES = "mtl/BC5CDR-disease"
ENDING = "ia"
PERCENT = "percent"  # unit of a cell that compares the first two columns


@dataclass(frozen=True)
class Measure:
    """How the cells of a table are computed without training. needs: "vocabulary", "weights",
    "text" (and a vocabulary), "benchmark", or "" for nothing.
    """

    about: str
    needs: str
    prepare: Callable[[PublishedTable, Materials], ScoreCell]


def measure_cells(table: PublishedTable, materials: Materials, progress: Progress) -> Found:
    """Score the cells of a table without training, or state what is missing for it."""
    found: Found = dict(find_missing(table, materials))
    score_cell = MEASURES[table.method].prepare(table, materials)
    for number, cell in enumerate(table.cells):
        progress(number / len(table.cells), f"{cell.row}, {cell.column}")
        place = cell.row, cell.column
        if place in found:
            continue
        try:
            found[place] = score_cell(cell)
        except InputError as error:
            found[place] = error.problem
    return found


def open_tokenization(table: PublishedTable, materials: Materials) -> ScoreCell:
    """Tokenize the term of each row by the vocabulary of each column."""
    vocabularies = _find_vocabularies(table, materials)

    def score_cell(cell: PublishedCell) -> Score:
        opened = vocabularies[cell.column]
        vocabulary = opened.model.vocabulary
        tokens: list[str] = []
        for word in opened.model.splitter.words(cell.row):
            tokens += vocabulary.tokenize_word(word)
        shown = HYPHEN.join(map(vocabulary.body, tokens))
        if len(tokens) == 1:
            shown = WHOLE
        return _build_score(cell, shown, opened)

    return score_cell


def open_common_tokens(table: PublishedTable, materials: Materials) -> ScoreCell:
    """Count the tokens that the vocabularies of row and column have in common."""
    vocabularies = _find_vocabularies(table, materials)

    def score_cell(cell: PublishedCell) -> Score:
        first = vocabularies[cell.row]
        second = vocabularies[cell.column]
        common = count_common_tokens([first.model.vocabulary, second.model.vocabulary])
        share = compute_overlap(common)[0][1]
        # The cell declares the model of its column; that of its row must be the published one, too.
        weaker = second if first.name == _find_base_model(table, cell.row) else first
        return _build_score(cell, share, weaker)

    return score_cell


def open_cosines(table: PublishedTable, materials: Materials, common: bool) -> ScoreCell:
    """Measure mean cosines of two models' embeddings: of all pairs, or of common tokens."""
    from vocadapt.spaces.diagnostics.statistics import build_cosine_tables

    models, spaces = _open_spaces(table, materials)
    order = list(spaces)
    tables = build_cosine_tables([one.space for one in spaces.values()])
    values = tables.mean_cosine_common if common else tables.mean_cosine

    def score_cell(cell: PublishedCell) -> Score:
        value = values[order.index(cell.row)][order.index(cell.column)]
        if value is None:
            raise InputError("the two models have different dimensions")
        weaker = models[cell.column]
        if models[cell.row].name != _find_base_model(table, cell.row):
            weaker = models[cell.row]
        return _build_score(cell, value, weaker)

    return score_cell


def open_pair_cosines(table: PublishedTable, materials: Materials) -> ScoreCell:
    """Measure the cosine of each row's two words in each model, minus the mean of all pairs."""
    from vocadapt.spaces.diagnostics.relations import compute_pair_cosines
    from vocadapt.spaces.diagnostics.word_lists import Relation

    models, spaces = _open_spaces(table, materials)
    named = [row.partition(", ") for row in table.row_names]
    relation = Relation(table.id, "pairs", tuple((first, second) for first, _, second in named))
    cosines = {
        column: compute_pair_cosines(opened.space, relation, opened.splitter)
        for column, opened in spaces.items()
    }

    def score_cell(cell: PublishedCell) -> Score:
        cosine = cosines[cell.column][table.row_names.index(cell.row)].corrected
        if cosine is None:
            raise InputError("one of the words is not a token of the model")
        return _build_score(cell, cosine, models[cell.column])

    return score_cell


def open_parameters(table: PublishedTable, materials: Materials) -> ScoreCell:
    """Compute the fraction of a model's parameters that a smaller vocabulary removes.

    The network is built without weights, from its configuration alone.
    """
    import torch
    from transformers import BertConfig, BertModel

    config = BertConfig()
    with torch.device("meta"):
        network = BertModel(config)
    parameters = sum(one.numel() for one in network.parameters())

    def score_cell(cell: PublishedCell) -> Score:
        if cell.facts.base_model != ARCHITECTURE:
            raise InputError(f"the configuration of {cell.facts.base_model}")
        keep = 1 - get_preset(cell.facts.recipe).vocabulary.removed
        part = compute_parameter_fraction(parameters, config.vocab_size, config.hidden_size, keep)
        return _build_score(cell, -part, NamedModel(ARCHITECTURE, ""))

    return score_cell


def open_growth(table: PublishedTable, materials: Materials) -> ScoreCell:
    """Measure how much longer a smaller vocabulary makes a text of abstracts."""
    open_reducer = cache(partial(_open_reducer, materials=materials))

    def score_cell(cell: PublishedCell) -> Score:
        reducer = open_reducer(cell.facts.base_model)
        plan = get_preset(cell.facts.recipe).vocabulary
        settings = ReductionSettings(plan.remove_by, 1 - plan.removed, SEEDS[0], plan.count_marks)
        growth = measure_growth_over_seeds(reducer.reducer, settings, SEEDS)
        return Score(
            growth.growth,
            len(SEEDS) if growth.sd is not None else 1,
            reducer.text,
            cell.facts.split,
            cell.facts.scorer,
            reducer.vocabulary.name,
            growth.sd,
            remark=reducer.vocabulary.remark,
        )

    return score_cell


def open_tokens(table: PublishedTable, materials: Materials) -> ScoreCell:
    """Count the tokens of a text of abstracts by each model's vocabulary.

    A cell in percent compares the first two columns.
    """
    open_reducer = cache(partial(_open_reducer, materials=materials))

    def score_cell(cell: PublishedCell) -> Score:
        if cell.facts.unit == PERCENT:
            first, second = (open_reducer(one.base_model) for one in table.columns[:2])
            value = first.reducer.tokens / second.reducer.tokens - 1
            base_model = cell.facts.base_model
        else:
            first = open_reducer(_find_base_model(table, cell.column))
            value = first.reducer.tokens / MILLION
            base_model = first.vocabulary.name
        return Score(value, 1, first.text, cell.facts.split, cell.facts.scorer, base_model)

    return score_cell


def open_card_facts(table: PublishedTable, materials: Materials) -> ScoreCell:
    """Compare a description of tasks with the cards of the benchmark."""

    def score_cell(cell: PublishedCell) -> Score:
        card = _find_card(cell)
        values = {
            "Domain": "Clinical" if "clinical" in card.groups else "PubMed",
            "Task": card.kind,
            "Metric": card.scorer,
        }
        obstacle = ""
        if cell.column != "Domain":
            obstacle = "our cards have other names for kinds of tasks and for scores"
        return Score(
            values[cell.column] or "not known",
            1,
            cell.facts.data,
            cell.facts.split,
            cell.facts.scorer,
            cell.facts.base_model,
            obstacle=obstacle,
        )

    return score_cell


def _find_card(cell: PublishedCell) -> Card:
    """Return the card whose name is nearest to a row, which may be spelled in another way."""
    names = {
        _simplify(card.name.partition("/")[2]): card
        for card in cards().values()
        if card.family == cell.facts.data
    }
    return names[get_close_matches(_simplify(cell.row), names, n=1, cutoff=0.5)[0]]


def _simplify(name: str) -> str:
    return name.lower().replace("-", "")


def open_entity_words(table: PublishedTable, materials: Materials) -> ScoreCell:
    """Compute the fraction of the words with an ending that are inside an entity, in all splits."""

    def score_cell(cell: PublishedCell) -> Score:
        task = materials.find_task(DISEASES)
        assert task is not None
        words = [
            (word, tag)
            for split in task.read().splits.values()
            for word, tag in _list_words(split)
            if word.lower().endswith(ENDING)
        ]
        if not words:
            raise InputError(f"no word of {task.data} ends in -{ENDING}")
        inside = sum(tag != "O" for _, tag in words) / len(words)
        data = f"{task.data}, occurrences"
        return Score(inside, 1, data, "all", cell.facts.scorer, "none")

    return score_cell


def _list_words(split: Split) -> list[tuple[str, str]]:
    words = []
    for one in split.examples:
        words += list(zip(one.full_text.split(), one.gold or (), strict=True))
    return words


def _open_spaces(
    table: PublishedTable, materials: Materials
) -> tuple[dict[str, NamedModel], dict[str, OpenedSpace]]:
    """Open the token embeddings of each column's model; only the first may be a stand-in."""
    models = {}
    for number, column in enumerate(table.columns):
        model = materials.find_model(column.base_model, stand_in=number == 0)
        if model is not None:
            models[column.name] = model
    return models, {name: open_space(model.folder, True) for name, model in models.items()}


@dataclass(frozen=True)
class NamedReducer:
    """A reducer, the vocabulary that it reduces, and the name of the text that it counts."""

    vocabulary: NamedVocabulary
    reducer: Reducer
    text: str


def _open_reducer(name: str, materials: Materials) -> NamedReducer:
    """Return a reducer of a vocabulary on the text of abstracts; raise InputError without one."""
    opened = materials.find_vocabulary(name)
    text = materials.find_text(ABSTRACTS)
    if opened is None or text is None:
        raise InputError(_find_missing_material("text", name, materials, False))
    root = materials.workspace.root if materials.workspace else None
    counts = load_or_count_words(root, read_corpus([text]), opened.model.splitter)
    reducer = Reducer(opened.model.vocabulary, counts.counts)
    return NamedReducer(opened, reducer, f"all lines of {text.name}")


def _find_vocabularies(table: PublishedTable, materials: Materials) -> dict[str, NamedVocabulary]:
    found = {one.name: materials.find_vocabulary(one.base_model) for one in table.columns}
    return {name: opened for name, opened in found.items() if opened is not None}


def _find_base_model(table: PublishedTable, column: str) -> str:
    return next(one.base_model for one in table.columns if one.name == column)


def _build_score(cell: PublishedCell, value: Value, model: NamedModel | NamedVocabulary) -> Score:
    """Return a score with the data, split and scorer that the table declares."""
    facts = cell.facts
    given = (facts.data, facts.split, facts.scorer, model.name)
    return Score(value, 1, *given, remark=model.remark)


MEASURES: dict[str, Measure] = {
    "tokenization": Measure(
        "tokenize the terms by each vocabulary", "vocabulary", open_tokenization
    ),
    "overlap": Measure("compare the vocabularies", "vocabulary", open_common_tokens),
    "mean cosine": Measure(
        "measure the cosines of all tokens", "weights", partial(open_cosines, common=False)
    ),
    "common cosine": Measure(
        "measure the cosines of common tokens", "weights", partial(open_cosines, common=True)
    ),
    "pair cosine": Measure("measure the cosines of the pairs", "weights", open_pair_cosines),
    "parameters": Measure("count the parameters of the network", "", open_parameters),
    "growth": Measure("count tokens with smaller vocabularies", "text", open_growth),
    "tokens": Measure("count the tokens of a text", "text", open_tokens),
    "cards": Measure("read the cards of the benchmark", "", open_card_facts),
    "entity words": Measure("count words inside entities", "benchmark", open_entity_words),
}


def find_missing(table: PublishedTable, materials: Materials) -> dict[Place, str]:
    """Return (row, column) → what is missing, for the cells of a table without training."""
    needs = MEASURES[table.method].needs
    bases = {column.name: column.base_model for column in table.columns}
    known: dict[str, str] = {}
    missing = {}
    for cell in table.cells:
        models = _list_models(cell, bases)
        for name in models:
            if name not in known:
                stand_in = name == table.columns[0].base_model
                known[name] = _find_missing_material(needs, name, materials, stand_in)
        lacking = [known[name] for name in models if known[name]]
        if lacking:
            missing[cell.row, cell.column] = lacking[0]
    return missing


def _list_models(cell: PublishedCell, bases: dict[str, str]) -> Sequence[str]:
    """Return the models of a cell: that of its column, and of its row if rows are models."""
    return (*filter(None, [bases.get(cell.row)]), cell.facts.base_model)


def _find_missing_material(needs: str, name: str, materials: Materials, stand_in: bool) -> str:
    """Return what is missing of a model; "" for nothing."""
    if needs == "benchmark" and materials.find_task(DISEASES) is None:
        return advise_task(DISEASES)
    if needs == "weights" and materials.find_model(name, stand_in) is None:
        return advise_model(name)
    if needs == "text" and materials.find_text(ABSTRACTS) is None:
        return (
            f'a text of PubMed abstracts (a file with "{ABSTRACTS}" in its name, in a folder text)'
        )
    if needs in ("vocabulary", "text"):
        if name == "none":
            return "a property of the term, not of a vocabulary"
        if materials.find_vocabulary(name) is None:
            return f"the vocabulary of {shorten_name(name)}"
    return ""
