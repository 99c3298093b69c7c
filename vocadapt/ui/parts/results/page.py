"""The part Results: compare the runs of a task with a selected baseline, and test the differences."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from functools import partial

import streamlit as st

from vocadapt.analysis.comparison import BASELINE, MIN_SEEDS, Difference
from vocadapt.analysis.figures import training
from vocadapt.analysis.results.fair_pairs import FairPair, Side, list_other_settings
from vocadapt.analysis.results.results import (
    COLLAPSED,
    RunStanding,
    TaskLeaderboard,
    build_group_table,
    build_mean_column,
)
from vocadapt.analysis.results.results import Side as BaselineSide
from vocadapt.lab.experiments.studies import merged
from vocadapt.lab.results.leaderboards import GroupMeans, Results, build_results
from vocadapt.lab.results.runs import (
    RunSet,
    find_fair_pair,
    find_remark,
    list_names_by_age,
    list_tasks,
)
from vocadapt.lab.workspace.workspace import Workspace
from vocadapt.report.csv_files import write_csv
from vocadapt.report.formats import MIN_EXACT_P, format_metric_name, format_p_value, format_points
from vocadapt.report.formats import format_fraction as score
from vocadapt.report.latex import write_latex
from vocadapt.report.markdown import write_markdown
from vocadapt.report.table import Column, Table
from vocadapt.training.tasks.kinds import TaskKind
from vocadapt.ui.components import curves, pickers
from vocadapt.ui.components.blocks import (
    draw_command,
    draw_downloads,
    draw_figure,
    draw_heading,
    draw_metric,
    draw_metrics,
    draw_note,
    draw_task_remark,
    open_details,
)
from vocadapt.ui.components.glossary import explain
from vocadapt.ui.components.tables import draw_report
from vocadapt.ui.parts.finetune.result import describe_model_and_task, describe_training, draw_runs
from vocadapt.ui.parts.results import compared_settings, confusion
from vocadapt.ui.state import address, cache
from vocadapt.ui.state.names import display_label, list_display_names
from vocadapt.ui.text.markup import escape_invisible, format_sentence, plain
from vocadapt.ui.text.number_formats import count, count_noun

MOST_COMPARED = 40  # runs that are compared at first; a hundred take seconds
COMPARE_ALL = "results_all"  # session key: whether all runs of a task are compared
HELP = {
    "all": f"Compares all runs instead of the newest {MOST_COMPARED}; takes longer.",
    "baseline": "Selects the run and tokenization that all others are compared with.",
    "score": (
        "Selects another score of the same predictions. Its exact definition is shown below"
        " the table."
    ),
}


def draw(workspace: Workspace) -> None:
    """Draw the leaderboard of a task, its curves, confusion matrix and settings."""
    pickers.warn_of_unreadable_runs(workspace)
    runs = [one for one in cache.load_runs(workspace) if one.tokenizations]
    if not runs:
        pickers.draw_empty_state(
            "There is no scored run in this workspace yet.",
            "Fine-tune a model on a task with a labeled test split, preferably with five seeds."
            " This page shows the scores, and the difference between two or more models.",
            "finetune",
            "Fine-tune a model",
        )
        return

    if merged.is_study(workspace):
        _draw_study_link()
        cells = runs
        runs = merged.merge_seeds(runs)
        _draw_cell(workspace, cells, runs)
    # 1. Task, baseline and score.
    names = list_display_names(workspace, "runs")
    with st.container(horizontal=True, vertical_alignment="bottom"):
        tasks = list_tasks(runs)
        fair = find_fair_pair(runs)
        task = pickers.pick_name("Task", tasks, "results_task", fair.task if fair else tasks[0])
        own = [one for one in runs if one.task == task]
        pair = find_fair_pair(own)
        baseline = pick_baseline(own, pair, names)
        scorer = pick_score(own[0].kind)
    # 2. The models compared with the baseline, then over all tasks if there are several.
    compared = pick_compared(own, list_sides(pair, baseline))
    board = compute_results(compared, baseline, scorer).tasks[0]
    models = list_display_names(workspace)
    _draw_task(own, board, baseline, names, models)
    if len({one.task for one in runs}) > 1:
        draw_group_means(runs, models)
    draw_details(workspace, board, scorer)


def _draw_task(
    runs: Sequence[RunSet],
    board: TaskLeaderboard,
    baseline: Side | None,
    names: Mapping[str, str],
    models: Mapping[str, str],
) -> None:
    """Draw the comparison of the runs of a task; those with other settings than the baseline are
    folded.

    names, models: display names of runs and of models.
    """
    # 1. The leaderboard.
    pair = find_fair_pair(runs)
    sides = list_sides(pair, baseline)
    others = list_other_settings([one.description for one in runs], sides)
    same, folded = split_by_settings(board, others)
    shown = apply_display_names(same, names, models)
    draw_headline(shown)
    draw_task_remark(find_remark(runs))
    draw_leaderboard(shown, [names.get(name, name) for name in list_names_by_age(runs)])
    draw_other_settings(apply_display_names(folded, names, models))
    # 2. Curves, confusion matrix and settings.
    first = [one.name for one in runs if one.name not in others]
    curves.draw_curves(runs, runs[0].metric, names, first)
    confused = pickers.find_run_of_side(runs, pair.compared, pair.seeds) if pair else None
    confusion.draw_confusion(board.task, baseline, confused.name if confused else "")
    if len(runs) > 1:
        compared_settings.draw_settings(runs, sides, names, models)


def _draw_cell(workspace: Workspace, cells: Sequence[RunSet], rows: Sequence[RunSet]) -> None:
    """Draw the run of one cell of a study, selected in the grid of the study or here.

    cells: runs of all cells. rows: the same, merged by variant and task.
    """
    labels = {one.name: merged.describe_cell(one.name, one.seeds) for one in cells}
    with st.container(border=True):
        chosen = pickers.pick_name(
            "Run of one cell",
            list(labels),
            "results_run",
            placeholder="None selected",
            help="Shows the scores, the learning curve and the manifest of one cell of the study.",
            labels=labels,
        )
        for one in cells:
            if one.name == chosen:
                st.markdown(f"{describe_model_and_task(workspace, one)} · {describe_training(one)}")
                row = next(row for row in rows if one.runs[0] in row.runs)
                draw_runs(one, row.name, curves.list_curves(rows, one.task, {}))


def _draw_study_link() -> None:
    """Draw the button that opens the table of the study whose folder this workspace is."""
    own, study = address.split_study(st.session_state.get(address.WORKSPACE) or "")
    with st.container(horizontal=True, vertical_alignment="center"):
        draw_note("The seeds of a variant are one row here: mean and standard deviation over them.")
        if study and st.button(
            "Table of the study", key="results_study", icon=":material/grid_on:"
        ):
            address.go_to("studies", **{address.WORKSPACE: own, "studies_study": study})


def pick_baseline(
    runs: Sequence[RunSet], pair: FairPair | None, names: Mapping[str, str]
) -> Side | None:
    """Show the picker of the baseline, a run under a tokenization, by default the one of the fair
    pair; return None if there is only one to choose.

    names: display names of runs.
    """
    offered = {}
    # The oldest first: a baseline is usually made before what is compared with it.
    for one in reversed(runs):
        for tokenization in one.tokenizations:
            offered[f"{one.name} · {tokenization}"] = (one.name, tokenization)
    if len(offered) < 2:
        return None
    first = next(iter(offered))
    if pair and pair.baseline:
        first = " · ".join(pair.baseline)
    chosen = pickers.pick_name(
        "Baseline",
        list(offered),
        "results_baseline",
        first,
        help=HELP["baseline"],
        labels={option: display_label(option, names) for option in offered},
    )
    return offered.get(chosen)


def list_sides(pair: FairPair | None, baseline: Side | None) -> tuple[str, ...]:
    """Return the names of the runs whose settings the page compares: both sides of the fair pair,
    or the baseline alone if another one was chosen.
    """
    if pair is not None and baseline == pair.baseline:
        return pair.runs
    if baseline is None:
        return ()
    return (baseline[0],)


def pick_compared(runs: Sequence[RunSet], sides: Collection[str]) -> list[RunSet]:
    """Return the runs to compare: those of `select_newest`, or all on request.

    runs: those of a task, newest first. sides: names of the runs of the comparison shown.
    """
    newest = select_newest(runs, sides)
    if len(newest) == len(runs):
        return newest
    with st.container(horizontal=True, vertical_alignment="center"):
        if st.toggle(f"All {count(len(runs))} runs", key=COMPARE_ALL, help=HELP["all"]):
            return list(runs)
        shown = "the newest and those compared above" if sides else "the newest"
        draw_note(f"{count(len(newest))} of {count(len(runs))} runs are compared: {shown}.")
    return newest


def select_newest(runs: Sequence[RunSet], sides: Collection[str] = ()) -> list[RunSet]:
    """Return the newest runs, at most MOST_COMPARED, and those of the comparison shown."""
    return [one for place, one in enumerate(runs) if place < MOST_COMPARED or one.name in sides]


def pick_score(kind: TaskKind) -> str:
    """Draw the picker of scores; return "" for the task's default score."""
    chosen = st.selectbox(
        "Score",
        ["", *(scorer.name for scorer in kind.scorers())],
        key="results_score",
        bind="query-params",
        format_func=lambda name: name or "the task's own",
        help=explain("Score", HELP["score"]),
    )
    return str(chosen or "")


@st.cache_resource(
    max_entries=32,
    show_spinner="Comparing the runs …",
    hash_funcs={
        RunSet: lambda one: (
            f"{one.folder} {one.artifact.stamp if one.artifact else ''} {[*one.seeds]}"
        )
    },
)
def compute_results(
    runs: Sequence[RunSet], baseline: tuple[str, str] | None, scorer: str
) -> Results:
    """Compute the results of runs, cached between reruns."""
    return build_results(list(runs), BaselineSide(*baseline) if baseline else None, scorer)


def split_by_settings(
    board: TaskLeaderboard, others: Collection[str]
) -> tuple[TaskLeaderboard, TaskLeaderboard]:
    """Return the leaderboard without the runs with other settings, and with these only.

    others: names of the runs with other settings.
    """
    same = tuple(one for one in board.standings if one.run not in others)
    folded = tuple(one for one in board.standings if one.run in others)
    if not same:
        same, folded = folded, ()
    return replace(board, standings=same), replace(board, standings=folded)


def apply_display_names(
    board: TaskLeaderboard, names: Mapping[str, str], models: Mapping[str, str]
) -> TaskLeaderboard:
    """Return a leaderboard with the display names of its runs and models."""
    standings = tuple(
        replace(one, run=names.get(one.run, one.run), model=display_label(one.model, models))
        for one in board.standings
    )
    baseline = board.baseline
    if baseline:
        baseline = replace(baseline, run=names.get(baseline.run, baseline.run))
    return replace(board, standings=standings, baseline=baseline)


def select_headline_runs(standings: Sequence[RunStanding]) -> Sequence[RunStanding]:
    """Return the runs that the headline is about: those that learned, and of these those with
    enough seeds for a claim; all if none learned, or if fewer than two have enough seeds.
    """
    learned = [one for one in standings if len(one.collapsed_seeds) < len(one.seeds)] or standings
    claimable = [one for one in learned if len(one.seeds) >= MIN_SEEDS]
    if len(claimable) < 2:
        return learned
    return claimable


def draw_headline(board: TaskLeaderboard) -> None:
    """Draw the best run, its difference from the baseline, and the numbers of units and collapsed
    runs.
    """
    # 1. The best run.
    standings = select_headline_runs(board.standings)
    best = standings[0]
    score_column, difference, *others = st.columns([1.4, 1.4, 1, 1])
    seeds = "one seed: no sd"
    if best.headline.sd is not None:
        seeds = f"± {score(best.headline.sd)}, n = {count(len(best.seeds))} seeds"
    label = f"Best {format_metric_name(board.metric)}"
    if best.headline.mean < max(one.headline.mean for one in board.standings):
        label += f" of {MIN_SEEDS} seeds or more"
    draw_metric(score_column, label, score(best.headline.mean), seeds)
    score_column.markdown(f":small[{plain(best.run)} · {best.tokenization}]")
    # 2. The difference from the baseline: of the best run, or of the best other run if the baseline
    #    is the best.
    compared = next((one for one in standings if one.difference), None)
    if compared and compared.difference:
        points = format_points(compared.difference.value)
        draw_metric(difference, "Difference", points, _describe_difference(compared.difference))
        difference.markdown(f":small[{plain(compared.run)} · {compared.tokenization}]")
    else:
        difference.metric("Difference", "–")
        why = best.verdict.label if best.verdict else "nothing to compare with"
        difference.markdown(f":small[{why}]")
    # 3. The basis: test units, and collapsed runs, counted once for all tokenizations of a run.
    by_run = {one.run: len(one.collapsed_seeds) for one in board.standings}
    draw_metrics(
        ("Test units", count(board.units)),
        ("Collapsed runs", str(sum(by_run.values())), None, COLLAPSED.help),
        places=others,
    )
    # 4. What the comparison says, in a sentence.
    if compared and compared.verdict:
        st.markdown(f"**{plain(compared.verdict.explanation)}**")


def _describe_difference(found: Difference) -> str:
    """Describe a difference in points: its interval over seeds and test units, or the test of the
    units alone.
    """
    if found.low is not None:
        low = format_points(found.low)
        high = format_points(found.high)
        return f"points vs the baseline, 95 % {low} to {high}"
    # A small p is already formatted as a bound, with its own sign.
    relation = "" if found.p_units < MIN_EXACT_P else "= "
    return f"points vs the baseline, units alone p {relation}{format_p_value(found.p_units)}"


def draw_leaderboard(board: TaskLeaderboard, order: Sequence[str]) -> None:
    """Draw the scores as a figure and a table, the definition of the score, and the findings.

    order: display names of all runs of the task, by which colors are assigned.
    """
    marks = [
        training.ScoreMark(
            escape_invisible(one.run),
            one.tokenization,
            one.headline.values,
            one.headline.mean,
            one.headline.sd,
            len(one.collapsed_seeds),
            one.verdict == BASELINE,
        )
        for one in board.standings
    ]
    names = map(escape_invisible, order)
    figure = training.plot_scores(marks, format_metric_name(board.metric), list(names))
    mean = build_mean_column(board.metric)
    scores = [
        f"{one.run} · {one.tokenization} {mean.write(one.build_row())}" for one in board.standings
    ]
    alt = f"{format_metric_name(board.metric)} of each run: {', '.join(scores)}."
    draw_figure(figure, "beside", alt=escape_invisible(alt))
    draw_report(board.build_table(), "board")
    _draw_other_scores(board)
    draw_note(format_sentence(board.describe(defined=False)), help=plain(board.definition))
    for finding in board.findings:
        st.warning(format_sentence(finding), icon=":material/compare_arrows:")


def draw_other_settings(board: TaskLeaderboard) -> None:
    """Draw the folded table of the runs with other settings; nothing if there are none."""
    number = len({one.run for one in board.standings})
    if not number:
        return
    with st.expander(f"Other settings ({count(number)})", icon=":material/tune:"):
        draw_note(
            "These runs were trained with other settings than those above: a difference may come"
            " from the settings. *Settings compared* below shows in what they differ."
        )
        draw_report(board.build_table(), "board_other_settings")


def _draw_other_scores(board: TaskLeaderboard) -> None:
    """Draw the folded table of the other scores, with the model of each run."""
    others = [name for name in board.standings[0].figures if name != board.metric]
    columns = (
        Column("run", "Run"),
        Column("tokenization", "Tokenization"),
        *(Column(f"{name}_mean", format_metric_name(name), format="fraction") for name in others),
        Column("model", "Model"),
        Column("trained_on", "Trained on"),
    )
    rows = [one.build_row() for one in board.standings]
    with st.expander("Other scores and models", icon=":material/table_rows:"):
        draw_report(Table(board.task, columns, rows), "other_scores")


def draw_group_means(runs: Sequence[RunSet], models: Mapping[str, str]) -> None:
    """Draw the mean of each model over each group of tasks, and the number of tasks.

    models: display names of models. Of each task the newest runs count, or all on request.
    """
    counted = list(runs)
    if not st.session_state.get(COMPARE_ALL):
        counted = []
        for task in list_tasks(runs):
            counted += select_newest([one for one in runs if one.task == task])
    groups: GroupMeans = compute_results(counted, None, "").groups
    # Without any score, the table would contain only dashes.
    if all(held["mean"] is None for own in groups.values() for held in own.values()):
        return
    draw_heading("Means by task group")
    named = {display_label(model, models): own for model, own in groups.items()}
    draw_report(build_group_table(named), "groups")
    draw_note(
        "Each task counts with its default score and tokenization, averaged over seeds. In"
        " parentheses: the number of scored tasks, of all tasks of the group, and the number of"
        " collapsed runs, which are included in the means."
        f" {count(len(counted))} of {count_noun(len(runs), 'run')} are counted."
    )


def draw_details(workspace: Workspace, board: TaskLeaderboard, scorer: str) -> None:
    """Draw the folded block: the command, and the table in several formats."""
    with open_details():
        arguments = ["results", "--workspace", str(workspace.root), "--task", board.task]
        if board.baseline:
            arguments += ["--baseline", board.baseline.run]
            arguments += ["--baseline-tokenization", board.baseline.tokenization]
        if scorer:
            arguments += ["--scorer", scorer]
        draw_command(arguments, "The same in a terminal")
        tables = [board.build_table()]
        makers: Mapping[str, Callable[[Sequence[Table]], str]] = {
            "results.csv": write_csv,
            "results.md": write_markdown,
            "results.tex": write_latex,
        }
        draw_downloads({name: partial(make, tables) for name, make in makers.items()})
        st.markdown("As Markdown")
        st.code(write_markdown(tables), language="markdown", wrap_lines=True)
