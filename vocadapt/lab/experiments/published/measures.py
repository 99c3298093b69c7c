"""Values of tables that are computed without training, from vocabularies, weights and texts.

A measure returns a score, or why there is none, for each row and column of a table. It measures with
the data and scorer that the table declares, so the score has these; a text or model that is not the
published one has its own name, so it is not compared.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from functools import partial

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
from vocadapt.vocabulary.overlap import measure_overlap
from vocadapt.vocabulary.plan.reduction import ReductionSettings

Place = tuple[str, str]  # row and column of a cell
Found = Mapping[Place, Score | str]  # a score, or why there is none
ARCHITECTURE = "bert-base-uncased"  # described by the defaults of transformers' BertConfig
MILLION = 1e6
WHOLE = "✓"  # how table 2.1 prints a term that is a single token
HYPHEN = "-"
ABSTRACTS = "abstract"  # in the name of a text of abstracts
DISEASES = "mtl/BC5CDR-disease"
ENDING = "ia"


@dataclass(frozen=True)
class Measure:
    """How the cells of a table are computed without training. needs: "vocabulary", "weights", "text"
    (and a vocabulary), "benchmark", or "" for nothing.
    """

    about: str
    needs: str
    compute: Callable[[PublishedTable, Materials, Progress], Found]


def measure_tokenization(table: PublishedTable, materials: Materials, progress: Progress) -> Found:
    """Tokenize the term of each row by the vocabulary of each column."""
    found: dict[Place, Score | str] = {}
    vocabularies = {one.name: materials.find_vocabulary(one.base_model) for one in table.columns}
    for cell in table.cells:
        if cell.facts.base_model == "none":
            found[cell.row, cell.column] = "a property of the term, not of a vocabulary"
            continue
        opened = vocabularies[cell.column]
        if opened is None:
            found[cell.row, cell.column] = _advise_vocabulary(cell.facts.base_model)
            continue
        vocabulary = opened.model.vocabulary
        tokens: list[str] = []
        for word in opened.model.splitter.words(cell.row):
            tokens += vocabulary.tokenize_word(word)
        shown = HYPHEN.join(map(vocabulary.body, tokens))
        if len(tokens) == 1:
            shown = WHOLE
        found[cell.row, cell.column] = _build_score(cell, shown, opened)
    return found


def measure_common_tokens(table: PublishedTable, materials: Materials, progress: Progress) -> Found:
    """Count the tokens that the vocabularies of row and column have in common."""
    vocabularies = {
        column.name: materials.find_vocabulary(column.base_model) for column in table.columns
    }
    names = {column.name: column.base_model for column in table.columns}
    found: dict[Place, Score | str] = {}
    for cell in table.cells:
        first, second = vocabularies[cell.row], vocabularies[cell.column]
        if first is None or second is None:
            missing = cell.row if first is None else cell.column
            found[cell.row, cell.column] = _advise_vocabulary(names[missing])
            continue
        share = measure_overlap([first.model.vocabulary, second.model.vocabulary]).share[0][1]
        # The cell declares the model of its column; that of its row must be the published one, too.
        weaker = second if first.name == names[cell.row] else first
        found[cell.row, cell.column] = _build_score(cell, share, weaker)
    return found


def measure_cosines(
    table: PublishedTable, materials: Materials, progress: Progress, common: bool
) -> Found:
    """Measure mean cosines of two models' embeddings: of all pairs, or of common tokens."""
    from vocadapt.spaces.diagnostics.statistics import build_cosine_tables

    models, spaces = _open_spaces(table, materials)
    order = list(spaces)
    tables = build_cosine_tables([one.space for one in spaces.values()])
    values = tables.mean_cosine_common if common else tables.mean_cosine
    found: dict[Place, Score | str] = {}
    for cell in table.cells:
        missing = [name for name in (cell.row, cell.column) if name not in spaces]
        if missing:
            found[cell.row, cell.column] = advise_model(_find_base_model(table, missing[0]))
            continue
        value = values[order.index(cell.row)][order.index(cell.column)]
        if value is None:
            found[cell.row, cell.column] = "the two models have different dimensions"
            continue
        weaker = models[cell.column]
        if models[cell.row].name != _find_base_model(table, cell.row):
            weaker = models[cell.row]
        found[cell.row, cell.column] = _build_score(cell, value, weaker)
    return found


def measure_pair_cosines(table: PublishedTable, materials: Materials, progress: Progress) -> Found:
    """Measure the cosine of each row's two words in each model, minus the mean of all pairs."""
    from vocadapt.spaces.diagnostics.relations import compute_pair_cosines
    from vocadapt.spaces.diagnostics.word_lists import Relation

    models, spaces = _open_spaces(table, materials)
    pairs = [_split_pair(row) for row in table.row_names]
    found: dict[Place, Score | str] = {}
    for column in table.column_names:
        if column not in spaces:
            for row in table.row_names:
                found[row, column] = advise_model(_find_base_model(table, column))
            continue
        opened = spaces[column]
        relation = Relation(table.id, "pairs", tuple(pairs))
        cosines = compute_pair_cosines(opened.space, relation, opened.splitter)
        for row, cosine in zip(table.row_names, cosines, strict=True):
            found[row, column] = "one of the words is not a token of the model"
            if cosine.corrected is not None:
                cell = table.grid[row, column]
                found[row, column] = _build_score(cell, cosine.corrected, models[column])
    return found


def measure_parameters(table: PublishedTable, materials: Materials, progress: Progress) -> Found:
    """Compute the fraction of a model's parameters that a smaller vocabulary removes.

    The network is built without weights, from its configuration alone.
    """
    import torch
    from transformers import BertConfig, BertModel

    config = BertConfig()
    with torch.device("meta"):
        network = BertModel(config)
    parameters = sum(one.numel() for one in network.parameters())
    found: dict[Place, Score | str] = {}
    for cell in table.cells:
        if cell.facts.base_model != ARCHITECTURE:
            found[cell.row, cell.column] = f"the configuration of {cell.facts.base_model}"
            continue
        keep = 1 - get_preset(cell.facts.recipe).vocabulary.removed
        part = compute_parameter_fraction(parameters, config.vocab_size, config.hidden_size, keep)
        found[cell.row, cell.column] = _build_score(cell, -part, NamedModel(ARCHITECTURE, ""))
    return found


def measure_growth(table: PublishedTable, materials: Materials, progress: Progress) -> Found:
    """Measure how much longer a smaller vocabulary makes a text of abstracts."""
    found: dict[Place, Score | str] = {}
    reducers: dict[str, NamedReducer | str] = {}
    for number, cell in enumerate(table.cells):
        progress(number / len(table.cells), f"{cell.row}, {cell.column}")
        name = cell.facts.base_model
        if name not in reducers:
            reducers[name] = _open_reducer(name, materials)
        reducer = reducers[name]
        if isinstance(reducer, str):
            found[cell.row, cell.column] = reducer
            continue
        plan = get_preset(cell.facts.recipe).vocabulary
        settings = ReductionSettings(plan.remove_by, 1 - plan.removed, SEEDS[0], plan.count_marks)
        try:
            growth = measure_growth_over_seeds(reducer.reducer, settings, SEEDS)
        except InputError as error:
            found[cell.row, cell.column] = error.problem
            continue
        seeds = len(SEEDS) if growth.sd is not None else 1
        found[cell.row, cell.column] = Score(
            growth.growth,
            seeds,
            _name_text(materials),
            cell.facts.split,
            cell.facts.scorer,
            reducer.vocabulary.name,
            growth.sd,
            remark=reducer.vocabulary.remark,
        )
    return found


def measure_tokens(table: PublishedTable, materials: Materials, progress: Progress) -> Found:
    """Count the tokens of a text of abstracts by each model's vocabulary.

    A cell in percent compares the first two columns.
    """
    columns = [one for one in table.columns if one.unit != "percent"]
    reducers = {one.name: _open_reducer(one.base_model, materials) for one in columns}
    why = next((one for one in reducers.values() if isinstance(one, str)), "")
    found: dict[Place, Score | str] = {}
    for cell in table.cells:
        if why:
            found[cell.row, cell.column] = why
            continue
        counts = [one.reducer.tokens for one in reducers.values() if isinstance(one, NamedReducer)]
        value, reducer = counts[0] / counts[1] - 1, reducers.get(cell.column)
        base_model = cell.facts.base_model
        if isinstance(reducer, NamedReducer):
            value = reducer.reducer.tokens / MILLION
            base_model = reducer.vocabulary.name
        given = (_name_text(materials), cell.facts.split, cell.facts.scorer, base_model)
        found[cell.row, cell.column] = Score(value, 1, *given)
    return found


def read_card_facts(table: PublishedTable, materials: Materials, progress: Progress) -> Found:
    """Compare a description of tasks with the cards of the benchmark."""
    found: dict[Place, Score | str] = {}
    for cell in table.cells:
        card = _find_card(cell)
        values = {
            "Domain": next(
                (one.capitalize() for one in card.groups if one == "clinical"), "PubMed"
            ),
            "Task": card.kind,
            "Metric": card.scorer,
        }
        obstacle = ""
        if cell.column != "Domain":
            obstacle = "our cards have other names for kinds of tasks and for scores"
        found[cell.row, cell.column] = Score(
            values[cell.column] or "not known",
            1,
            cell.facts.data,
            cell.facts.split,
            cell.facts.scorer,
            cell.facts.base_model,
            obstacle=obstacle,
        )
    return found


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


def count_entity_words(table: PublishedTable, materials: Materials, progress: Progress) -> Found:
    """Compute the fraction of the words with an ending that are inside an entity, over all splits."""
    cell = table.cells[0]
    task = materials.find_task(DISEASES)
    if task is None:
        return {(cell.row, cell.column): advise_task(DISEASES)}
    words = [
        (word, tag)
        for split in task.read().splits.values()
        for word, tag in _list_words(split)
        if word.lower().endswith(ENDING)
    ]
    if not words:
        return {(cell.row, cell.column): f"no word of {task.data} ends in -{ENDING}"}
    inside = sum(tag != "O" for _, tag in words) / len(words)
    score = Score(inside, 1, f"{task.data}, occurrences", "all", cell.facts.scorer, "none")
    return {(cell.row, cell.column): score}


def _list_words(split: Split) -> list[tuple[str, str]]:
    """Return each word of tagged sentences with its tag."""
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
    """A reducer, and the vocabulary that it reduces."""

    vocabulary: NamedVocabulary
    reducer: Reducer


def _open_reducer(name: str, materials: Materials) -> NamedReducer | str:
    """Return a reducer of a vocabulary on the text of abstracts, or what is missing."""
    opened = materials.find_vocabulary(name)
    if opened is None:
        return _advise_vocabulary(name)
    text = materials.find_text(ABSTRACTS)
    if text is None:
        return (
            f'a text of PubMed abstracts (a file with "{ABSTRACTS}" in its name, in a folder text)'
        )
    root = materials.workspace.root if materials.workspace else None
    counts = load_or_count_words(root, read_corpus([text]), opened.model.splitter)
    return NamedReducer(opened, Reducer(opened.model.vocabulary, counts.counts))


def _name_text(materials: Materials) -> str:
    text = materials.find_text(ABSTRACTS)
    return f"all lines of {text.name}" if text else ""


def _advise_vocabulary(name: str) -> str:
    return f"the vocabulary of {shorten_name(name)} (a vocab.txt named after it, in a folder vocab)"


def _find_base_model(table: PublishedTable, column: str) -> str:
    return next(one.base_model for one in table.columns if one.name == column)


def _split_pair(row: str) -> tuple[str, str]:
    first, _, second = row.partition(", ")
    return first, second


def _build_score(cell: PublishedCell, value: Value, model: NamedModel | NamedVocabulary) -> Score:
    """Return a score with the data, split and scorer that the table declares."""
    facts = cell.facts
    given = (facts.data, facts.split, facts.scorer, model.name)
    return Score(value, 1, *given, remark=model.remark)


MEASURES: dict[str, Measure] = {
    "tokenization": Measure(
        "tokenize the terms by each vocabulary", "vocabulary", measure_tokenization
    ),
    "overlap": Measure("compare the vocabularies", "vocabulary", measure_common_tokens),
    "mean cosine": Measure(
        "measure the cosines of all tokens", "weights", partial(measure_cosines, common=False)
    ),
    "common cosine": Measure(
        "measure the cosines of common tokens", "weights", partial(measure_cosines, common=True)
    ),
    "pair cosine": Measure("measure the cosines of the pairs", "weights", measure_pair_cosines),
    "parameters": Measure("count the parameters of the network", "", measure_parameters),
    "growth": Measure("count tokens with smaller vocabularies", "text", measure_growth),
    "tokens": Measure("count the tokens of a text", "text", measure_tokens),
    "cards": Measure("read the cards of the benchmark", "", read_card_facts),
    "entity words": Measure("count words inside entities", "benchmark", count_entity_words),
}
