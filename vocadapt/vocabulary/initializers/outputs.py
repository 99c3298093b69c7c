"""Output rows that a plan adds: the weights, in an output layer that is not tied to the embeddings,
that compute the logit of each new token.

The rows of an output layer form a space of their own, which may have other norms and directions
than the embeddings (a copied embedding of norm .04 among output rows of norm 5.6 can never be
predicted). So an output row is computed from output rows.
"""

from collections.abc import Sequence
from dataclasses import replace

from vocadapt.spaces.alignment.alignment import fit_alignment
from vocadapt.spaces.space import EmbeddingSpace, Matrix
from vocadapt.vocabulary.initializers.materials import (
    INITIALIZERS,
    InitializerSettings,
    Materials,
)
from vocadapt.vocabulary.initializers.mixing import average_pieces
from vocadapt.vocabulary.plan.plan import VocabularyPlan


def initialize_output_rows(
    materials: Materials, settings: InitializerSettings, output: EmbeddingSpace
) -> Matrix:
    """Compute the output rows of `plan.new_embeddings`, (tokens, width) float32.

    materials: those of the embeddings. output: the rows of the old tokens in the output layer.

    An initializer that computes embeddings from those of old tokens computes output rows from
    theirs in the same way; its alignment is fitted to them. Any other is replaced by the mean of
    the pieces.
    """
    if not INITIALIZERS[settings.method].reads_rows:
        return average_output_rows(materials.plan, output, materials.plan.new_embeddings)
    # The kinds tell which tokens are trained: only these are donors and anchors.
    output = replace(output, kinds=materials.model.kinds)
    own = replace(materials, model=output)
    source = materials.domain
    if source is None:
        source = materials.target
    if materials.alignment is not None and source is not None:
        own = replace(own, alignment=fit_alignment(source, output, materials.alignment.settings))
    return INITIALIZERS[settings.method].make(own, settings)[0]


def average_output_rows(
    plan: VocabularyPlan, output: EmbeddingSpace, tokens: Sequence[str]
) -> Matrix:
    """Return the mean of the output rows of the pieces of tokens, (tokens, width) float32."""
    return average_pieces(Materials(plan, output), tokens)[0]
