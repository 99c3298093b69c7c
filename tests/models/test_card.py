"""The model card: its statements are true, and its snippet runs without vocadapt."""

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from tests.material.adapted import adapted_folder
from tests.material.stated_numbers import find_numbers
from tests.material.tiny_bert import SPECIAL, TINY_TOKENS
from tests.material.warm_process import WarmProcess
from vocadapt.models.adapted_model import add_footprint, add_to_record
from vocadapt.models.card import format_code, list_new_words, render_model_card
from vocadapt.models.language_model import open_model
from vocadapt.pipeline import Sources, adapt
from vocadapt.presets import get_preset
from vocadapt.system.footprint import Rates, estimate_footprint, format_basis

WITHOUT = "import sys; sys.modules['vocadapt'] = None\n"  # any import of it now fails


def card(folder: Path) -> str:
    return (folder / "README.md").read_text(encoding="utf-8")


def test_the_snippet_of_a_saved_card_runs_without_vocadapt(
    appended: Path, warm_process: WarmProcess
) -> None:
    found = re.search(r"```python\n(.*?)```", card(appended), re.DOTALL)
    assert found and len(found[1].splitlines()) == 5
    done = warm_process.run_script(WITHOUT + found[1], folder=appended)
    assert done.returncode == 0, done.stderr
    tokens = ["tachycardia", "euthymia", "hypertension"]
    assert done.stdout.splitlines() == [str(tokens), str(torch.Size([1, 5, 16]))]


def test_a_card_says_what_is_known_and_what_is_not(out: Path) -> None:
    before = card(out)
    assert "3 more words" in before
    assert "no certificate" in before
    assert "not recorded" in before
    assert "not counted" in before
    assert "## Limits" in before
    assert "The license" in before
    assert "base_model:" not in before
    add_to_record(
        out,
        data={"role": "text", "name": "trials", "words": 12000},
        certificate={
            "passed": False,
            "checks": [{"name": "outputs", "passed": False}, {"name": "size", "passed": True}],
        },
        quality={"verdict": "chance", "p@5": 0.01, "chance@5": 0.011},
        departures={"departures": 2, "added_occurrences": 900},
    )
    after = card(out)
    failed = find_line(after, "FAILED")
    assert find_numbers(failed)[:2] == [1, 2] and "outputs" in failed and "size" not in failed
    assert "`trials` (12,000" in after
    assert "at chance" in after and "2 times in 900" in after
    assert "certificate" in json.loads((out / "vocadapt.json").read_text(encoding="utf-8"))


def find_table(text: str) -> list[str]:
    return [line for line in text.splitlines() if line.startswith("|")]


def test_a_card_has_a_table_of_the_programs_that_load_the_model(out: Path) -> None:
    assert not find_table(card(out))
    loads = [
        ("tokenizers", "1.2", "loads", "equal"),
        ("SentencePiece", "", "differs", "a|b"),
        ("ONNX Runtime", "", "not tried", "not requested"),
    ]
    keys = ("title", "version", "state", "detail")
    certificate = {
        "passed": True,
        "checks": [{"name": "outputs", "passed": True}],
        "loads": [dict(zip(keys, load, strict=True)) for load in loads],
    }
    add_to_record(out, certificate=certificate)
    table = find_table(card(out))
    assert "\n\n" + "\n".join(table) + "\n\n" in card(out)
    assert table[1] == "|---|---|"
    assert [tuple(row.strip("| ").split(" | ")) for row in table[2:]] == [
        ("tokenizers 1.2", "loads: equal"),
        ("SentencePiece", "differs: a&#124;b"),
        ("ONNX Runtime", "not tried"),
    ]


def test_a_model_of_the_hub_is_named_as_there(tiny_bert: Path, tmp_path: Path) -> None:
    snapshot = tmp_path / "models--org--tiny" / "snapshots" / "0123abc"
    shutil.copytree(tiny_bert, snapshot)
    text = card(adapted_folder(snapshot, tmp_path / "out"))
    assert 'base_model: "org/tiny"\n' in text and "# org/tiny," in text


@pytest.mark.parametrize(
    ("text", "shown"), [("heart", "`heart`"), ("`", "`` ` ``"), ("a``b", "``` a``b ```")]
)
def test_words_are_shown_as_they_are(text: str, shown: str) -> None:
    assert format_code(text) == shown


def test_hostile_words_stay_inside_their_quotes(record: dict[str, Any]) -> None:
    record["plan"]["added_tokens"] = [["'''", [], 1], ["`", [], 1], ["\\\n```", [], 1]]
    snippet = re.search(r"```python\n(.*?)\n```\n", render_model_card(record), re.DOTALL)
    assert snippet and len(snippet[1].splitlines()) == 5
    compile(snippet[1], "snippet", "exec")


HOSTILE_NAMES = [
    "<img src=x onerror=alert(1)>",
    "[x](javascript:alert(1))",
    "a\n---\nlicense: mit\n# b",
    "`\n\n<script>alert(1)</script>",
    "\u202egnirts\x1b[31m",
    "$x$ **b** _c_ ![d](e)",
]


@pytest.mark.parametrize("name", HOSTILE_NAMES)
def test_hostile_names_of_model_and_text_are_shown_as_they_are(
    name: str, record: dict[str, Any]
) -> None:
    from markdown_it import MarkdownIt

    record |= {"base_model": name, "on_hub": True, "data": {"role": "corpus", "name": name}}
    record["plan"]["added_tokens"] = [[name, [], 1]]
    front, body = render_model_card(record).removeprefix("---\n").split("\n---\n", 1)
    assert [line.partition(":")[0] for line in front.split("\n")][-1] == "base_model"
    assert len(front.split("\n")) == 5 and json.loads(front.split("base_model: ")[1]) == name
    tokens = MarkdownIt("commonmark").parse(body)
    inline = [child for token in tokens for child in token.children or ()]
    kinds = {child.type for child in inline}
    assert not kinds & {"html_inline", "link_open", "image", "em_open"}
    assert "html_block" not in {token.type for token in tokens}
    assert [token.tag for token in tokens if token.type == "heading_open"].count("h1") == 1
    assert "\u202e" not in body and "\x1b" not in body


def find_line(text: str, begin: str) -> str:
    return next(line for line in text.splitlines() if begin in line)


def test_of_many_ways_the_most_frequent_are_reported_with_how_many_rows(
    record: dict[str, Any],
) -> None:
    made = [0, 1, 1, 1, 2, 2, 3, 4]
    record["provenance"] = {
        "how": [*"abcde"],
        "tokens": {f"t{i}": [place, []] for i, place in enumerate(made)},
    }
    line = find_line(render_model_card(record), "New embeddings")
    assert find_numbers(line) == [3, 8, 2, 8, 1, 8, 2, 2]  # b, c, a, and 2 others, which have 2
    assert line.index(" b (") < line.index(" c (") < line.index(" a (")
    record["provenance"]["tokens"] = {"t0": [0, []], "t1": [1, []]}
    record["provenance"]["how"] = ["a", "b"]
    assert find_numbers(find_line(render_model_card(record), "New embeddings")) == [1, 2, 1, 2]


OTHERS = {
    "reduced-last-5": "with 143 tokens instead of 151",
    "reinit-normal": "with 151 embeddings replaced",
    "transfer-syntactic": "with 2 new tokens among 153",
    "combined-random-5": "with 2 new tokens among 151",
}


@pytest.mark.parametrize("name", OTHERS)
def test_the_card_of_a_model_without_words_behind_the_old_ones(
    name: str, tiny_bert: Path, make_bert: Callable[..., Path], tmp_path: Path
) -> None:
    first = [*SPECIAL, "##emia", "insulin", *TINY_TOKENS[5:]]
    target = (
        open_model(make_bert(tokens=first)) if name.startswith(("transfer", "combined")) else None
    )
    recipe = get_preset(name)
    folder = adapt(recipe, open_model(tiny_bert), Sources(target=target)).save(
        tmp_path / "out", recipe.to_dict()
    )
    text = card(folder)
    assert OTHERS[name] in text
    assert "original tokens" not in text
    assert ": ." not in text  # no list is empty
    found = re.search(r"```python\n(.*?)```", text, re.DOTALL)
    assert found and len(found[1].splitlines()) == 5
    shown = "insulin" if target else "The patient was treated"
    assert f"tokenize('{shown}" in found[1]
    exec(found[1].replace("'.'", repr(str(folder))), {})


def test_a_model_that_lost_tokens_says_that_words_are_cut_otherwise(
    tiny_bert: Path, tmp_path: Path
) -> None:
    text = card(
        adapt(get_preset("reduced-last-5"), open_model(tiny_bert), Sources()).save(tmp_path / "out")
    )
    assert "tokenized differently" in text and "A new word" not in text


def test_the_new_words_that_are_shown_are_words_before_they_are_symbols():
    added = [
        ["©", 9],
        ["##ase", 8],
        ["statins", 7],
        ["silent", 6],
        ["ii", 5],
        ["b-cell", 4],
        ["fevers", 3],
        ["hypertension", 2],
    ]
    plan = {"added_tokens": added, "silent_tokens": ["silent"], "continuation": "##"}
    shown = ["statins", "hypertension", "©", "ii", "b-cell", "fevers"]
    assert list_new_words({"plan": plan}, 3) == shown[:3]
    assert list_new_words({"plan": plan}, 9) == shown


def test_new_words_are_shown_without_marks_and_in_their_main_form_only():
    plan = {
        "added_tokens": [["ĠnaÃ¯ve", ["Ġna", "Ã¯", "ve"], 9], ["naÃ¯ve", [], 2], ["Ġfever", [], 8]],
        "forms": {"naÃ¯ve": "ĠnaÃ¯ve"},
        "word_start": "Ġ",
    }
    record = {"plan": plan, "family": "byte-level-bpe"}
    assert list_new_words(record, 9) == ["naïve", "fever"]


def test_a_card_sums_what_the_steps_that_made_the_model_cost(out: Path) -> None:
    assert "kWh" not in card(out)
    rates = Rates("here", 12.0, 1.5, 0.4, (0.0, 0.0))
    footprint = estimate_footprint(3600, 2, rates)  # 24 Wh × 1.5
    add_footprint(out, "model", footprint)
    line = find_line(card(out), "kWh")
    assert "0.036 kWh" in line and "0.014 kg" in line and format_basis(footprint) in line
    add_footprint(out, "continued", estimate_footprint(3600, 1, rates))
    assert "0.054 kWh" in find_line(card(out), "together")
