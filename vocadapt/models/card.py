"""Write the model card of an adapted folder from its record: description, use, method, limits."""

import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from vocadapt.models.extension_size import MODULE
from vocadapt.models.load_states import NOT_REQUESTED
from vocadapt.system.footprint import (
    Footprint,
    format_basis,
    format_co2,
    format_energy,
    sum_footprints,
)
from vocadapt.text.display import escape_invisible
from vocadapt.vocabulary.families import FAMILIES
from vocadapt.vocabulary.families.family import DEFAULT
from vocadapt.vocabulary.plan.plan import KINDS
from vocadapt.vocabulary.vocabulary import (
    ERASED,
    NEVER_ONE_WORD,
    NEVER_PRODUCED,
    SPACED,
    TOO_LONG,
)

MAX_EXAMPLES = 12  # added words named on the card
MARKDOWN = re.compile(r"[\\`*{}\[\]()<>#|!&~$]|\b_|_\b")  # marks that Markdown may interpret
MIN_WORD_LENGTH = 7  # letters of a new token that is probably a whole word
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
{loads}
## Use it

```python
{snippet}
```

Run it in this folder, or set `folder` to the path of this folder. {needed} The original tokenizer is in `base/`.

## How it was made

- {embeddings}
- Tokenizer: {mode}.
- Source: {data}.
{quality}{trained}{footprint}- `vocadapt.json` records the plan for each word, the source of each embedding, and every check.

{settings}
## Limits

- {changed}
  Compare it with the original model on your own task before you rely on it.
{limits}
- The limitations of {model} (languages, bias, prohibited uses) also apply to this model.

## License

The license of the base model applies: this folder is derived from {model}, and vocadapt adds no terms. The terms of the text
that the new words come from may also apply.
"""
SNIPPET = """{first}from transformers import AutoModel, AutoTokenizer
folder = {folder!r}
tokenizer, model = AutoTokenizer.from_pretrained(folder), AutoModel.from_pretrained(folder)
print(tokenizer.tokenize({text!r}))
print(model(**tokenizer({text!r}, return_tensors="pt")).last_hidden_state.shape)"""
WITHOUT_VOCADAPT = "vocadapt is not needed."
WITH_VOCADAPT = (
    f"vocadapt must be installed: the first line imports `{MODULE}`, which registers the exBERT"
    " architecture with transformers."
)
# Reasons why the tokenizer could not produce a candidate.
UNREACHABLE_REASONS = (ERASED, NEVER_ONE_WORD, NEVER_PRODUCED, SPACED, TOO_LONG)
# Key in figures and records: why the departures from the exact-word rule were not counted.
NOT_COUNTED = "departures_not_counted"
MAX_WAYS = 3  # ways to compute new embeddings that the card lists
SENTENCE = "The patient was treated with a new drug."  # the example if there is no new word


def render_snippet(record: Mapping[str, Any], folder: str = ".") -> str:
    """Return five lines of Python that load an adapted folder without vocadapt and use its first
    new words, or a sentence if there are none.

    For a model with extension modules, one more line imports the classes of exBERT.
    """
    first = f"import {MODULE}\n" if record.get("module") else ""
    return SNIPPET.format(
        first=first, folder=folder, text=" ".join(list_new_words(record, 3)) or SENTENCE
    )


def render_model_card(record: Mapping[str, Any]) -> str:
    """Return the text of README.md for a record; it also states what is unknown, such as the
    data.
    """
    plan = record["plan"]
    name = str(record["base_model"])
    values = {
        "base_model": f"base_model: {json.dumps(name)}\n" if record.get("on_hub") else "",
        "name": MARKDOWN.sub(r"\\\g<0>", escape_invisible(name)),  # literal in a heading
        "model": format_code(name),
        "title": _format_title(plan),
        "what": _describe_vocabulary(record, name),
        "certificate": _describe_certificate(
            record.get("certificate"), str(record.get("certified", ""))
        ),
        "loads": _describe_loads(record.get("certificate")),
        "snippet": render_snippet(record),
        "needed": WITH_VOCADAPT if record.get("module") else WITHOUT_VOCADAPT,
        "changed": _describe_network(record),
        "trained": "".join(map(_describe_training, record.get("pretraining", ()))),
        "footprint": _describe_footprint(record.get("footprints", ())),
        "embeddings": _describe_embeddings(record["provenance"]),
        "mode": record["tokenizer_mode"],
        "data": _describe_data(record.get("data")),
        "quality": _describe_quality(record.get("quality")),
        "settings": _format_settings(record.get("recipe")),
        "limits": "\n".join(f"- {limit}" for limit in _list_limits(record)),
    }
    return CARD.format(**values)


def list_new_words(record: Mapping[str, Any], limit: int) -> list[str]:
    """Return the first new words that are reachable, each in its main form; tokens that are
    probably whole words come first.
    """
    plan = record["plan"]
    family = FAMILIES[record.get("family", DEFAULT)]
    left_out = {*plan.get("silent_tokens", ()), *plan.get("forms", ())}
    continuation = plan.get("continuation", "")
    start = plan.get("word_start", "")
    words: list[str] = []
    for token, *_ in plan["added_tokens"]:
        continues = bool(continuation) and token.startswith(continuation)
        if token not in left_out and not continues and token.startswith(start):
            words.append(family.read_token(token.removeprefix(start)))
    return sorted(words, key=lambda word: not (word.isalpha() and len(word) >= MIN_WORD_LENGTH))[
        :limit
    ]


def _describe_network(record: Mapping[str, Any]) -> str:
    if record.get("pretraining"):
        return (
            "The weights were trained on more text, as described above, and differ from those of"
            " the original model."
        )
    if record.get("module"):
        module = (
            "Each layer has a gate and an extension module with {hidden} hidden and {intermediate}"
            " intermediate units\n  ({share:.1%} of the parameters of the layer). The initial"
            " weights of the modules are random: train them\n  (`python -m vocadapt pretrain`,"
            " stage extension)."
        )
        return module.format(**record["module"])
    return (
        "Only the vocabulary and its embeddings changed. The rest of the network was not trained:"
        " fine-tune the model."
    )


def _describe_embeddings(provenance: Mapping[str, Any]) -> str:
    """Describe how the new embeddings were computed: the most frequent ways, each with its number
    of embeddings.
    """
    ways = provenance["how"]
    tokens = provenance["tokens"]
    if not ways:
        return "No embedding was replaced."
    if len(ways) == 1:
        return f"New embeddings: {ways[0]}."
    counts = Counter(place for place, _ in tokens.values()).most_common()
    parts = [f"{ways[place]} ({n:,} of {len(tokens):,})" for place, n in counts[:MAX_WAYS]]
    others = counts[MAX_WAYS:]
    if others:
        parts.append(f"in {len(others)} other ways ({sum(n for _, n in others):,})")
    return f"New embeddings: {'; '.join(parts)}."


def _describe_training(training: Mapping[str, Any]) -> str:
    line = (
        f"- Continued pretraining: stage `{training['stage']}`, {training['tokens']:,} wordpieces"
    )
    loss = training.get("loss_per_character")
    if loss:
        before = f"{loss['before']:.3f}"
        after = f"{loss['after']:.3f}"
        line += f"; loss per character on held-out lines {before} before, {after} after"
    return f"{line}.\n"


def _describe_footprint(footprints: Sequence[Mapping[str, Any]]) -> str:
    parts = [part for one in footprints if (part := Footprint.from_dict(one))]
    total = sum_footprints(parts)
    if total is None:
        return ""
    what = "The adaptation"
    if len(parts) > 1:
        what = f"The {len(parts)} steps that made this model together"
    return (
        f"- {what} cost an estimated {format_energy(total.kwh)} and {format_co2(total.kg_co2)}"
        f" ({format_basis(total)}).\n"
    )


def _is_appending(plan: Mapping[str, Any]) -> bool:
    return bool(plan["added"]) and not plan.get("dropped", 0) and not KINDS[plan["kind"]].rearranges


def _format_title(plan: Mapping[str, Any]) -> str:
    if _is_appending(plan):
        unit = "words" if "vectors" in KINDS[plan["kind"]].needs else "tokens"
        return f"with {plan['added']:,} more {unit}"
    if plan["kind"] == "same":
        return f"with {plan['replaced']:,} embeddings replaced"
    if plan["added"]:
        return f"with {plan['added']:,} new tokens among {plan['tokens_after']:,}"
    if plan.get("activated"):
        n_words = plan["activated"]
        return f"with {n_words:,} more exact word{'s' * (n_words != 1)}"
    if plan["tokens_after"] == plan["tokens_before"]:
        return "with its tokens in another order"
    return f"with {plan['tokens_after']:,} tokens instead of {plan['tokens_before']:,}"


def _describe_vocabulary(record: Mapping[str, Any], name: str) -> str:
    plan = record["plan"]
    version = record["vocadapt"]
    replaced = examples = ""
    if plan["replaced"]:
        replaced = f"; {plan['replaced']:,} old tokens got a new embedding"
    if plan.get("activated"):
        replaced += f"; old tokens that became exact words: {plan['activated']:,}"
    words = ", ".join(map(format_code, list_new_words(record, MAX_EXAMPLES)))
    if words:
        examples = f" Examples: {words}."
    if _is_appending(plan):
        forms = plan.get("forms", {})
        tokens = "a single token with its own embedding"
        if forms:
            tokens = f"a single token in each of its forms ({plan['added']:,} tokens in all)"
        filled = ""
        if plan.get("reserved_filled"):
            filled = f" {plan['reserved_filled']:,} of them took the ids of reserved tokens."
        return (
            f"{format_code(name)} with {plan['added'] - len(forms):,} words of a new domain, added"
            f" by vocadapt {version}. Each of them is {tokens}, after the\n"
            f"{plan['tokens_before']:,} original tokens{replaced}.{filled}{examples}"
        )
    return (
        f"{format_code(name)}, changed by vocadapt {version}: {KINDS[plan['kind']].about}."
        f" {plan.get('dropped', 0):,} of its {plan['tokens_before']:,} tokens were removed and"
        f" {plan['added']:,} were added, which gives {plan['tokens_after']:,}{replaced}.{examples}"
    )


def _list_limits(record: Mapping[str, Any]) -> list[str]:
    plan = record["plan"]
    limits = list[str]()
    if plan["added"]:
        limits.append(
            "The embedding of a new word depends only on what it was computed from. The network was"
            " not trained with the word in sentences."
        )
        limits.append(_describe_departures(record))
    excluded = plan.get("left_out", {})
    reasons = [reason for reason in UNREACHABLE_REASONS if reason in excluded]
    if reasons:
        counts = "; ".join(f"{excluded[reason]:,} ({reason})" for reason in reasons)
        limits.append(f"Excluded candidates: {counts}.")
    for place, tokens in record.get("dropped_ids", {}).items():
        names = ", ".join(map(format_code, tokens[:MAX_EXAMPLES]))
        limits.append(f"Tokens that {place} no longer names: {len(tokens):,}, such as {names}.")
    if plan.get("trim"):
        limits += _describe_trim(plan["trim"], record.get("lines", {}))
    elif plan.get("dropped", 0):
        limits.append(
            f"Words that contained one of the {plan['dropped']:,} removed tokens are tokenized"
            " differently from before."
        )
    return limits


def _describe_trim(trim: Mapping[str, Any], lines: Mapping[str, Any]) -> list[str]:
    kept = f"The kept tokens are {trim['coverage']:.4%} of the tokens of the text."
    if "lines" in lines:
        kept += f" {lines['changed_lines']:,} of its {lines['lines']:,} lines are tokenized differently."
    if held_out := trim.get("held_out"):
        kept += (
            " Of other texts of the domain, expect about"
            f" {held_out['coverage']:.4%}, which a trim by nine of ten lines keeps of the other"
            " lines."
        )
    return [
        kept,
        "A text whose tokens are all kept has the same tokens and hidden states as before, and the"
        " same logits except for rounding. Probabilities and losses change, because the softmax is"
        " over fewer tokens.",
        "Other texts are tokenized differently; characters that were removed become unknown tokens"
        " or bytes.",
    ]


def format_code(text: str) -> str:
    """Return Markdown that shows a text literally, backticks included; invisible characters, such
    as line breaks, are shown by symbols or code points.
    """
    text = escape_invisible(text)
    runs = re.findall("`+", text)
    if not runs:
        return f"`{text}`"
    fence = "`" * (max(map(len, runs)) + 1)
    return f"{fence} {text} {fence}"


def _describe_certificate(found: Mapping[str, Any] | None, when: str = "") -> str:
    """Describe the result of the certificate in a sentence.

    when: when the certificate was created, if the model was trained afterwards.
    """
    if found is None:
        return (
            "\nThere is no certificate: `python -m vocadapt certify` checks that nothing else"
            " changed."
        )
    checks = found["checks"]
    failed = [str(check["name"]) for check in checks if not check["passed"]]
    if failed:
        return (
            f"\n**The certificate FAILED** in {len(failed)} of {len(checks)} checks:"
            f" {', '.join(failed)}."
        )
    passed = f"{len(checks)} of {len(checks)} checks that the adaptation changed nothing else"
    if when:
        return f"\n**Certificate passed** {when}: {passed}."
    return f"\n**Certificate passed**: {passed}."


def _describe_loads(certificate: Mapping[str, Any] | None) -> str:
    """Return a table of the programs that load the model correctly; "" if there is no
    certificate.
    """
    loads = (certificate or {}).get("loads", ())
    if not loads:
        return ""
    lines = ["", "| Loads correctly in | |", "|---|---|"]
    for load in loads:
        result = str(load["state"])
        if load["detail"] not in ("", NOT_REQUESTED):
            result += f": {load['detail']}"
        cells = [f"{load['title']} {load['version']}".strip(), result]
        lines.append(f"| {' | '.join(cell.replace('|', '&#124;') for cell in cells)} |")
    return "\n".join([*lines, ""])


def _describe_data(data: Mapping[str, Any] | None) -> str:
    if not data:
        return "not recorded"
    source = f"the {data['role']} {format_code(str(data['name']))}"
    sizes = [f"{data[key]:,} {key}" for key in ("words", "occurrences") if key in data]
    if sizes:
        source += f" ({', '.join(sizes)})"
    return source


def _describe_quality(quality: Mapping[str, Any] | None) -> str:
    if not quality:
        return ""
    found = quality["verdict"]
    if "p@5" in quality:
        scores = f"held-out P@5 {quality['p@5']:.3f}, chance {quality['chance@5']:.3f}"
        found = f"**at chance**: {scores}" if found == "chance" else scores
    return f"- Alignment behind the embeddings: {found}.\n"


def _format_settings(recipe: Mapping[str, Any] | None) -> str:
    if recipe is None:
        return ""
    import tomli_w

    return f"Settings, as a recipe file:\n\n```toml\n{tomli_w.dumps(recipe)}```\n"


def _describe_departures(record: Mapping[str, Any]) -> str:
    found = record.get("departures")
    if record["tokenizer_mode"] != "exact-word":
        return (
            "A new word also matches in longer words, which are then tokenized differently from"
            " before."
        )
    family = FAMILIES[record.get("family", DEFAULT)]
    sentence = f"The tokenizer departs from the exact-word rule {family.exceptions}"
    if found is None:
        return f"{sentence}: how often was not counted (no text was available)."
    if "departures" not in found:
        return f"{sentence}: how often was not counted ({found[NOT_COUNTED]})."
    times = f"{found['departures']:,} times in {found['added_occurrences']:,}"
    within = ""
    if "within_words" in found:
        within = f" ({found['within_words']:,} of them as a part of a longer word)"
    return f"{sentence}: {times} occurrences in the text{within}."
