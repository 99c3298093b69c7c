"""A tokenizer patch: the difference between two tokenizers of any family, applied in any order."""

import json
from typing import Any

import pytest
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, pre_tokenizers

from vocadapt.errors import InputError
from vocadapt.models.packs.tokenizer_patch import apply_patch, make_patch, read_patch

LETTERS = "abcdefghijklmnopqrstuvwxyz"


def content_of(tokenizer: Tokenizer) -> dict[str, Any]:
    content: dict[str, Any] = json.loads(tokenizer.to_str())
    return content


def build(content: dict[str, Any]) -> Tokenizer:
    return Tokenizer.from_str(json.dumps(content))


def byte_level(words: list[str]) -> dict[str, Any]:
    """A byte-level BPE of single letters; words are entries without merges."""
    tokens = ["<s>", "</s>", "Ġ", *LETTERS]
    vocab = {token: i for i, token in enumerate([*tokens, *words])}
    tokenizer = Tokenizer(models.BPE(vocab=vocab, merges=[], ignore_merges=bool(words)))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=True)
    tokenizer.decoder = decoders.ByteLevel()
    return content_of(tokenizer)


def merged(pairs: list[tuple[str, str]]) -> dict[str, Any]:
    """A byte-level BPE with merges, each of which makes a token."""
    tokens = ["Ġ", *LETTERS, *(left + right for left, right in pairs)]
    vocab = {token: i for i, token in enumerate(tokens)}
    tokenizer = Tokenizer(models.BPE(vocab=vocab, merges=pairs))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    return content_of(tokenizer)


def unigram(words: list[tuple[str, float]]) -> dict[str, Any]:
    """A Unigram model of single letters, whose mask token follows the pieces of the base."""
    pieces = [("<unk>", 0.0), ("▁", -2.0), *((letter, -3.0) for letter in LETTERS)]
    if words:
        pieces += [("[MASK]", 0.0), *words]
    tokenizer = Tokenizer(models.Unigram(pieces, unk_id=0))
    tokenizer.add_special_tokens([AddedToken("[MASK]", special=True)])
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    return content_of(tokenizer)


def wordpiece(words: list[str]) -> dict[str, Any]:
    """A WordPiece model with exact words."""
    vocab = {token: i for i, token in enumerate(["[UNK]", *LETTERS, *(f"##{x}" for x in LETTERS)])}
    tokenizer = Tokenizer(models.WordPiece(vocab, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.add_tokens([AddedToken(word, single_word=True) for word in words])
    return content_of(tokenizer)


def ids_after(content: dict[str, Any], tokens: list[str]) -> dict[str, int]:
    size = build(content).get_vocab_size()
    return {token: size + place for place, token in enumerate(tokens)}


FAMILIES = {
    "byte-level": (byte_level, ["Ġabc", "Ġabd"], ["Ġabd", "Ġxyz"]),
    "unigram": (unigram, [("▁abc", -1.0), ("▁abd", -1.0)], [("▁abd", -0.5), ("▁xyz", -1.0)]),
    "wordpiece": (wordpiece, ["abc", "abd"], ["abd", "xyz"]),
}


def names(words: list[Any]) -> list[str]:
    return [word if isinstance(word, str) else word[0] for word in words]


@pytest.mark.parametrize("family", FAMILIES)
def test_a_patch_of_any_family_gives_the_adapted_tokenizer(family: str) -> None:
    make, words, _ = FAMILIES[family]
    before, after = make([]), make(words)
    patch = make_patch(before, after)
    assert apply_patch(before, patch, ids_after(before, names(words))) == after
    # It survives JSON.
    again = read_patch(json.loads(json.dumps(patch.to_list())), "here")
    assert again == patch


@pytest.mark.parametrize("family", FAMILIES)
def test_a_second_patch_follows_the_first_and_shares_its_tokens(family: str) -> None:
    make, first, second = FAMILIES[family]
    before = make([])
    known, new = names(first), names(second)
    ids = ids_after(before, [*known, new[1]])
    content = apply_patch(before, make_patch(before, make(first)), ids)
    content = apply_patch(content, make_patch(before, make(second)), ids, [new[0]])
    tokenizer = build(content)
    assert {token: tokenizer.token_to_id(token) for token in ids} == ids
    assert tokenizer.get_vocab_size() == build(before).get_vocab_size() + 3
    for token, i in build(before).get_vocab().items():
        assert tokenizer.token_to_id(token) == i
    # Each of them is one token of a text.
    for token in ids:
        word = token.removeprefix("Ġ").removeprefix("▁")
        assert tokenizer.encode(word, add_special_tokens=False).tokens == [token]


def test_the_steps_of_a_byte_level_patch_are_a_vocabulary_and_one_setting() -> None:
    steps = make_patch(byte_level([]), byte_level(["Ġabc"])).to_list()
    assert steps == [
        {"path": ["model", "ignore_merges"], "change": [False, True]},
        {"path": ["model", "vocab"], "add": {"Ġabc": 29}},
    ]


def test_merges_are_appended_once() -> None:
    before = merged([("a", "b")])
    one, two = merged([("a", "b"), ("ab", "c")]), merged([("a", "b"), ("ab", "c"), ("x", "y")])
    ids = {"abc": 28, "xy": 29}
    content = apply_patch(before, make_patch(before, one), ids)
    content = apply_patch(content, make_patch(before, two), ids, ["abc"])
    assert content == two


def test_removed_reordered_and_changed_tokens_are_refused() -> None:
    before = merged([("a", "b"), ("c", "d")])
    after = json.loads(json.dumps(before))
    after["model"]["merges"].reverse()
    with pytest.raises(InputError, match=r"entries of model\.merges"):
        make_patch(before, after)
    after = json.loads(json.dumps(before))
    del after["model"]["vocab"]["ab"]
    with pytest.raises(InputError, match=r"entries of model\.vocab"):
        make_patch(before, after)
    after = json.loads(json.dumps(before))
    after["model"]["vocab"]["ab"] = 99
    with pytest.raises(InputError, match=r"entries of model\.vocab"):
        make_patch(before, after)


def test_a_changed_part_is_replaced_as_a_whole() -> None:
    before, after = wordpiece([]), wordpiece(["abc"])
    tokenizer = build(after)
    tokenizer.pre_tokenizer = pre_tokenizers.Split(Regex(r"\s"), "removed")
    changed = content_of(tokenizer)
    patch = make_patch(before, changed)
    assert patch.settings["pre_tokenizer"]["type"] == "Split"
    assert apply_patch(before, patch, ids_after(before, ["abc"])) == changed


def test_two_packs_that_change_a_setting_differently_are_refused() -> None:
    before = byte_level([])
    one, two = (json.loads(json.dumps(before)) for _ in range(2))
    one["model"]["dropout"], two["model"]["dropout"] = 0.1, 0.2
    content = apply_patch(before, make_patch(before, one), {})
    with pytest.raises(InputError, match=r"change model\.dropout of the tokenizer differently"):
        apply_patch(content, make_patch(before, two), {})
    assert apply_patch(content, make_patch(before, one), {}) == one


@pytest.mark.parametrize(
    "steps",
    [
        None,
        {},
        [1],
        [{"path": "model", "add": {}}],
        [{"path": [1], "add": {}}],
        [{"path": ["model", "vocab"]}],
        [{"path": ["model", "vocab"], "add": []}],
        [{"path": ["model", "vocab"], "add": {}, "append": []}],
        [{"path": ["model", "merges"], "append": {}}],
        [{"path": ["normalizer"], "change": [1]}],
        [{"path": [], "change": [1, 2]}],
        [{"path": ["model"], "change": [{}, {}]}],
        [{"path": ["model", "vocab", "a"], "change": [1, 2]}],
        [{"path": ["added_tokens"], "change": [[], []]}],
        [{"path": ["normalizer"], "remove": "x"}],
        [{"path": [], "add": {}}] * 1_001,
    ],
)
def test_a_damaged_patch_is_refused(steps: object) -> None:
    with pytest.raises(InputError, match=r"^here: .* patch is"):
        read_patch(steps, "here")


@pytest.mark.parametrize(
    "step",
    [
        {"path": ["model", "nothing"], "add": {"a": 1}},
        {"path": ["model", "vocab", "a"], "add": {"a": 1}},
        {"path": ["model", "vocab"], "append": ["a"]},
        {"path": ["model", "vocab"], "add": {"a": 77}},
        {"path": ["model", "nothing"], "change": [1, 2]},
    ],
)
def test_a_patch_that_does_not_fit_is_refused(step: dict[str, Any]) -> None:
    with pytest.raises(InputError, match="does not fit the tokenizer"):
        apply_patch(byte_level([]), read_patch([step], "here"), {})
