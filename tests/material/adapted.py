"""Models that words were added to, and damaged ones."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch
from safetensors.torch import load_file, save_file

from tests.material.files import edit_json
from tests.material.tiny_bert import SPECIAL, TINY_TOKENS
from vocadapt.models.adapted_model import apply_plan
from vocadapt.models.certificate.certificate import Edit
from vocadapt.models.language_model import LanguageModel, open_model
from vocadapt.spaces.space import EmbeddingSpace
from vocadapt.vocabulary.families.wordpiece import WordPieceVocabulary
from vocadapt.vocabulary.initializers.initialize import (
    InitializerSettings,
    Materials,
    NewEmbeddings,
    Provenance,
    initialize,
)
from vocadapt.vocabulary.plan.plan import PlanSettings, VocabularyPlan
from vocadapt.vocabulary.plan.planning import PlanSources, plan_from_words, plan_vocabulary

WORDS = ("heart", "blood", "tachycardia", "euthymia", "hypertension")
HEADS = [
    "BertModel",
    "BertForMaskedLM",
    "BertForPreTraining",
    "BertForTokenClassification",
    "BertForSequenceClassification",
    "BertForQuestionAnswering",
]


def planned(
    model: LanguageModel, kind: str = "append", words: tuple[str, ...] = WORDS
) -> tuple[VocabularyPlan, NewEmbeddings]:
    vectors = np.random.default_rng(1).normal(size=(len(words), model.dim)).astype(np.float32)
    domain = EmbeddingSpace(words, vectors)
    plan = plan_from_words(model.vocabulary, model.splitter, domain, PlanSettings(kind))
    return plan, initialize(Materials(plan, model.space, domain), InitializerSettings("identity"))


def adapted_folder(folder: Path, out: Path, mode: str = "exact-word", kind: str = "append") -> Path:
    model = open_model(folder)
    return apply_plan(model, *planned(model, kind), mode).save(out)


ROWS = "bert.embeddings.word_embeddings.weight"


def change(folder: Path, edit: Callable[[dict[str, torch.Tensor]], None]) -> None:
    tensors = load_file(folder / "model.safetensors")
    edit(tensors)
    save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})


def untie(folder: Path) -> None:
    edit_json(folder / "config.json", tie_word_embeddings=False)
    decoder, bias = "cls.predictions.decoder", "cls.predictions.bias"
    change(
        folder,
        lambda t: t.update(
            {f"{decoder}.weight": t[ROWS].clone(), f"{decoder}.bias": t[bias].clone()}
        ),
    )


# Another order, some tokens gone, some new; the special tokens stand elsewhere too.
TARGET = (
    "[unused0]",
    "[CLS]",
    "[SEP]",
    "tachycardia",
    "[PAD]",
    "[UNK]",
    "[MASK]",
    "##emia",
    *reversed(TINY_TOKENS[60:]),
)


def transfer(model: LanguageModel, renew: bool = False) -> tuple[VocabularyPlan, NewEmbeddings]:
    target = WordPieceVocabulary(TARGET, frozenset(SPECIAL))
    plan = plan_vocabulary(
        model.vocabulary,
        model.splitter,
        PlanSources(target=target),
        PlanSettings("transfer", renew=renew),
    )
    drawn = (
        np.random.default_rng(1)
        .normal(size=(len(plan.new_embeddings), model.dim))
        .astype(np.float32)
    )
    return plan, NewEmbeddings(
        plan.new_embeddings, drawn, tuple(Provenance("drawn") for _ in plan.new_embeddings)
    )


def moved(folder: Path, out: Path) -> Edit:
    model = open_model(folder)
    return Edit(
        open_model(folder), open_model(apply_plan(model, *transfer(model), "replacement").save(out))
    )
