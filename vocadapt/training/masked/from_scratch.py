"""Masked-word training from scratch: a text → a small BERT of one's own, with its vocabulary and
its masked-word head.

Text → words → a WordPiece vocabulary → blocks → word vectors of the wordpieces as first rows →
whole-word masked training on transformers' Trainer. Held-out lines, which none of these steps sees,
tell how good it became: loss per character against a unigram model and against the same network
untrained.
"""

from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from vocadapt.errors import InputError
from vocadapt.models.contextual.masked_loss import (
    WindowSettings,
    masked_word_loss,
    unigram_loss,
    windows,
)
from vocadapt.models.layers import input_rows
from vocadapt.progress import Progress, part, silent
from vocadapt.settings import bounded, check_settings
from vocadapt.spaces.space import EmbeddingSpace
from vocadapt.spaces.word2vec.trainer import Word2VecSettings
from vocadapt.text.corpus import Corpus
from vocadapt.text.splitter import Splitter
from vocadapt.training.callbacks import check_finite, find_checkpoint
from vocadapt.training.masked.blocks import Blocks, pack
from vocadapt.training.masked.budget import count_steps
from vocadapt.training.masked.held_out_loss import Losses
from vocadapt.training.masked.trainer import MaskedSettings, TrainingResult, train_masked
from vocadapt.training.masked.training_text import TrainingText, write_training_text
from vocadapt.training.masked.validation import HeldOutValidator
from vocadapt.training.rounding import round_weights
from vocadapt.training.token_space import token_vectors
from vocadapt.vocabulary.families.wordpiece import Vocabulary, build_tokenizer, vocabulary_of
from vocadapt.vocabulary.families.wordpiece_training import (
    TrainerSettings,
    count_sentences,
    train_wordpiece,
)

if TYPE_CHECKING:
    import transformers

ROW_SD = 0.04  # of the first rows: about what BERT's own have
HEAD = 64  # width of an attention head


@dataclass(frozen=True)
class ScratchSettings:
    """What is built from scratch: vocabulary size and trainer, layers, width, cased or not.

    The first rows are word2vec's or `random_rows`. Raises InputError for sizes that cannot be
    built, and for an unknown trainer.
    """

    vocabulary: int = bounded(16_000, 1, 1_000_000, "Vocabulary size")
    trainer: str = "bpe-merges"
    layers: int = bounded(4, 1, 100, "Layers")
    hidden: int = bounded(256, 2, 8_192, "Hidden size")
    cased: bool = False
    random_rows: bool = False
    training: MaskedSettings = field(default_factory=MaskedSettings)

    def __post_init__(self) -> None:
        check_settings(self)
        TrainerSettings(self.trainer)
        if self.hidden % self.heads:
            problem = f"The hidden size {self.hidden} cannot be divided into {self.heads} heads."
            raise InputError(problem, f"Choose a multiple of {HEAD}, such as 256.")

    @property
    def heads(self) -> int:
        """Attention heads of a layer, 64 wide as BERT's."""
        return max(1, self.hidden // HEAD)


@dataclass(frozen=True, eq=False)
class Pretrained:
    """A trained network, its tokenizer, and how it went."""

    network: "transformers.PreTrainedModel"
    tokens: tuple[str, ...]
    settings: ScratchSettings
    trained: TrainingResult
    losses: Losses

    def save(self, folder: Path, half: bool = False) -> None:
        """Write an ordinary model folder; with `half` in float16."""
        from vocadapt.models.loading import quietly

        (folder / "vocab.txt").write_text(
            "".join(f"{token}\n" for token in self.tokens), encoding="utf-8"
        )
        save_tokenizer(self.tokens, self.settings, folder)
        network = self.network.half() if half else self.network
        quietly(lambda: network.save_pretrained(folder))

    def to_dict(self) -> dict[str, Any]:
        """The report, in numbers."""
        return {**self.trained.to_dict(), **self.losses.to_record()}


def pretrain_from_scratch(
    corpus: Corpus,
    settings: ScratchSettings,
    progress: Progress = silent,
    checkpoint: Path | None = None,
    half: bool = False,
) -> Pretrained:
    """Train a small BERT from scratch; the same seed gives the same weights, even if training was
    interrupted.

    checkpoint: folder for resuming; a second call with the same folder continues an interrupted
    training.
    half: round the trained weights to float16 and report the loss after rounding.
    Raises InputError for too little text, and if the training diverges.
    """
    import torch

    with TemporaryDirectory(prefix="vocadapt-") as temporary:
        folder, how = checkpoint or Path(temporary), settings.training
        material = write_training_text(
            corpus, Splitter.bert(not settings.cased), folder, how.seed, part(progress, 0.0, 0.05)
        )
        tokens = _vocabulary(material, settings, folder, part(progress, 0.05, 0.06))
        vocabulary = vocabulary_of(build_tokenizer(tokens, not settings.cased))
        progress(0.06, "cutting the text into blocks")
        blocks = pack(material.sentences, vocabulary, how.length)
        asked = tuple(
            windows(
                material.held_out,
                material.splitter,
                vocabulary,
                WindowSettings().within(how.length),
            )
        )
        network = build(vocabulary.ids["[PAD]"], len(vocabulary), settings)
        random = masked_word_loss(network, vocabulary, asked)
        if not settings.random_rows and not find_checkpoint(
            folder
        ):  # else the rows come with the checkpoint
            _put_rows(
                network,
                _rows(material, blocks, settings, folder, part(progress, 0.07, 0.12)),
                vocabulary,
            )
        listener = HeldOutValidator(
            network,
            vocabulary,
            asked,
            folder,
            how.batch * how.length,
            lambda: count_steps(network, blocks, how, folder),
        )
        trained = train_masked(network, blocks, how, folder, part(progress, 0.12, 0.98), listener)
        trained = replace(
            trained, seconds=listener.seconds or trained.seconds
        )  # of all that was done, stopped or not
        progress(0.98, "asking it the held-out words")
        if half:  # report the loss of the saved weights
            round_weights(network, torch.float16)
        after = masked_word_loss(network, vocabulary, asked)
        check_finite(
            after.nats, f"step {trained.steps:,}, the last", how.lr, "The held-out loss is"
        )
        return Pretrained(
            network,
            tokens,
            settings,
            trained,
            Losses(unigram_loss(blocks.counts, asked), random, after),
        )


def build(pad: int, tokens: int, settings: ScratchSettings) -> "transformers.PreTrainedModel":
    """A network with random weights by the seed; the global generator is left as it was."""
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


def save_tokenizer(tokens: tuple[str, ...], settings: ScratchSettings, folder: Path) -> None:
    """Write BERT's tokenizer over these tokens into a model folder."""
    from transformers import BertTokenizer

    tokenizer = BertTokenizer(
        vocab={token: i for i, token in enumerate(tokens)}, do_lower_case=not settings.cased
    )
    tokenizer.model_max_length = settings.training.length
    tokenizer.save_pretrained(folder)


def _vocabulary(
    material: TrainingText, settings: ScratchSettings, folder: Path, progress: Progress
) -> tuple[str, ...]:
    """The vocabulary, trained once: a training that goes on takes the kept one."""
    kept = folder / "vocab.txt"
    if not kept.is_file():
        trainer = TrainerSettings(settings.trainer)
        tokens = train_wordpiece(
            count_sentences(material.sentences), settings.vocabulary, trainer, progress
        )
        part_file = kept.with_suffix(".part")
        part_file.write_text("\n".join(tokens), encoding="utf-8")
        part_file.rename(kept)
    return tuple(kept.read_text(encoding="utf-8").split("\n"))


def _rows(
    material: TrainingText,
    blocks: Blocks,
    settings: ScratchSettings,
    folder: Path,
    progress: Progress,
) -> EmbeddingSpace:
    """Train word vectors of the wordpieces on the tokenized text, in one thread for
    reproducibility.
    """
    word2vec = Word2VecSettings(
        dim=settings.hidden, min_count=1, epochs=3, seed=settings.training.seed, workers=1
    )
    space = token_vectors(
        material, blocks.vocabulary, word2vec, folder / "wordpieces.txt", progress
    )
    return replace(space, matrix=space.matrix * (ROW_SD / float(space.matrix.std())))


def _put_rows(
    network: "transformers.PreTrainedModel", rows: EmbeddingSpace, vocabulary: Vocabulary
) -> None:
    import torch

    ids = torch.tensor([vocabulary.ids[token] for token in rows.words])
    with torch.no_grad():
        input_rows(network)[ids] = torch.from_numpy(rows.matrix.copy())
