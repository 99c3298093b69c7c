"""Apply vocabulary packs to their base model, and remove them again.

A folder with packs is always written from the base and the list of its packs: applying a second
pack, or removing one of two, restores the base first. So ids follow the order of the packs, without
gaps.
"""

import json
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tokenizers import Tokenizer

from vocadapt.errors import InputError
from vocadapt.models.adapted_model import SEEN, write_record
from vocadapt.models.config_ids import check_free_ids
from vocadapt.models.embedding_matrix.padding import MatrixRows, count_rows
from vocadapt.models.language_model import LanguageModel
from vocadapt.models.model_files import CONFIG, GENERATION, INDEX, SUFFIX, list_weight_files
from vocadapt.models.packs.base import (
    PACKS,
    keep_base,
    load_applied_packs,
    open_base,
    read_applied_packs,
    restore_base,
)
from vocadapt.models.packs.make import identify_base
from vocadapt.models.packs.pack import OUTPUT, BaseIdentity, VocabularyPack, load_pack
from vocadapt.models.packs.packed_record import PackedModel, build_record
from vocadapt.models.packs.stored_weights import copy_tensors, read_header
from vocadapt.models.packs.token_rows import (
    PackRows,
    TokenTensor,
    build_tail,
    choose_rows,
    find_token_tensors,
    take_free_rows,
)
from vocadapt.models.packs.tokenizer_patch import apply_patch
from vocadapt.models.transformers_tokenizer import save_tokenizer
from vocadapt.vocabulary.families import read_tokenizer, vocabulary_of
from vocadapt.vocabulary.families.files.tokenizer_checks import TOKENIZER
from vocadapt.vocabulary.plan.plan import AddedWord, VocabularyPlan
from vocadapt.vocabulary.plan.tokenizer import adapt_tokenizer

EXACT_WORD = "exact-word"  # the tokenizer mode
# Files of the base that are copied unchanged; the index still lists the same weight files.
COPIED = (GENERATION, SEEN, INDEX)


def apply_pack(model: LanguageModel, pack: VocabularyPack, folder: Path) -> PackedModel:
    """Write a model with a pack to a folder.

    model: the pack's base, or that base with other packs. A token that another pack has, too, keeps
    the embedding of the pack that was applied first.
    Raises InputError for another base, and if the model has a pack of this name already.
    """
    with open_base(model) as (base, packs):
        if pack.name in [one.name for one in packs]:
            raise InputError(
                f"{model.name} already has a pack named {pack.name}.",
                "Remove that pack first, or make this one with another name.",
            )
        return write_packed_model(base, [*packs, pack], folder, _find_identity(model, base))


def remove_pack(model: LanguageModel, name: str, folder: Path) -> PackedModel | None:
    """Write a model without one of its packs to a folder.

    name: name of the pack, or its file; "" for the only one. If no pack is left, the folder is the
    base itself, equal byte by byte, and None is returned.
    Raises InputError if the model does not have the pack.
    """
    applied = read_applied_packs(model)
    if applied is None:
        raise InputError(f"{model.name} has no packs.", "Give a model to which a pack was applied.")
    name = _find_name(name, applied.names, model.name)
    left = [one for one in load_applied_packs(model, applied) if one.name != name]
    if not left:
        restore_base(model, applied, folder)
        return None
    with open_base(model) as (base, _):
        return write_packed_model(base, left, folder, applied.base)


def _find_name(name: str, names: Sequence[str], model: str) -> str:
    """Return the name of the pack to remove."""
    if not name and len(names) == 1:
        return names[0]
    if name not in names and name and Path(name).exists():
        name = load_pack(name).name
    if name not in names:
        listed = ", ".join(names)
        problem = f"{model} has no pack named {name[:100]!r}."
        if not name:
            problem = f"{model} has {len(names)} packs."
        raise InputError(problem, f"Name the pack to remove: {listed}.")
    return name


def _find_identity(model: LanguageModel, base: LanguageModel) -> BaseIdentity:
    """Return the identity of a base, with the name under which it was first used."""
    applied = read_applied_packs(model)
    if applied is not None:
        return applied.base
    return identify_base(base)


def write_packed_model(
    base: LanguageModel, packs: list[VocabularyPack], folder: Path, identity: BaseIdentity
) -> PackedModel:
    """Write the folder of a base model with packs: an ordinary model folder with everything that is
    needed to restore the base.

    identity: that of the base. Raises InputError for a pack of another base.
    """
    _check_bases(base, packs)
    folder.mkdir(parents=True, exist_ok=True)
    chosen = choose_rows(packs)

    # 1. Write the tokenizer: apply the patches of the packs, one after the other.
    tokenizer = _write_tokenizer(base, chosen, folder)

    # 2. Write the weights: the files of the base with more rows, and the sizes in config.json.
    tensors = find_token_tensors(base)
    matrix = _count_rows(base, chosen, tensors)
    check_free_ids(base, matrix)
    weights = list_weight_files(base.path)
    is_untied = any(one.role == OUTPUT for one in tensors.values())
    ids = base.vocabulary.ids if is_untied else None
    _write_weights(weights, chosen, tensors, matrix, ids, folder)
    _write_settings(base, matrix, folder)

    # 3. Write the files that restore the base, and the packs.
    files = keep_base(base, weights, take_free_rows(tensors, matrix), folder)
    (folder / PACKS).mkdir()
    for pack in packs:
        pack.save(folder / PACKS / f"{pack.name}{SUFFIX}")

    # 4. Write the record and the card.
    hidden = _find_hidden(tokenizer, chosen)
    shared = {one.pack.name: one.shared for one in chosen}
    result = PackedModel(identity, matrix, tuple(pack.name for pack in packs), shared, hidden)
    write_record(folder, build_record(base, chosen, result, files, folder))
    return result


def _check_bases(base: LanguageModel, packs: list[VocabularyPack]) -> None:
    found = identify_base(base)
    for pack in packs:
        if pack.base.sha256 != found.sha256:
            raise InputError(
                f"The pack {pack.name} was made for {pack.base}, not for {found}.",
                "Apply it to its base model, with the same embeddings and the same tokenizer.",
            )


def _write_tokenizer(base: LanguageModel, chosen: list[PackRows], folder: Path) -> Tokenizer:
    """Write the tokenizer of the base with the patches of the packs.

    Raises InputError if a patch does not give exactly the tokens of its pack.
    """
    # 1. Apply the patches. The ids follow those of the base, in the order of the packs.
    expected = list(base.vocabulary.tokens)
    content = json.loads(base.fast_tokenizer.to_str())
    for one in chosen:
        start = len(expected)
        ids = {token: start + place for place, token in enumerate(one.tokens)}
        content = apply_patch(content, one.pack.patch, ids, one.shared)
        expected += one.tokens

    # 2. Read the result like any tokenizer file, with all checks.
    file = folder / TOKENIZER
    file.write_text(json.dumps(content, ensure_ascii=False), encoding="utf-8")
    tokenizer = read_tokenizer(folder)
    if list(vocabulary_of(tokenizer).tokens) != expected:
        names = ", ".join(one.pack.name for one in chosen)
        raise InputError(
            f"The tokenizer with {names} does not have exactly the tokens of the base and of the"
            " packs.",
            "Make the packs again.",
        )

    # 3. In a Unigram model, an exact word can split a longer one of another pack, because the score
    #    of each was computed without the other: add the words of all packs again, together.
    is_exact = all(one.pack.mode == EXACT_WORD for one in chosen)
    if is_exact and len(chosen) > 1 and any(_find_hidden(tokenizer, chosen).values()):
        added = tuple(AddedWord(token, ()) for one in chosen for token in one.tokens)
        plan = VocabularyPlan(base.vocabulary, added)
        tokenizer = adapt_tokenizer(base.fast_tokenizer, plan, EXACT_WORD)
    save_tokenizer(base, base.tokenizer, tokenizer, folder)
    return tokenizer


def _count_rows(
    base: LanguageModel, chosen: list[PackRows], tensors: Mapping[str, TokenTensor]
) -> MatrixRows:
    tokens = len(base.vocabulary)
    rows = next(iter(tensors.values())).stored.shape[0]
    return count_rows(tokens, rows, tokens + sum(len(one.used) for one in chosen), True)


def _write_weights(
    files: list[Path],
    chosen: list[PackRows],
    tensors: Mapping[str, TokenTensor],
    matrix: MatrixRows,
    ids: Mapping[str, int] | None,
    folder: Path,
) -> None:
    """Write the weight files of the base, with the rows of the packs."""
    for file in files:
        own = {name: one for name, one in tensors.items() if one.stored.file == file}
        tails = {name: build_tail(one, chosen, matrix, ids) for name, one in own.items()}
        shapes = {name: (matrix.new_rows, *one.stored.shape[1:]) for name, one in own.items()}
        copy_tensors(file, folder / file.name, read_header(file).with_shapes(shapes), tails)


def _write_settings(base: LanguageModel, matrix: MatrixRows, folder: Path) -> None:
    """Write config.json with the new number of rows, and copy the files in COPIED."""
    config = _replace_size(dict(base.config), matrix)
    config["vocab_size"] = matrix.new_rows
    (folder / CONFIG).write_text(
        json.dumps(config, indent=2, ensure_ascii=False) + "\n", encoding="utf-8"
    )
    for name in COPIED:
        if (base.path / name).is_file():
            shutil.copyfile(base.path / name, folder / name)


def _replace_size(value: Any, matrix: MatrixRows) -> Any:
    """Return a config in which every vocab_size that equals the old number of rows is the new
    one.
    """
    if not isinstance(value, dict):
        return value
    changed = {key: _replace_size(one, matrix) for key, one in value.items()}
    if changed.get("vocab_size") == matrix.rows:
        changed["vocab_size"] = matrix.new_rows
    return changed


def _find_hidden(tokenizer: Tokenizer, chosen: list[PackRows]) -> dict[str, tuple[str, ...]]:
    """Return the tokens of each pack that the tokenizer splits, but would not split with this pack
    alone. It never splits exact words of WordPiece and byte-level BPE.
    """
    vocabulary, found = vocabulary_of(tokenizer), dict[str, tuple[str, ...]]()
    for one in chosen:
        silent = frozenset(one.pack.plan["silent_tokens"])
        found[one.pack.name] = tuple(
            token
            for token in one.tokens
            if token not in silent and vocabulary.tokenize_token(token) != (token,)
        )
    return found
