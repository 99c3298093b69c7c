"""pack make, apply, remove and show."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.material.packs import MEDICAL, adapt_words, check_restored
from tests.material.tiny_bert import build_tiny_bert
from vocadapt.lab.workspace.workspace import open_artifact


@pytest.fixture(scope="module")
def adapted(tiny_bert: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model adapted from the tiny model; read only."""
    return adapt_words(tiny_bert, MEDICAL, tmp_path_factory.mktemp("adapted") / "medical")


def test_the_walk_of_a_pack(tiny_bert: Path, tmp_path: Path, adapted: Path, ask) -> None:
    # 1. Make it; a writing command names its folder, its time and its manifest.
    pack = tmp_path / "medical-pack"
    made = ask("pack", "make", "--model", tiny_bert, "--adapted", adapted, "--out", pack)
    assert made.keys() == {"out", "seconds", "manifest", "numbers"}
    assert made["numbers"]["tokens"] == 3 and made["numbers"]["name"] == "medical"
    artifact = open_artifact(pack)
    assert (artifact.kind, artifact.manifest.files) == ("packs", ("pack.safetensors",))
    assert set(artifact.manifest.inputs) == {"model", "adapted"}

    # 2. Apply it, by its file or by its folder.
    one = ask(
        *("pack", "apply", "--model", tiny_bert, "--out", tmp_path / "one"),
        *("--pack", pack / "pack.safetensors"),
    )
    assert one["numbers"]["certificate"] is True and one["numbers"]["pack"] == "medical"
    two = ask(
        *("pack", "apply", "--model", tiny_bert, "--pack", pack),
        *("--out", tmp_path / "two", "--no-certificate"),
    )
    assert two["numbers"]["added"] == 3 and two["numbers"]["certificate"] is None

    # 3. Remove it: the base is there again.
    last = ask("pack", "remove", "--model", tmp_path / "two", "--out", tmp_path / "base")
    assert last["numbers"] == {
        "tokens_before": 154,
        "removed": 3,
        "tokens_after": 151,
        "rows_after": 151,
    }
    check_restored(tiny_bert, tmp_path / "base")


def test_a_pack_is_shown_from_its_file_alone(
    tiny_bert: Path,
    tmp_path: Path,
    adapted: Path,
    ask,
    show,
) -> None:
    ask(
        *("pack", "make", "--model", tiny_bert, "--adapted", adapted),
        *("--called", "my words", "--out", tmp_path / "made"),
    )
    file = (tmp_path / "made" / "pack.safetensors").rename(tmp_path / "mine.safetensors")
    shown = ask("pack", "show", file)
    assert (shown["name"], shown["tokens"], shown["base"]["name"]) == ("my words", 3, "tiny-bert")
    assert shown["bytes"] == file.stat().st_size
    assert [one["token"] for one in shown["token_list"]] == list(MEDICAL)
    assert shown["token_list"][0]["pieces"] == ["tachy", "##card", "##i", "##a"]
    assert shown["token_list"][0]["embedding"]
    text = show("pack show --tokens 1", file)
    assert " ##card ##i" in text and " 3 tokens" in text
    assert "euthymia" not in text


def test_mistakes_are_refused(
    tiny_bert: Path,
    tmp_path: Path,
    adapted: Path,
    ask,
    refused_with: Callable[..., None],
) -> None:
    pack = tmp_path / "pack"
    ask("pack", "make", "--model", tiny_bert, "--adapted", adapted, "--out", pack)
    other = build_tiny_bert(tmp_path / "other", dim=32)
    packed = tmp_path / "packed"
    ask("pack", "apply", "--model", tiny_bert, "--pack", pack, "--out", packed, "--no-certificate")
    make = f"pack make --out out --model {tiny_bert} --adapted"
    for line, code, *values in (
        (f"pack apply --out out --model {other} --pack {pack}", "other-base-model", "tiny-bert"),
        (f"{make} {tiny_bert}", "", "the same"),
        (f"{make} {other}", "not-adapted", "vocadapt.json"),
        (f"{make} {adapted} --called a/b", "invalid-name", "'a/b'"),
        (f"pack remove --out out --model {tiny_bert}", "no-pack", "tiny-bert"),
        (f"pack apply --out out --model {packed} --pack {pack}", "second-pack", "medical"),
        (f"pack show {tiny_bert}/model.safetensors", "not-a-pack"),
        ("pack", "missing-command", "make", "apply", "remove", "show"),
    ):
        refused_with(line, code, *values)
