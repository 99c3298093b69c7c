"""Pretraining of a small encoder from scratch, with its own vocabulary and masked-language-model
head.

Text → pre-tokens → vocabulary of any family → blocks → word vectors as initial embeddings →
masked-language-model training. The result is evaluated on held-out lines, which none of these steps
uses: its loss per character is compared with that of a unigram model and of the untrained network.
"""

from collections import Counter
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from tokenizers import Tokenizer

from vocadapt.errors import InputError
from vocadapt.models.contextual.masked_loss import check_roles, compute_masked_loss
from vocadapt.models.layers import get_embeddings
from vocadapt.progress import Progress, part, silent
from vocadapt.settings import check_settings, setting
from vocadapt.spaces.word2vec.trainer import Word2VecSettings
from vocadapt.system.files import write_atomically
from vocadapt.text.corpus import Corpus
from vocadapt.training.callbacks import find_checkpoint
from vocadapt.training.masked.architectures import ARCHITECTURES, HEAD_SIZE, NetworkSize
from vocadapt.training.masked.blocks import pack_blocks
from vocadapt.training.masked.report import TrainingReport
from vocadapt.training.masked.settings import MaskedSettings
from vocadapt.training.masked.trainer import TrainingResult, train_and_validate
from vocadapt.training.masked.validation import Losses, build_held_out_windows, measure_losses
from vocadapt.training.rounding import round_weights
from vocadapt.training.training_text import (
    TrainingText,
    read_pretoken_lines,
    write_training_text,
)
from vocadapt.training.word_vectors import train_on_prepared_text
from vocadapt.vocabulary.families import Vocabulary, find_trainer, list_trainers, vocabulary_of
from vocadapt.vocabulary.families.roles import find_roles

if TYPE_CHECKING:
    import transformers

EMBEDDING_SD = 0.04  # standard deviation of the initial embeddings, about that of BERT's


@dataclass(frozen=True)
class ScratchSettings:
    """Settings of the vocabulary, the architecture and the training.

    Raises InputError if the hidden size cannot be divided into attention heads.
    """

    vocabulary: int = setting(
        16_000, "maximum number of tokens", low=1, high=1_000_000, label="Vocabulary size"
    )
    trainer: str = setting(
        "bpe-merges",
        "trainer of the vocabulary, which determines its tokenizer family",
        choices=list_trainers,
        label="Vocabulary trainer",
    )
    architecture: str = setting(
        "bert", "architecture of the network", choices=ARCHITECTURES, label="Architecture"
    )
    layers: int = setting(4, "number of layers", low=1, high=100)
    hidden: int = setting(
        256, "hidden size, a multiple of 64", low=2, high=8_192, label="Hidden size"
    )
    cased: bool = setting(False, "keep capitals and accents")
    random_rows: bool = setting(
        False,
        "initialize the embeddings at random instead of with word vectors",
        label="Random embeddings",
    )
    training: MaskedSettings = field(default_factory=MaskedSettings)

    def __post_init__(self) -> None:
        check_settings(self)
        if self.hidden % self.heads:
            problem = f"The hidden size {self.hidden} cannot be divided into {self.heads} heads."
            raise InputError(problem, f"Choose a multiple of {HEAD_SIZE}, such as 256.", "hidden")

    @property
    def heads(self) -> int:
        """Number of attention heads per layer, each of dimension 64 as in BERT."""
        return self.size.heads

    @property
    def size(self) -> NetworkSize:
        """Size of the network."""
        return NetworkSize(self.layers, self.hidden, self.training.length)


@dataclass(frozen=True, eq=False)
class ScratchModel:
    """A network pretrained from scratch, its tokens, and the training metrics."""

    network: "transformers.PreTrainedModel"
    tokens: tuple[str, ...]
    settings: ScratchSettings
    trained: TrainingResult
    losses: Losses

    def save(self, folder: Path, half: bool = False) -> None:
        """Write an ordinary model folder, in float16 if `half`."""
        from vocadapt.models.network_class import run_quietly

        family = find_trainer(self.settings.trainer)
        length = self.settings.training.length
        family.save(self.tokens, not self.settings.cased, length, folder)
        network = self.network.half() if half else self.network
        run_quietly(lambda: network.save_pretrained(folder))

    @property
    def report(self) -> TrainingReport:
        """The report of the training."""
        return TrainingReport(
            stage="from-scratch", **self.trained.list_metrics(), **self.losses.list_figures()
        )


def pretrain_from_scratch(
    corpus: Corpus,
    settings: ScratchSettings,
    progress: Progress = silent,
    checkpoint: Path | None = None,
    half: bool = False,
) -> ScratchModel:
    """Pretrain a small encoder from scratch.

    The same seed gives the same weights, even if training is interrupted. checkpoint: folder for
    checkpoints; a second call with the same folder resumes an interrupted training. half: round the
    trained weights to float16 and report the loss after rounding.

    Raises InputError if the text is too short, or if the training diverges.
    """
    import torch

    with TemporaryDirectory(prefix="vocadapt-") as temporary:
        folder = checkpoint or Path(temporary)
        training = settings.training

        # 1. Text -> vocabulary -> blocks and held-out windows.
        family = find_trainer(settings.trainer)
        splitter = family.make_training_splitter(not settings.cased)
        report = part(progress, 0.0, 0.05)
        text = write_training_text(corpus, splitter, folder, training.seed, report)
        tokens = _load_or_train_vocabulary(text, settings, folder, part(progress, 0.05, 0.06))
        vocabulary = _read_vocabulary(family.build(tokens, not settings.cased))
        progress(0.06, "packing the text into blocks")
        blocks = pack_blocks(text.sentences, vocabulary, training.length)
        held_out = build_held_out_windows(text, vocabulary, training.length)

        # 2. A network with random weights, and word vectors as its embeddings.
        network = build_network(vocabulary, settings)
        untrained = compute_masked_loss(network, vocabulary, held_out)
        # A checkpoint already contains the embeddings.
        if not settings.random_rows and not find_checkpoint(folder):
            report = part(progress, 0.07, 0.12)
            _initialize_embeddings(network, text, vocabulary, settings, folder, report)

        # 3. Train.
        report = part(progress, 0.12, 0.98)
        trained, _ = train_and_validate(network, blocks, held_out, training, folder, report)

        # 4. Measure the held-out loss of the weights as they will be saved.
        progress(0.98, "measuring the held-out loss")
        if half:
            round_weights(network, torch.float16)
        losses = measure_losses(network, blocks, held_out, untrained, trained.steps, training.lr)
        return ScratchModel(network, tokens, settings, trained, losses)


def build_network(
    vocabulary: Vocabulary, settings: ScratchSettings
) -> "transformers.PreTrainedModel":
    """Build a network with random weights drawn from the seed.

    The global random state is left unchanged.
    """
    import torch

    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(settings.training.seed)
        return ARCHITECTURES[settings.architecture].build(settings.size, vocabulary)


def _read_vocabulary(tokenizer: Tokenizer) -> Vocabulary:
    vocabulary = vocabulary_of(tokenizer)
    if vocabulary.list_missing("cls", "sep", "mask", "pad"):
        vocabulary = replace(vocabulary, declared_roles=find_roles(tokenizer, {}, {}))
    check_roles(vocabulary, "cls", "sep", "mask", "pad")
    return vocabulary


def _load_or_train_vocabulary(
    text: TrainingText, settings: ScratchSettings, folder: Path, progress: Progress
) -> tuple[str, ...]:
    file = folder / "vocab.txt"
    if not file.is_file():
        counts = Counter(chain.from_iterable(read_pretoken_lines(text.sentences)))
        trainer = settings.trainer
        tokens = find_trainer(trainer).train(counts, settings.vocabulary, trainer, progress)
        write_atomically(file, "\n".join(tokens))
    return tuple(file.read_text(encoding="utf-8").split("\n"))


def _initialize_embeddings(
    network: "transformers.PreTrainedModel",
    text: TrainingText,
    vocabulary: Vocabulary,
    settings: ScratchSettings,
    folder: Path,
    progress: Progress,
) -> None:
    """Set the input embeddings to word2vec vectors of the tokens, scaled to the standard
    deviation EMBEDDING_SD.

    The vectors are trained in a single thread for reproducibility.
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
