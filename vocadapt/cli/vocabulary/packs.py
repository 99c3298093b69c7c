"""pack show. The commands pack make, apply and remove are built from their steps."""

from typing import Any, TypedDict, cast

from vocadapt.cli.command import Answer, Command, Options, option
from vocadapt.cli.tables import format_facts, format_table
from vocadapt.models.packs.pack import PackFacts, find_pack_file, hash_pack_file, load_pack
from vocadapt.settings import MAX_COUNT

MAX_PIECES = 6  # maximum number of previous tokens of a word in the table


class PackToken(TypedDict):
    """A token of a pack: its previous tokens, its count, how its embedding was computed."""

    token: str
    pieces: list[str]
    count: int | None
    embedding: str
    donors: list[tuple[str, float]]


class ShowAnswer(PackFacts):
    """A vocabulary pack, its file and its tokens."""

    file: str
    bytes: int
    sha256: str
    vocadapt: str
    token_list: list[PackToken]
    sources: dict[str, Any]


def _show(options: Options) -> Answer[ShowAnswer]:
    pack = load_pack(options.pack)
    file = find_pack_file(options.pack)
    facts = {
        **pack.summary(),
        "file": str(file),
        "bytes": file.stat().st_size,
        "sha256": hash_pack_file(file),
        "vocadapt": pack.version,
    }
    tokens: list[PackToken] = [
        {
            "token": word.token,
            "pieces": list(word.pieces),
            "count": word.count,
            "embedding": origin.how,
            "donors": list(origin.donors),
        }
        for word, origin in zip(pack.words, pack.provenance, strict=True)
    ]
    shown = tokens[: options.tokens]
    rows = [
        (one["token"], _format_pieces(one["pieces"]), one["count"], one["embedding"])
        for one in shown
    ]
    parts = [format_facts(_flatten(facts))]
    if shown:
        parts.append(format_table(("token", "tokenized before as", "count", "embedding"), rows))
    if len(shown) < len(tokens):
        parts.append(f"{len(shown):,} of {len(tokens):,} tokens are shown.")
    answer = {**facts, "token_list": tokens, "sources": pack.sources}
    return Answer(cast(ShowAnswer, answer), "\n\n".join(parts))


def _format_pieces(pieces: list[str]) -> str:
    shown = " ".join(pieces[:MAX_PIECES])
    if len(pieces) > MAX_PIECES:
        shown += " …"
    return shown


def _flatten(facts: dict[str, Any]) -> dict[str, Any]:
    """Return facts for a table: values on one line, and each fact of the base as a separate
    entry.
    """
    flat = {key: value for key, value in facts.items() if key != "base"}
    flat["tensors"] = ", ".join(facts["tensors"])
    return flat | {f"base {key}": value for key, value in facts["base"].items()}


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
