"""Certificate: checks that a change of the vocabulary changed nothing else in a model.

A user who replaces a model by its adapted version expects everything else to be the same:
embeddings of kept tokens, special tokens, padding, output layer, all other weights, and outputs for
texts without new tokens. The certificate checks each of these, bit by bit if possible. A check is a
function of the two models. All checks are always run, and the certificate passes if all pass.

The certificate also lists which other programs load the adapted model correctly. These results do
not count for the verdict.
"""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict, dataclass

import numpy as np

from vocadapt.errors import InputError
from vocadapt.models import layers
from vocadapt.models.adapted_model import hash_embeddings, list_new_tokens
from vocadapt.models.add_extension import open_gates
from vocadapt.models.certificate.comparisons import (
    BIT_EQUAL,
    DIFFERENT,
    compare_free_rows,
    compare_named_tokens,
    compare_outputs,
    describe_output_norms,
    describe_tie,
    draw_sequences,
    find_padding_token,
    list_token_tensor_names,
    view_bits,
)
from vocadapt.models.certificate.reload_process import build_input, reload_in_new_process
from vocadapt.models.certificate.tokenizer_settings import (
    compare_added_tokens,
    compare_tokenizer_settings,
)
from vocadapt.models.edit import LINES, Edit
from vocadapt.models.embedding_matrix.padding import count_rows
from vocadapt.models.embedding_matrix.stored import find_embeddings
from vocadapt.models.extension_size import is_extension_tensor
from vocadapt.models.language_model import LanguageModel
from vocadapt.models.layers import get_embeddings
from vocadapt.models.loaders.loader import LoadResult
from vocadapt.models.loaders.registry import LoaderSettings, try_loaders
from vocadapt.progress import Progress, parts, silent
from vocadapt.report.table import Column
from vocadapt.text.splitter import Splitter
from vocadapt.text.summary import MANY, Summarized, Summary, Table
from vocadapt.text.tokenization import encode, encode_batch

__all__ = ["CHECKS", "LINES", "Certificate", "Check", "Edit", "certify", "run_check"]

LOADING = "loading in other programs"
MAX_NAMED = 5  # differences that a check names
COSTS = {"outputs": 25.0, "reload": 25.0}  # relative to the other checks, measured


@dataclass(frozen=True)
class Check:
    """The result of a check: its name, whether it passed, and its figures in a sentence."""

    name: str
    passed: bool
    detail: str

    @property
    def state(self) -> str:
        """Passed or FAILED."""
        return "passed" if self.passed else "FAILED"


CHECK_COLUMNS = (Column("state", "Result"), Column("name", "Check"), Column("detail", "Detail"))


@dataclass(frozen=True, repr=False)
class Certificate(Summarized):
    """The results of all checks of an edit, and of the programs that load the edited model."""

    checks: tuple[Check, ...]
    loads: tuple[LoadResult, ...] = ()

    @property
    def passed(self) -> bool:
        """Whether every check passed."""
        return all(check.passed for check in self.checks)

    def summarize(self) -> Summary:
        """Return the verdict and every check, failed ones first."""
        failed = [check for check in self.checks if not check.passed]
        verdict = f"FAILED ({len(failed)} of {len(self.checks)} checks)"
        if not failed:
            verdict = f"passed ({len(self.checks)} checks)"
        checks = [
            (check.state, check.name, check.detail)
            for check in sorted(self.checks, key=lambda check: check.passed)
        ]
        loads = [(one.state, one.program, one.detail) for one in self.loads]
        tables = (
            Table(("", "check", "detail"), checks, len(checks), "checks", shown=MANY),
            Table(("", "loads correctly in", "detail"), loads, len(loads), "programs", shown=MANY),
        )
        return Summary("", {"verdict": verdict}, tables)

    def to_dict(self) -> dict[str, object]:
        """Return the certificate as JSON values."""
        return {
            "passed": self.passed,
            "checks": [asdict(check) for check in self.checks],
            "loads": [asdict(result) for result in self.loads],
        }


def certify(
    before: LanguageModel,
    after: LanguageModel,
    lines: Sequence[str] | None = None,
    progress: Progress = silent,
    loaders: LoaderSettings | None = None,
) -> Certificate:
    """Run every check on an edited model, and load it in other programs.

    lines: lines of text on which the outputs are compared (None: four built-in sentences).
    loaders: programs to load the edited model in; None: the quick ones.
    Raises InputError if either model has no weights.
    """
    for model in (before, after):
        # A folder without a readable model is an error, not a failed check.
        _ = model.config
        find_embeddings(model)
    edit = Edit(before, after, tuple(lines or LINES))
    checks = []
    stages = parts(progress, {name: COSTS.get(name, 1.0) for name in CHECKS} | {LOADING: 0.0})
    for name in CHECKS:
        stages[name](0.0, f"certificate: {name}")
        checks.append(run_check(name, edit))
    return Certificate(tuple(checks), try_loaders(edit, loaders, stages[LOADING]))


def run_check(name: str, edit: Edit) -> Check:
    """Run a check; if it raises an error because a model is damaged, it fails with the reason."""
    try:
        passed, detail = CHECKS[name](edit)
    except InputError as error:
        passed = False
        detail = f"could not be checked: {error.problem}"
    except (RuntimeError, IndexError, KeyError, ValueError) as error:
        reason = str(error).splitlines()[0]
        passed = False
        detail = f"could not be checked, the two models do not match: {reason}"
    return Check(name, passed, detail)


def check_kept_embeddings(edit: Edit) -> tuple[bool, str]:
    """Check that every kept token has a bit-identical embedding."""
    import torch

    old = get_embeddings(edit.before.network)[edit.ids(edit.before, edit.kept)]
    new = get_embeddings(edit.after.network)[edit.ids(edit.after, edit.kept)]
    same = 0
    if old.dtype == new.dtype:
        same = int((view_bits(old) == view_bits(new)).all(dim=1).sum())
    detail = (
        f"{same:,} of {len(edit.kept):,} kept embeddings are bit-identical, {len(edit.replaced):,}"
        " were replaced on purpose"
    )
    # Rows without a token may hold anything: some checkpoints have NaN there.
    finite = torch.isfinite(get_embeddings(edit.after.network).detach()).all(dim=1)
    n_tokens = len(edit.after.vocabulary)
    if n_free := int((~finite[n_tokens:]).sum()):
        detail += f"; {n_free:,} rows without a token are not finite"
    if not finite[:n_tokens].all():
        return False, f"{detail}; some embeddings are not finite"
    return same == len(edit.kept), detail


def check_token_ids(edit: Edit) -> tuple[bool, str]:
    """Check that kept tokens have the same ids, unless the plan moves tokens, and that the special
    tokens are the same, and so are all tokens that config.json and generation_config.json name.
    """
    before, after = edit.before.vocabulary, edit.after.vocabulary
    # 1. Ids may change only if tokens were removed or reordered.
    moved, detail = 0, "the plan may change ids"
    if not edit.rearranged and all(token in after for token in before.tokens):
        moved = sum(before.ids[token] != after.ids[token] for token in before.tokens)
        detail = f"{moved:,} of {len(before):,} ids changed"

    # 2. Compare the tokens that the config files name, and the special tokens of the tokenizer.
    wrong, dropped = compare_named_tokens(edit)
    special = edit.after.tokenizer.special_tokens_map
    wrong += [
        name
        for name, token in edit.before.tokenizer.special_tokens_map.items()
        if str(special.get(name)) != str(token)
    ]
    detail += f", special tokens that differ: {', '.join(wrong) or 'none'}"
    if dropped:
        detail += f", removed tokens that are no longer named: {', '.join(dropped)}"
    if edit.before.casing_note:
        detail += f". {edit.before.casing_note}"
    return moved == 0 and not wrong, detail


def check_tokenizer_settings(edit: Edit) -> tuple[bool, str]:
    """Check that every entry of the tokenizer's settings, its chat templates, added tokens,
    truncation and padding are the same.
    """
    n_entries, wrong = compare_tokenizer_settings(edit)
    wrong += compare_added_tokens(edit)
    detail = f"{n_entries:,} entries and the flags of added tokens compared"
    return not wrong, f"{detail}, that differ: {', '.join(wrong[:MAX_NAMED]) or 'none'}"


def check_padding(edit: Edit) -> tuple[bool, str]:
    """Check that the embedding layer treats the same token as padding."""
    old = find_padding_token(edit.before)
    new = find_padding_token(edit.after)
    return old == new, f"padding token before: {old}, after: {new}"


def check_tied_head(edit: Edit) -> tuple[bool, str]:
    """Check that the output layer shares the embeddings if and only if it did before."""
    old = describe_tie(edit.before.network)
    new = describe_tie(edit.after.network)
    return old == new, f"output layer before: {old}, after: {new}"


def check_output_bias(edit: Edit) -> tuple[bool, str]:
    """Check that the output bias of every kept token is unchanged, and that there is one bias for
    each embedding.
    """
    old = layers.get_output_bias(edit.before.network)
    new = layers.get_output_bias(edit.after.network)
    if new is None:
        return old is None, "no output bias"
    if old is None:
        return False, "an output bias was added"
    rows = len(get_embeddings(edit.after.network))
    kept = len(edit.kept)
    old_kept = old[edit.ids(edit.before, edit.kept)]
    new_kept = new[edit.ids(edit.after, edit.kept)]
    same = int((view_bits(old_kept) == view_bits(new_kept)).sum())
    detail = (
        f"{same:,} of {kept:,} kept biases are bit-identical, {len(new):,} biases for {rows:,}"
        " embeddings"
    )
    return same == kept and len(new) == rows, detail


def check_size(edit: Edit) -> tuple[bool, str]:
    """Check that `vocab_size` is the number of embeddings, that every token id has an embedding,
    that a padded matrix is padded to the same multiple, and that its rows without a token are
    unchanged.
    """
    old, new = (get_embeddings(model.network) for model in (edit.before, edit.after))
    tokens = len(edit.after.vocabulary)
    rows = len(new)
    stated = edit.after.config.get("vocab_size")
    detail = f"vocab_size {stated}, {rows:,} embeddings, largest id {tokens - 1}"
    passed = stated == rows and tokens <= rows

    # A matrix that was padded stays padded.
    expected = count_rows(
        len(edit.before.vocabulary), len(old), tokens, keeps_rows=not edit.rearranged
    )
    if expected.free <= 0:
        return passed, detail
    same, n_free = compare_free_rows(old, new, expected, edit.rearranged)
    detail += f", {same:,} of {n_free:,} rows without a token are bit-identical"
    if expected.multiple > 1:
        detail += f", padded to a multiple of {expected.multiple}"
    return passed and rows == expected.new_rows and same == n_free, detail


def check_other_tensors(edit: Edit) -> tuple[bool, str]:
    """Check that all tensors that do not depend on the vocabulary are present and bit-identical.

    Only the tensors of extension modules may be new.
    """
    import torch

    # 1. Compare the tensors that both models have.
    old = edit.before.network.state_dict()
    new = edit.after.network.state_dict()
    of_tokens = {*list_token_tensor_names(edit.before), *list_token_tensor_names(edit.after)}
    names = [name for name in old if name not in of_tokens]
    common = [name for name in names if name in new]
    same = [name for name in common if torch.equal(view_bits(old[name]), view_bits(new[name]))]
    detail = f"{len(same)} of {len(names)} other tensors are bit-identical"

    # 2. List the tensors that only one of them has; those of extension modules are expected.
    extension: set[str] = set()
    if edit.extended:
        extension = set(filter(is_extension_tensor, set(new) - set(old)))
    if extension:
        detail += f", {len(extension)} belong to the extension"
    wrong = [name for name in names if name not in same]
    wrong += sorted(set(old) ^ set(new) - extension)
    if wrong:
        detail += f"; differ: {', '.join(wrong[:3])}"
    return not wrong, detail


def check_added_tokens(edit: Edit) -> tuple[bool, str]:
    """Check that the tokenizer produces the token of each added word, alone and before another
    word, and that each added continuation is reachable. Old tokens that it never produced before,
    and that became exact words, are checked as added words are.

    Unreachable tokens of a vocabulary that was taken over from a target model are listed in the
    record, and accepted.
    """
    activated = edit.before.vocabulary.find_activated(edit.after.vocabulary)
    unreachable = _find_unreachable(edit, activated)
    # Accept the tokens that are unreachable in the vocabulary of the target, too.
    unexpected = unreachable.difference(edit.plan.get("silent_tokens", ()))
    faults = [token for token in (*edit.added, *activated) if token in unexpected]
    n_reachable = len(edit.added) - len(unreachable - activated)
    detail = f"{n_reachable:,} of {len(edit.added):,} added tokens are reachable"
    if activated:
        n_now = len(activated - unreachable)
        detail += f", and {n_now:,} of {len(activated):,} old tokens that are exact words now"
    if known := len(unreachable) - len(faults):
        detail += f", {known:,} are unreachable in the target's vocabulary, too"
    if faults:
        detail += f", unreachable is for example {faults[0]!r}"
    return not faults, detail


def _find_unreachable(edit: Edit, activated: frozenset[str]) -> set[str]:
    vocabulary, splitter = edit.after.vocabulary, edit.after.splitter
    # 1. The tokenizer must return the token of each added word, alone and before another word.
    words = {
        token: text
        for token in edit.added
        if not vocabulary.continues(token) and (text := _find_text(token, splitter)) is not None
    }
    words.update({token: token for token in activated})
    lines = [text + (text if text.startswith(" ") else f" {text}") for text in words.values()]
    encoded = encode_batch(
        edit.after.fast_tokenizer, [*words.values(), *lines], add_special_tokens=False
    )
    unreachable = {
        token
        for token, one, line in zip(
            words, encoded[: len(words)], encoded[len(words) :], strict=True
        )
        if one.ids != [vocabulary.ids[token]] or line.ids[:1] != one.ids
    }
    # 2. For the others, such as continuations and parts of characters, compute whether they are
    #    reachable.
    others = set(edit.added).difference(words)
    return unreachable | set(vocabulary.find_unreachable(splitter, others))


def _find_text(token: str, splitter: Splitter) -> str | None:
    """Return a text whose only pre-token is a token; None if there is none.

    Some tokenizers add the space before the first word themselves.
    """
    text = splitter.read_pretoken(token)
    found = (one for one in (text, text.removeprefix(" ")) if splitter.pretokens(one) == [token])
    return next(found, None)


def check_new_embeddings(edit: Edit) -> tuple[bool, str]:
    """Check that the new embeddings have the hash that is in the record, and that the record lists
    all added tokens. The norms of new rows of an untied output layer are stated beside the old
    ones.
    """
    recorded = edit.record.get("rows")
    tokens = list_new_tokens(edit.plan)
    norms = describe_output_norms(edit)
    if recorded is None:
        return True, f"{len(edit.added):,} added embeddings, no record to compare them with{norms}"
    if unknown := set(edit.added) - set(tokens):
        return False, f"{len(unknown):,} of {len(edit.added):,} added tokens are not in the record"
    rows = get_embeddings(edit.after.network)[edit.ids(edit.after, tokens)]
    if hash_embeddings(rows) != recorded:
        return False, f"the {len(tokens):,} new embeddings differ from those in the record"
    return True, f"the {len(tokens):,} new embeddings are those in the record{norms}"


def check_position_classes(edit: Edit) -> tuple[bool, str]:
    """Check that no embedding of a continuation ("##oma") was computed from the pieces of its text
    as a word start ("oma").

    Code that removes the mark and tokenizes the rest makes this error. It is detected if an
    embedding equals the mean of these pieces.
    """
    before, after = edit.before.vocabulary, edit.after.vocabulary
    # Another form of a word has the embedding of its main form on purpose.
    forms = edit.plan.get("forms", {})
    continuations = [token for token in edit.added if after.continues(token) and token not in forms]
    rows = get_embeddings(edit.before.network).detach().float().numpy()
    new = get_embeddings(edit.after.network).detach().float().numpy()
    wrong = []
    for token in continuations:
        as_start = before.tokenize_token(before.spell(after.body(token)))
        if as_start == before.tokenize_token(token):
            continue
        mean = rows[[before.ids[piece] for piece in as_start]].mean(axis=0)
        if np.allclose(new[after.ids[token]], mean, rtol=1e-3, atol=1e-5):
            wrong.append(token)
    n_starts = len(edit.added) - len(continuations)
    n_continuations = len(continuations)
    detail = f"{n_starts:,} added word starts, {n_continuations:,} added continuations"
    if wrong:
        detail += f"; {len(wrong):,} of them computed as word starts, {wrong[0]!r} first"
    return not wrong, detail


def check_outputs(edit: Edit) -> tuple[bool, str]:
    """Check that the outputs are bit-equal for inputs whose tokenization did not change; logits
    over tokens are compared for kept tokens. Logits may differ in rounding: see `compare_outputs`.

    A network with new extension modules is run with every gate at 1: only the original layers
    contribute.
    """
    # 1. Collect inputs that both models tokenize alike: random kept tokens, and lines of text.
    batches = draw_sequences(edit)
    n_drawn = len(batches)
    for line in edit.lines:
        old = encode(edit.before.fast_tokenizer, line).ids
        new = encode(edit.after.fast_tokenizer, line).ids
        # An encoding contains the text of an unknown character instead of its token: use the ids.
        tokens = [edit.before.vocabulary.tokens[i] for i in old]
        same_tokens = tokens == [edit.after.vocabulary.tokens[i] for i in new]
        if old and same_tokens and not edit.replaced.intersection(tokens):
            batches.append((build_input(edit.before, old), build_input(edit.after, new)))

    # 2. Compare the outputs.
    context: AbstractContextManager[None] = nullcontext()
    if edit.extended:
        context = open_gates(edit.after.network)
    with context:
        found = [compare_outputs(edit, old, new) for old, new in batches]
    n_exact = found.count(BIT_EQUAL)
    detail = f"{n_exact} of {len(batches)} inputs give bit-equal outputs"
    if n_rounded := len(batches) - n_exact - found.count(DIFFERENT):
        detail += f", {n_rounded} bit-equal hidden states, and logits that differ in rounding"
    if edit.extended:
        detail += " with every gate at 1"
    detail += (
        f" ({n_drawn} random sequences, {len(batches) - n_drawn} of {len(edit.lines)} lines whose"
        " tokenization did not change)"
    )
    return DIFFERENT not in found, detail


def check_reload(edit: Edit) -> tuple[bool, str]:
    """Check that transformers alone, in a process without vocadapt, computes the same ids, special
    ids, embeddings and outputs.

    For a network with extension modules the process imports only the module that the card names.
    """
    words = map(edit.after.splitter.read_pretoken, edit.added[:20])
    return reload_in_new_process(edit.after, (*edit.lines, " ".join(" ".join(words).split())))


CHECKS: dict[str, Callable[[Edit], tuple[bool, str]]] = {
    "kept embeddings": check_kept_embeddings,
    "token ids": check_token_ids,
    "tokenizer settings": check_tokenizer_settings,
    "padding token": check_padding,
    "tied head": check_tied_head,
    "output bias": check_output_bias,
    "vocabulary size": check_size,
    "other tensors": check_other_tensors,
    "added tokens reachable": check_added_tokens,
    "new embeddings": check_new_embeddings,
    "position classes": check_position_classes,
    "outputs": check_outputs,
    "reload": check_reload,
}
