"""gates: weights of the extension modules of an exBERT."""

import json
import time
from argparse import Namespace
from pathlib import Path

from vocadapt.cli.command import Answer, Command
from vocadapt.cli.options import TEXT, add_model, add_text, corpus_settings
from vocadapt.cli.parser import Parser
from vocadapt.cli.setting_options import add_settings, read_settings
from vocadapt.cli.tables import format_facts, format_table
from vocadapt.lab.artifacts.corpora import read_corpus
from vocadapt.lab.reports.pretraining import GateReport, GateSettings, measure_gates_on_text
from vocadapt.lab.workspace.drafts import check_free_file, open_file_draft
from vocadapt.models.language_model import open_model
from vocadapt.progress import Progress

MEANING = (
    "Each figure is the weight of the extension in the output of a layer: 0 is BERT's own layer"
    " alone, 1 the extension module alone."
)


def _add_options(parser: Parser) -> None:
    parser.description = (
        "Report the weight of the extension module in each layer of an exBERT, by kind of token:"
        " 1 minus the gate, which weights BERT's own layer. An untrained gate gives about its"
        " initial value, .5 as published, with deviations of up to a tenth."
    )
    add_model(
        parser,
        help="exBERT folder written by adapt --preset exbert-… or by pretrain",
    )
    parser.add_argument("--corpus", metavar="TEXT", nargs="+", required=True, help=TEXT)
    add_settings(parser, GateSettings)
    parser.add_argument(
        "--out",
        metavar="FILE",
        help="output file: .json as with --json, else tab-separated columns",
    )
    parser.add_argument("--overwrite", action="store_true", help="replace the file if it exists")
    add_text(parser, own_seed=False)


def _report_gates(options: Namespace, progress: Progress) -> Answer:
    start, out = time.perf_counter(), Path(options.out) if options.out else None
    if out is not None:
        check_free_file(out, options.overwrite)
    settings = read_settings(options, GateSettings)
    corpus = read_corpus(options.corpus, corpus_settings(options))
    found = measure_gates_on_text(
        open_model(options.model, options.offline or None), corpus, settings, progress
    )
    answer = {
        **found.to_dict(),
        **({"out": str(out)} if out else {}),
        "seconds": time.perf_counter() - start,
    }
    if out is not None:
        with open_file_draft(out) as draft:
            draft.write_text(
                json.dumps(answer) if out.suffix == ".json" else render_tsv(found), encoding="utf-8"
            )
    shares = found.shares
    rows = [
        (f"layer {layer + 1}", *map(float, shares.means[layer])) for layer in range(shares.layers)
    ]
    body = [("tokens", *shares.counts), *rows]
    read = {
        "lines": f"{found.lines:,} of {found.of:,}",
        "windows": shares.windows,
        "windows too long": shares.too_long,
    }
    read["before training"] = f"about {found.start:.2g} on the whole"
    place = {"out": str(out)} if out else {}
    return Answer(
        answer,
        f"{format_table(('', *shares.kinds), body)}\n\n{format_facts({**read, **place})}\n\n{MEANING}",
    )


def render_tsv(found: GateReport) -> str:
    """Format one line per layer and kind: layer, kind, tokens, mean gate, standard deviation."""
    shares = found.shares
    lines = [
        f"{layer + 1}\t{kind}\t{count}\t{shares.means[layer, i]:.6f}\t{shares.deviations[layer, i]:.6f}\n"
        for layer in range(shares.layers)
        for i, (kind, count) in enumerate(zip(shares.kinds, shares.counts, strict=True))
    ]
    return "".join(["layer\tkind\ttokens\tshare\tsd\n", *lines])


GATES = Command(_add_options, _report_gates)
