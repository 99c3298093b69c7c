"""F1 of the demo model on NCBI-disease, compared with the same network randomly initialized.

    python experiments/demo_model.py [--model DIR] [--train 1200] [--test 500] [--epochs 4] [--seeds
    1 2 3]

Token classification on the first wordpiece of each word, entity-strict F1 (a span is correct if both
ends and the type are), three seeds, on samples of the training and test sentences. Prints a row for
each run, mean ± sd, and the difference in standard deviations. Needs ../shared.

Measured in November 2026: .537 ± .015 against .348 ± .007 (assets/demo/README.md).
"""

import argparse
import time
from pathlib import Path
from statistics import mean, stdev

import numpy as np

SHARED = Path(__file__).resolve().parents[2] / "shared" / "data" / "ner" / "NCBI-disease"
DEMO = Path(__file__).resolve().parents[1] / "assets" / "demo" / "models" / "demo-bert"
BATCH, LR, LONGEST = 16, 5e-4, 128


def sentences(path):
    """Read sentences as (words, tags)."""
    blocks = path.read_text(encoding="utf-8").strip().split("\n\n")
    pairs = [[line.split("\t") for line in block.splitlines()] for block in blocks]
    return [([word for word, _ in pair], [tag[0] for _, tag in pair]) for pair in pairs]


def spans(tags):
    """Return start and end of every entity: B starts one; I continues it, or starts one after O."""
    found, start = set(), None
    for at, tag in enumerate([*tags, "O"]):
        if start is not None and tag != "I":
            found.add((start, at))
            start = None
        if tag == "B" or (tag == "I" and start is None):
            start = at
    return found


def encode(tokenizer, sentence):
    """Return the ids of a sentence and the position of each word's first wordpiece.

    Words beyond the maximum length are dropped; their entities count as missed.
    """
    ids, first = [tokenizer.token_to_id("[CLS]")], []
    for word in sentence[0]:
        pieces = tokenizer.encode(word, add_special_tokens=False).ids or [
            tokenizer.token_to_id("[UNK]")
        ]
        if len(ids) + len(pieces) >= LONGEST:
            break
        first.append(len(ids))
        ids += pieces
    return [*ids, tokenizer.token_to_id("[SEP]")], first


def batches(examples, rng=None):
    """Return batches of examples of similar length, in random order if a generator is given."""
    noise = rng.random(len(examples)) if rng is not None else np.zeros(len(examples))
    order = sorted(range(len(examples)), key=lambda i: len(examples[i][0]) + 8 * noise[i])
    groups = [order[at : at + BATCH] for at in range(0, len(order), BATCH)]
    if rng is not None:
        rng.shuffle(groups)
    return groups


def collate(group, examples):
    import torch

    width = max(len(examples[i][0]) for i in group)
    ids = torch.zeros((len(group), width), dtype=torch.long)
    labels = torch.full((len(group), width), -100)
    for row, i in enumerate(group):
        found, first, tags = examples[i]
        ids[row, : len(found)] = torch.tensor(found)
        labels[row, first] = torch.tensor(["OBI".index(tag) for tag in tags[: len(first)]])
    return ids, labels


def run(folder, trained, seed, train, test, epochs):
    """Fine-tune one network and return its entity-strict F1."""
    import torch
    from tokenizers import Tokenizer
    from transformers import (
        AutoConfig,
        AutoModelForTokenClassification,
        get_linear_schedule_with_warmup,
    )

    torch.manual_seed(seed)
    config = AutoConfig.from_pretrained(folder, num_labels=3)
    kind = AutoModelForTokenClassification
    network = (
        kind.from_pretrained(folder, config=config) if trained else kind.from_config(config)
    ).float()
    optimizer = torch.optim.AdamW(network.parameters(), lr=LR, weight_decay=0.01)
    steps = epochs * -(-len(train) // BATCH)
    schedule = get_linear_schedule_with_warmup(optimizer, steps // 10, steps)
    tokenizer, rng = (
        Tokenizer.from_file(str(folder / "tokenizer.json")),
        np.random.default_rng(seed),
    )
    tokenizer.no_truncation()
    examples = [(*encode(tokenizer, sentence), sentence[1]) for sentence in train]
    network.train()
    for _ in range(epochs):
        for group in batches(examples, rng):
            ids, labels = collate(group, examples)
            network(ids, attention_mask=(ids != 0).long(), labels=labels).loss.backward()
            torch.nn.utils.clip_grad_norm_(network.parameters(), 1.0)
            optimizer.step(), schedule.step(), optimizer.zero_grad()
    return score(network.eval(), [(*encode(tokenizer, sentence), sentence[1]) for sentence in test])


def score(network, examples):
    import torch

    correct = predicted = expected = 0
    with torch.inference_mode():
        for group in batches(examples):
            ids, _ = collate(group, examples)
            best = network(ids, attention_mask=(ids != 0).long()).logits.argmax(-1)
            for row, i in enumerate(group):
                _, first, tags = examples[i]
                gold, found = spans(tags), spans(["OBI"[best[row, at]] for at in first])
                correct += len(gold & found)
                predicted += len(found)
                expected += len(gold)
    return 2 * correct / (predicted + expected) if predicted + expected else 0.0


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", type=Path, default=DEMO)
    parser.add_argument("--train", type=int, default=1200)
    parser.add_argument("--test", type=int, default=500)
    parser.add_argument("--epochs", type=int, default=4)
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3])
    options = parser.parse_args()
    rng = np.random.default_rng(0)
    train, test = (sentences(SHARED / name) for name in ("train.tsv", "test.tsv"))
    drawn = [train[i] for i in rng.permutation(len(train))[: options.train]]
    tested = [test[i] for i in rng.permutation(len(test))[: options.test]]
    sample = f"{len(drawn)} of {len(train)} train, {len(tested)} of {len(test)} test sentences"
    print(f"NCBI-disease: {sample}, {options.epochs} epochs")
    scores = {True: [], False: []}
    for seed in options.seeds:
        for trained in (True, False):
            start = time.perf_counter()
            scores[trained].append(run(options.model, trained, seed, drawn, tested, options.epochs))
            name = "pretrained" if trained else "untrained"
            print(
                f"{name:<11} seed {seed}  F1 {scores[trained][-1]:.4f} "
                f" {time.perf_counter() - start:.0f} s",
                flush=True,
            )
    sd = {trained: stdev(found) for trained, found in scores.items()}
    gain = mean(scores[True]) - mean(scores[False])
    print(
        f"pretrained {mean(scores[True]):.4f} ± {sd[True]:.4f}, untrained {mean(scores[False]):.4f}"
        f" ± {sd[False]:.4f}"
    )
    ratio = mean(scores[True]) / max(mean(scores[False]), 1e-9)
    print(f"ratio {ratio:.2f}; {gain:+.4f}, {gain / max(*sd.values(), 1e-9):.1f} sd")


if __name__ == "__main__":
    main()
