"""Pretraining from scratch: a text becomes a small BERT with its own vocabulary and
masked-language-model head.

Text → words → WordPiece vocabulary → blocks → word vectors as initial embeddings →
masked-language-model training. Held-out lines, unseen by all of these steps, measure the success:
loss per character, compared with a unigram model and with the untrained network.
"""

from collections import Counter
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from vocadapt.errors import InputError
from vocadapt.models.contextual.masked_loss import (
    WindowSettings,
    build_loss_windows,
    compute_masked_loss,
    compute_unigram_loss,
)
from vocadapt.models.layers import get_embeddings
from vocadapt.progress import Progress, part, silent
from vocadapt.settings import check_settings, setting
from vocadapt.spaces.word2vec.trainer import Word2VecSettings
from vocadapt.text.corpus import Corpus
from vocadapt.text.splitter import Splitter
from vocadapt.training.callbacks import check_finite, find_checkpoint
from vocadapt.training.masked.blocks import pack_blocks
from vocadapt.training.masked.settings import MaskedSettings
from vocadapt.training.masked.trainer import TrainingResult, count_steps, train_masked
from vocadapt.training.masked.training_text import TrainingText, write_training_text
from vocadapt.training.masked.validation import HeldOutValidator, Losses
from vocadapt.training.rounding import round_weights
from vocadapt.training.word_vectors import train_on_prepared_text
from vocadapt.vocabulary.families import Vocabulary, find_trainer, list_trainers, vocabulary_of

if TYPE_CHECKING:
    import transformers

EMBEDDING_SD = 0.04  # standard deviation of the initial embeddings, about that of BERT's
HEAD = 64  # width of an attention head


@dataclass(frozen=True)
class ScratchSettings:
    """What to build, and how it is trained.

    Raises InputError for sizes that cannot be built.
    """

    vocabulary: int = setting(
        16_000, "maximum number of wordpieces", low=1, high=1_000_000, label="Vocabulary size"
    )
    trainer: str = setting(
        "bpe-merges", "WordPiece trainer", choices=list_trainers, label="WordPiece trainer"
    )
    layers: int = setting(4, "number of layers", low=1, high=100)
    hidden: int = setting(
        256, "hidden size, a multiple of 64", low=2, high=8_192, label="Hidden size"
    )
    cased: bool = setting(False, "keep capitals and accents")
    random_rows: bool = setting(
        False,
        "initialize the embeddings randomly, instead of by word vectors",
        label="Random embeddings",
    )
    training: MaskedSettings = field(default_factory=MaskedSettings)

    def __post_init__(self) -> None:
        check_settings(self)
        if self.hidden % self.heads:
            problem = f"The hidden size {self.hidden} cannot be divided into {self.heads} heads."
            raise InputError(problem, f"Choose a multiple of {HEAD}, such as 256.", "hidden")

    @property
    def heads(self) -> int:
        """Number of attention heads per layer, 64 wide as in BERT."""
        return max(1, self.hidden // HEAD)


@dataclass(frozen=True, eq=False)
class ScratchModel:
    """A network pretrained from scratch, its tokens, and the figures of the training."""

    network: "transformers.PreTrainedModel"
    tokens: tuple[str, ...]
    settings: ScratchSettings
    trained: TrainingResult
    losses: Losses

    def save(self, folder: Path, half: bool = False) -> None:
        """Write an ordinary model folder; with `half` in float16."""
        from vocadapt.models.loading import run_quietly

        family, length = find_trainer(self.settings.trainer), self.settings.training.length
        family.save(self.tokens, not self.settings.cased, length, folder)
        network = self.network.half() if half else self.network
        run_quietly(lambda: network.save_pretrained(folder))

    def to_dict(self) -> dict[str, Any]:
        """Return the report as JSON values."""
        return {**self.trained.to_dict(), **self.losses.to_record()}


def pretrain_from_scratch(
    corpus: Corpus,
    settings: ScratchSettings,
    progress: Progress = silent,
    checkpoint: Path | None = None,
    half: bool = False,
) -> ScratchModel:
    """Pretrain a small BERT from scratch; the same seed gives the same weights, even if training
    was interrupted.

    checkpoint: folder for resuming; a second call with the same folder resumes an interrupted
    training. half: round the trained weights to float16 and report the loss after rounding.

    Raises InputError for too little text, and if the training diverges.
    """
    import torch

    with TemporaryDirectory(prefix="vocadapt-") as temporary:
        folder, how = checkpoint or Path(temporary), settings.training

        # 1. Text -> vocabulary -> blocks and held-out windows.
        splitter = Splitter.bert(not settings.cased)
        text = write_training_text(corpus, splitter, folder, how.seed, part(progress, 0.0, 0.05))
        tokens = _load_or_train_vocabulary(text, settings, folder, part(progress, 0.05, 0.06))
        vocabulary = vocabulary_of(find_trainer(settings.trainer).build(tokens, not settings.cased))
        progress(0.06, "packing the text into blocks")
        blocks = pack_blocks(text.sentences, vocabulary, how.length)
        window_settings = WindowSettings().within(how.length)
        held_out = tuple(
            build_loss_windows(text.held_out, text.splitter, vocabulary, window_settings)
        )

        # 2. A network with random weights, and word vectors as its embeddings.
        network = build_network(vocabulary.role_ids["pad"], len(vocabulary), settings)
        untrained = compute_masked_loss(network, vocabulary, held_out)
        # A checkpoint contains the embeddings already.
        if not settings.random_rows and not find_checkpoint(folder):
            report = part(progress, 0.07, 0.12)
            _initialize_embeddings(network, text, vocabulary, settings, folder, report)

        # 3. Train.
        validator = HeldOutValidator(
            network,
            vocabulary,
            held_out,
            folder,
            how.batch * how.length,
            lambda: count_steps(network, blocks, how, folder),
        )
        trained = train_masked(network, blocks, how, folder, part(progress, 0.12, 0.98), validator)
        # The validator's clock includes the time before an interruption.
        trained = replace(trained, seconds=validator.seconds or trained.seconds)

        # 4. Measure the held-out loss of the weights as they will be saved.
        progress(0.98, "measuring the held-out loss")
        if half:
            round_weights(network, torch.float16)
        after = compute_masked_loss(network, vocabulary, held_out)
        last = f"step {trained.steps:,}, the last"
        check_finite(after.nats, last, how.lr, "The held-out loss is")
        losses = Losses(compute_unigram_loss(blocks.counts, held_out), untrained, after)
        return ScratchModel(network, tokens, settings, trained, losses)


def build_network(
    pad: int, tokens: int, settings: ScratchSettings
) -> "transformers.PreTrainedModel":
    """Build a network with random weights of the seed; the global random state is unchanged."""
    import torch
    from transformers import BertConfig, BertForMaskedLM

    config = BertConfig(
        vocab_size=tokens,
        hidden_size=settings.hidden,
        num_hidden_layers=settings.layers,
        num_attention_heads=settings.heads,
        intermediate_size=4 * settings.hidden,
        max_position_embeddings=settings.training.length,
        pad_token_id=pad,
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(settings.training.seed)
        return BertForMaskedLM(config)


def count_words_in_file(sentences: Path) -> Counter[str]:
    """Count the words of a file of space-separated words, one sentence per line."""
    counts: Counter[str] = Counter()
    with sentences.open(encoding="utf-8", newline="\n") as file:
        for line in file:
            counts.update(line.rstrip("\n").split(" "))
    del counts[""]
    return counts


def _load_or_train_vocabulary(
    text: TrainingText, settings: ScratchSettings, folder: Path, progress: Progress
) -> tuple[str, ...]:
    """Return the vocabulary of `folder`, trained if there is none yet."""
    kept = folder / "vocab.txt"
    if not kept.is_file():
        tokens = find_trainer(settings.trainer).train(
            count_words_in_file(text.sentences), settings.vocabulary, settings.trainer, progress
        )
        part_file = kept.with_suffix(".part")
        part_file.write_text("\n".join(tokens), encoding="utf-8")
        part_file.rename(kept)
    return tuple(kept.read_text(encoding="utf-8").split("\n"))


def _initialize_embeddings(
    network: "transformers.PreTrainedModel",
    text: TrainingText,
    vocabulary: Vocabulary,
    settings: ScratchSettings,
    folder: Path,
    progress: Progress,
) -> None:
    """Set the input embeddings to word vectors of the wordpieces, scaled to the standard deviation
    ROW_SD; trained in a single thread for reproducibility.
    """
    import torch

    word2vec = Word2VecSettings(
        dim=settings.hidden, min_count=1, epochs=3, seed=settings.training.seed, workers=1
    )
    space = train_on_prepared_text(text, vocabulary, word2vec, folder / "wordpieces.txt", progress)
    vectors = space.matrix * (EMBEDDING_SD / float(space.matrix.std()))
    ids = torch.tensor([vocabulary.ids[token] for token in space.words])
    with torch.no_grad():
        get_embeddings(network)[ids] = torch.from_numpy(vectors)
