from dataclasses import replace
from typing import ClassVar

import numpy as np

from vocadapt.errors import InputError
from vocadapt.models.heads import EMBEDDING
from vocadapt.spaces.space import normalize_rows
from vocadapt.text.formats.text_file import open_text_file
from vocadapt.training.encoding.encoding import encode_apart
from vocadapt.training.examples.examples import Split, Text
from vocadapt.training.tasks.kinds import register_task_kind
from vocadapt.training.tasks.kinds.labeled_texts import LabeledTexts

SCALE = 20.0  # of cosines, as in sentence-transformers' MultipleNegativesRankingLoss


class Search(LabeledTexts):
    """Queries, each with the document that answers it; the model embeds both and has no head.

    An example is a query; its label is the id of its document, which is its `pair` in training. All
    documents of a file are the collection of its split.
    """

    name = "search"
    about = "the document that answers a query, by the embeddings of both"
    file_format = "a query and its document on each line: what beats? | The heart beats."
    default_scorer = "accuracy"
    head = EMBEDDING
    compares_examples = True
    min_per_label = 0
    error_kinds: ClassVar = {"wrong": "another document"}

    def read(self, path, columns=None):
        """Read queries and documents; the number of a line is the id of its document."""
        with open_text_file(path) as file:
            pairs = [line.strip().split(" | ") for line in file.lines() if line.strip()]
        queries = [Text(str(i), query, (str(i),), text) for i, (query, text) in enumerate(pairs)]
        documents = [Text(str(i), text, None) for i, (_, text) in enumerate(pairs)]
        return Split(tuple(queries), path=path, collection=tuple(documents))

    def labels_of(self, examples):
        """Ids of documents are no labels that a head could learn."""
        return frozenset()

    def encode_examples(self, examples, tokenizers, settings):
        """Encode queries and documents alike, without their answers."""
        return encode_apart([replace(one, pair="") for one in examples], tokenizers, settings)

    def encode_for_training(self, examples, tokenizers, settings, index):
        """Encode each query with its document."""
        encoded = encode_apart(examples, tokenizers, settings)
        return encoded, tuple(np.zeros(1, dtype=np.int64) for _ in examples)

    def compute_batch_loss(self, logits, labels, mask, n_labels):
        """Compare each query with all documents of the batch: its own must be the most similar."""
        import torch

        unit = torch.nn.functional.normalize(logits, dim=-1)
        queries, documents = unit[0::2], unit[1::2]
        own = torch.arange(len(queries), device=logits.device)
        return torch.nn.functional.cross_entropy(SCALE * queries @ documents.T, own)

    def predict(self, logits, example, names):
        """Refuse a query by itself: there is nothing to find it in."""
        raise InputError("A query needs a collection of documents.", code="no-collection")

    def predict_all(self, logits, examples, names, among, collection):
        """Predict the most similar document."""
        queries, documents = (normalize_rows(np.concatenate(part)) for part in (logits, among))
        best = (queries @ documents.T).argmax(axis=1)
        return [(collection[place].id,) for place in best.tolist()]


register_task_kind(Search())
