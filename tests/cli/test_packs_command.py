"""pack make, apply, remove and show."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.material.packs import CHEMICAL, MEDICAL, adapt_words, hash_folder
from tests.material.tiny_bert import build_tiny_bert
from vocadapt.cli import main
from vocadapt.lab.workspace.workspace import open_artifact


@pytest.fixture(scope="module")
def adapted(tiny_bert: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Two adapted models of the tiny model; read only."""
    place = tmp_path_factory.mktemp("adapted")
    words = {"medical": MEDICAL, "chemical": CHEMICAL}
    return {name: adapt_words(tiny_bert, words[name], place / name) for name in words}


def test_the_walk_of_two_packs(
    tiny_bert: Path, tmp_path: Path, adapted: dict[str, Path], ask
) -> None:
    # 1. Make both; a writing command names its folder, its time and its manifest.
    for name, folder in adapted.items():
        made = ask(
            *("pack", "make", "--model", tiny_bert, "--adapted", folder),
            *("--out", tmp_path / f"{name}-pack"),
        )
        assert made.keys() == {"out", "seconds", "manifest", "numbers"}
        assert made["numbers"]["tokens"] == 3 and made["numbers"]["name"] == name
        artifact = open_artifact(tmp_path / f"{name}-pack")
        assert (artifact.kind, artifact.manifest.files) == ("packs", ("pack.safetensors",))
        assert set(artifact.manifest.inputs) == {"model", "adapted"}

    # 2. Apply one, by its file, and the other on top, by its folder.
    one = ask(
        *("pack", "apply", "--model", tiny_bert, "--out", tmp_path / "one"),
        *("--pack", tmp_path / "medical-pack" / "pack.safetensors"),
    )
    assert one["numbers"]["certificate"] is True and one["numbers"]["packs"] == ["medical"]
    two = ask(
        *("pack", "apply", "--model", tmp_path / "one", "--pack", tmp_path / "chemical-pack"),
        *("--out", tmp_path / "two", "--no-certificate"),
    )
    assert two["numbers"]["shared"] == {"chemical": 1} and two["numbers"]["added"] == 5
    assert "certificate" not in two["numbers"]
    certificate = ask("certify", "--before", tiny_bert, "--after", tmp_path / "two")
    assert certificate["passed"]

    # 3. Remove both: the base is there again, byte by byte.
    left = ask(
        *("pack", "remove", "--model", tmp_path / "two", "--pack", "medical"),
        *("--out", tmp_path / "left"),
    )
    assert left["numbers"]["packs"] == ["chemical"] and left["numbers"]["certificate"] is True
    last = ask("pack", "remove", "--model", tmp_path / "left", "--out", tmp_path / "base")
    restored = hash_folder(tmp_path / "base")
    del restored["manifest.json"]
    assert restored == hash_folder(tiny_bert) == last["numbers"]["restored"]


def test_a_pack_is_shown_from_its_file_alone(
    tiny_bert: Path,
    tmp_path: Path,
    adapted: dict[str, Path],
    ask,
    capsys: pytest.CaptureFixture[str],
) -> None:
    ask(
        *("pack", "make", "--model", tiny_bert, "--adapted", adapted["medical"]),
        *("--called", "my words", "--out", tmp_path / "made"),
    )
    file = (tmp_path / "made" / "pack.safetensors").rename(tmp_path / "mine.safetensors")
    shown = ask("pack", "show", file)
    assert (shown["name"], shown["tokens"], shown["base"]["name"]) == ("my words", 3, "tiny-bert")
    assert shown["bytes"] == file.stat().st_size
    assert [one["token"] for one in shown["token_list"]] == list(MEDICAL)
    assert shown["token_list"][0]["pieces"] == ["tachy", "##card", "##i", "##a"]
    assert shown["token_list"][0]["embedding"].startswith("its word vector")
    capsys.readouterr()
    assert main(["pack", "show", str(file), "--tokens", "1"]) == 0
    text = capsys.readouterr().out
    assert "tachy ##card ##i ##a" in text and "1 of 3 tokens are shown." in text
    assert "euthymia" not in text


def test_mistakes_are_refused(
    tiny_bert: Path,
    tmp_path: Path,
    adapted: dict[str, Path],
    ask,
    refused: Callable[..., str],
) -> None:
    pack = tmp_path / "pack"
    ask("pack", "make", "--model", tiny_bert, "--adapted", adapted["medical"], "--out", pack)
    other = build_tiny_bert(tmp_path / "other", dim=32)
    out = tmp_path / "out"
    said = refused("pack", "apply", "--model", other, "--pack", pack, "--out", out)
    assert "was made for tiny-bert" in said and "not for other" in said
    said = refused("pack", "make", "--model", tiny_bert, "--adapted", tiny_bert, "--out", out)
    assert "The base model and the adapted model are the same" in said
    said = refused("pack", "make", "--model", tiny_bert, "--adapted", other, "--out", out)
    assert "it has no vocadapt.json" in said
    said = refused(
        *("pack", "make", "--model", tiny_bert, "--adapted", adapted["medical"], "--out", out),
        *("--called", "a/b"),
    )
    assert "cannot be the name of a pack" in said
    said = refused("pack", "remove", "--model", tiny_bert, "--out", out)
    assert "has no packs" in said
    assert "not a vocabulary pack" in refused("pack", "show", tiny_bert / "model.safetensors")
    assert "pack needs one of its commands: make, apply, remove, show" in refused("pack")
