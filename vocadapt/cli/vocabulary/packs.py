"""pack show. The commands pack make, apply and remove are built from their steps."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from vocadapt.cli.command import Answer, Command, Options, option
from vocadapt.cli.tables import format_facts
from vocadapt.models.packs.pack import PackFacts, find_pack_file, hash_pack_file, load_pack
from vocadapt.report.table import Column, Table
from vocadapt.report.terminal import write_terminal
from vocadapt.settings import MAX_COUNT

MAX_PIECES = 6  # maximum number of previous tokens of a word in the table
COLUMNS = (
    Column("token", "Token"),
    Column("shortened_pieces", "Tokenized before as"),
    Column("count", "Count", format="number"),
    Column("embedding", "Embedding"),
)


@dataclass(frozen=True)
class PackToken:
    """A token of a pack: its previous tokens, its count, how its embedding was computed."""

    token: str
    pieces: tuple[str, ...]
    count: int | None
    embedding: str
    donors: tuple[tuple[str, float], ...]

    @property
    def shortened_pieces(self) -> str:
        """The first of its previous tokens."""
        shown = " ".join(self.pieces[:MAX_PIECES])
        return f"{shown} …" if len(self.pieces) > MAX_PIECES else shown


@dataclass(frozen=True)
class ShowAnswer(PackFacts):
    """A vocabulary pack, its file and its tokens."""

    file: Path
    bytes: int
    sha256: str
    vocadapt: str
    token_list: tuple[PackToken, ...]
    sources: Mapping[str, Any]


def _show(options: Options) -> Answer[ShowAnswer]:
    pack = load_pack(options.pack)
    file = find_pack_file(options.pack)
    tokens = tuple(
        PackToken(word.token, word.pieces, word.count, origin.how, tuple(origin.donors))
        for word, origin in zip(pack.words, pack.provenance, strict=True)
    )
    answer = ShowAnswer(
        **vars(pack.summary()),
        file=file,
        bytes=file.stat().st_size,
        sha256=hash_pack_file(file),
        vocadapt=pack.version,
        token_list=tokens,
        sources=pack.sources,
    )
    parts = [format_facts({**vars(answer), "tensors": ", ".join(answer.tensors)})]
    shown = tokens[: options.tokens]
    if shown:
        parts.append(write_terminal(Table("", COLUMNS, shown)))
    if len(shown) < len(tokens):
        parts.append(f"{len(shown):,} of {len(tokens):,} tokens are shown.")
    return Answer(answer, "\n\n".join(parts))


SHOW = Command(
    _show,
    (
        option("pack", metavar="PACK", help="file of a pack, or its folder"),
        option(
            "--tokens",
            between=(0, MAX_COUNT),
            default=20,
            help="number of tokens to print (default 20; JSON has all)",
        ),
    ),
)
