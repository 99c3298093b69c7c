"""Write the model card of an adapted folder from its record: what it is, its use, how it was made,
its limits.
"""

from collections import Counter
from collections.abc import Mapping
from typing import Any

from vocadapt.models.extension_size import MODULE
from vocadapt.vocabulary.families.vocabulary import NEVER_ONE_WORD, SPACED, TOO_LONG
from vocadapt.vocabulary.plan.plan import KINDS

MAX_EXAMPLES = 12  # added words named on the card
# letters of a new token that is likely a word: a symbol, or the beginning of words, shows less of
# what was added
WORDLIKE = 7
CARD = """---
library_name: transformers
tags: [vocadapt, vocabulary-adaptation]
license: other
license_name: that-of-the-base-model
{base_model}---
# {name}, {title}

## What it is

{what}
{certificate}

## Use it

```python
{snippet}
```

Run it in this folder, or put the folder's path in its line `folder = …`. {needed} The original tokenizer is in `base/`.

## How it was made

- {rows}
- Tokenizer: {mode}.
- From: {data}.
{quality}{trained}- The plan word by word, what each row is made of, and every check: `vocadapt.json`.

{settings}
## Limits

- {changed}
  original model on your own task, before you rely on it.
{limits}
- Whatever holds for {model} (languages, bias, what it must not be used for) holds here.

## License

It follows the base model's: this folder is derived from {model}, and vocadapt adds no terms. Look too at the terms of the text
that the words came from.
"""
SNIPPET = """{first}from transformers import AutoModel, AutoTokenizer
folder = {folder!r}
tokenizer, model = AutoTokenizer.from_pretrained(folder), AutoModel.from_pretrained(folder)
print(tokenizer.tokenize({text!r}))
print(model(**tokenizer({text!r}, return_tensors="pt")).last_hidden_state.shape)"""
ALONE = "vocadapt is not needed."
KNOWN = (
    f"transformers knows this kind of network (exBERT) once `{MODULE}` is imported, as in the first"
    " line: install vocadapt."
)
ROWS_ONLY = (
    "Only the vocabulary and its rows changed. The rest of the network was not trained further:"
    " fine-tune it, and compare with the"
)
WITH_MODULE = (
    "Beside every layer stands an extension module of {hidden} and {intermediate} units"
    " ({share:.1%} of the layer), mixed in by\n  a gate. It begins as random weights: train it"
    " (`python -m vocadapt pretrain`, stage extension), and compare with the"
)
TRAINED = (
    "Its weights were trained further on text, as told above, and are no longer the original's:"
    " compare it with the"
)
UNMATCHABLE = (
    NEVER_ONE_WORD,
    SPACED,
    TOO_LONG,
)  # why a candidate was left out that the tokenizer could not produce
# in figures and records: why the departures from the exact-word rule were not counted
NOT_COUNTED = "departures_not_counted"
WAYS = 3  # in which new rows were made, that are told
SENTENCE = "The patient was treated with a new drug."  # where there is no new word to show
BETTER = "its held-out P@5 is {p:.3f}, chance {chance:.3f}"
VERDICTS = {  # of the map behind the rows, by held-out words
    "chance": (
        "**at chance** (held-out P@5 {p:.3f}, chance {chance:.3f}): the new rows mean nothing yet"
    ),
}


def snippet(record: Mapping[str, Any], folder: str = ".") -> str:
    """Return five lines of Python that load an adapted folder without vocadapt and use its first
    new words, or a sentence if there are none.

    With extension modules it takes a line more: the import that makes transformers know them.
    """
    first = f"import {MODULE}\n" if record.get("module") else ""
    return SNIPPET.format(
        first=first, folder=folder, text=" ".join(new_words(record["plan"], 3)) or SENTENCE
    )


def render_model_card(record: Mapping[str, Any]) -> str:
    """Return the text of README.md for a record; unknown parts (data, certificate) are stated as
    such.
    """
    plan, name = record["plan"], str(record["base_model"])
    values = {
        "base_model": f"base_model: {name}\n" if record.get("on_hub") else "",
        "name": name,
        "model": code(name),
        "title": _title(plan),
        "what": _what(plan, name, record["vocadapt"]),
        "certificate": _certificate(record.get("certificate"), str(record.get("certified", ""))),
        "snippet": snippet(record),
        "needed": KNOWN if record.get("module") else ALONE,
        "changed": _changed(record),
        "trained": "".join(map(_trained, record.get("pretraining", ()))),
        "rows": _rows(record["provenance"]),
        "mode": record["tokenizer_mode"],
        "data": _data(record.get("data")),
        "quality": _quality(record.get("quality")),
        "settings": _settings(record.get("recipe")),
        "limits": "\n".join(f"- {limit}" for limit in _limits(record)),
    }
    return CARD.format(**values)


def new_words(plan: Mapping[str, Any], most: int) -> list[str]:
    """Return the first new tokens that a text can contain: reachable whole words, likely ones
    first.
    """
    silent = frozenset(plan.get("silent_tokens", ()))
    continuation, start = plan.get("continuation", ""), plan.get("word_start", "")
    words: list[str] = []
    for token in (str(added[0]) for added in plan["added_tokens"]):
        continues = bool(continuation) and token.startswith(continuation)
        if token not in silent and not continues and token.startswith(start):
            words.append(token.removeprefix(start))
    return sorted(words, key=lambda word: not (word.isalpha() and len(word) >= WORDLIKE))[:most]


def _changed(record: Mapping[str, Any]) -> str:
    """Describe what changed in the network."""
    if record.get("pretraining"):
        return TRAINED
    return WITH_MODULE.format(**module) if (module := record.get("module")) else ROWS_ONLY


def _rows(provenance: Mapping[str, Any]) -> str:
    """Describe how the new embeddings were made; if in many ways, the most frequent ones with their
    numbers.
    """
    ways, tokens = provenance["how"], provenance["tokens"]
    if len(ways) < 2:
        return f"The new rows: {ways[0]}." if ways else "No row was made anew."
    made = Counter(place for place, _ in tokens.values()).most_common()
    told = [f"{ways[place]} ({rows:,} of {len(tokens):,})" for place, rows in made[:WAYS]]
    if rest := sum(rows for _, rows in made[WAYS:]):
        told.append(f"in {len(made) - WAYS} other ways ({rest:,})")
    return f"The new rows: {'; '.join(told)}."


def _trained(told: Mapping[str, Any]) -> str:
    """Describe one continued pretraining in a line."""
    loss = told.get("loss_per_character")
    became = (
        f"; loss per character on held-out lines {loss['before']:.3f}, then {loss['after']:.3f}"
        if loss
        else ""
    )
    return (
        f"- Then trained further: stage `{told['stage']}`, {told['tokens']:,} wordpieces{became}.\n"
    )


def _appends(plan: Mapping[str, Any]) -> bool:
    """Return whether the plan only appends tokens."""
    return bool(plan["added"]) and not plan.get("dropped", 0) and not KINDS[plan["kind"]].rearranges


def _title(plan: Mapping[str, Any]) -> str:
    if _appends(plan):
        return (
            f"with {plan['added']:,} more"
            f" {'words' if 'vectors' in KINDS[plan['kind']].needs else 'tokens'}"
        )
    if (
        not plan["added"]
        and plan["tokens_after"] == plan["tokens_before"]
        and plan["kind"] != "same"
    ):
        return "with its tokens in another order"
    if plan["kind"] == "same":
        return f"with {plan['replaced']:,} rows made anew"
    return (
        f"with {plan['tokens_after']:,} tokens instead of {plan['tokens_before']:,}"
        if not plan["added"]
        else (f"with {plan['added']:,} new tokens among {plan['tokens_after']:,}")
    )


def _what(plan: Mapping[str, Any], name: str, version: str) -> str:
    """Describe the change of the vocabulary in a sentence or two."""
    renewed = f"; {plan['replaced']:,} old tokens got a new row" if plan["replaced"] else ""
    examples = ", ".join(map(code, new_words(plan, MAX_EXAMPLES)))
    shown = f" Examples: {examples}." if examples else ""
    if _appends(plan):
        said = (
            f"{code(name)}, taught {plan['added']:,} words of a new domain by vocadapt {version}:"
            f" each is one token with a row of its own, behind the\n{plan['tokens_before']:,}"
            f" tokens it had{renewed}."
        )
        return said + shown
    return (
        f"{code(name)} after vocadapt {version}: {KINDS[plan['kind']].about}. Of its"
        f" {plan['tokens_before']:,} tokens {plan.get('dropped', 0):,} went, {plan['added']:,} came"
        f" in, and {plan['tokens_after']:,} are there now{renewed}.{shown}"
    )


def _limits(record: Mapping[str, Any]) -> list[str]:
    """List the limits that apply to this plan."""
    plan, limits = record["plan"], list[str]()
    if plan["added"]:
        limits += [
            (
                "A new word knows what its row was made of, and nothing of how the network uses it"
                " in a sentence."
            ),
            _departures(record["tokenizer_mode"], record.get("departures")),
        ]
    if never := {
        reason: plan["left_out"][reason]
        for reason in UNMATCHABLE
        if reason in plan.get("left_out", {})
    }:
        limits.append(
            "Candidates left out:"
            f" {'; '.join(f'{count:,} ({reason})' for reason, count in never.items())}."
        )
    if plan.get("dropped", 0):
        limits.append(
            f"Words that held one of the {plan.get('dropped', 0):,} tokens that went are cut"
            " otherwise than before."
        )
    return limits


def code(text: str) -> str:
    """Return Markdown that shows a text literally, backticks included."""
    fence = "`" * (max((len(run) for run in _backticks(text)), default=0) + 1)
    room = " " if "`" in text else ""
    return f"{fence}{room}{text}{room}{fence}"


def _backticks(text: str) -> list[str]:
    return [run for run in "".join(c if c == "`" else " " for c in text).split() if run]


def _certificate(found: Mapping[str, Any] | None, when: str = "") -> str:
    """Return the certificate's verdict in a sentence; `when`: when it was made, if the model was
    trained since.
    """
    if found is None:
        return (
            "\nNo certificate was made: `python -m vocadapt certify` checks that everything else"
            " was kept."
        )
    checks = found["checks"]
    failed = [str(check["name"]) for check in checks if not check["passed"]]
    if failed:
        return (
            f"\n**The certificate FAILED** in {len(failed)} of {len(checks)} checks:"
            f" {', '.join(failed)}."
        )
    if when:
        return (
            f"\n**Certificate passed** {when}: {len(checks)} of {len(checks)} checks that the new"
            " tokens changed nothing else."
        )
    return (
        f"\n**Certificate passed**: {len(checks)} of {len(checks)} checks that everything else is"
        " as it was."
    )


def _data(data: Mapping[str, Any] | None) -> str:
    if not data:
        return "not recorded"
    counted = [
        f"{data[key]:,} {said}"
        for key, said in (("words", "words"), ("occurrences", "occurrences"))
        if key in data
    ]
    return f"the {data['role']} {code(str(data['name']))}" + (
        f" ({', '.join(counted)})" if counted else ""
    )


def _quality(quality: Mapping[str, Any] | None) -> str:
    """Describe the quality of the alignment on held-out words."""
    if not quality:
        return ""
    if "p@5" not in quality:
        return f"- The map behind the rows: {quality['verdict']}.\n"
    said = VERDICTS.get(quality["verdict"], BETTER).format(
        p=quality["p@5"], chance=quality["chance@5"]
    )
    return f"- The map behind the rows: {said}.\n"


def _settings(recipe: Mapping[str, Any] | None) -> str:
    """Return the recipe as TOML."""
    if recipe is None:
        return ""
    import tomli_w

    return f"Settings, as a recipe file has them:\n\n```toml\n{tomli_w.dumps(recipe)}```\n"


def _departures(mode: str, found: Mapping[str, Any] | None) -> str:
    """Describe when the tokenizer departs from its mode."""
    if mode != "exact-word":
        return (
            "A new word also fires as the beginning of longer words, which are then cut otherwise"
            " than before."
        )
    said = "Beside symbols and `_` a new word may fire where it should not, or not fire"
    if found and "departures" in found:
        return (
            f"{said}: {found['departures']:,} times in {found['added_occurrences']:,} on the text."
        )
    why = found[NOT_COUNTED] if found else "no text was at hand"
    return f"{said}: how often was not counted ({why})."
