"""Questions about a text."""

import json

import numpy as np

from vocadapt.training.examples.examples import Answer, Question

LONG = " ".join(["the patients with tachycardia, and placebo"] * 30)  # 7 words each


def questions(count):
    """Contexts of four words in an order of their own; the answer is the one disease."""
    rng, found = np.random.default_rng(0), []
    for place in range(count):
        words = ["placebo", "trial", "group"]
        at = int(rng.integers(4))
        words.insert(at, ("tachycardia", "cancer")[place % 2])
        start = len(" ".join([*words[:at], ""])) if at else 0
        found.append(
            Question(str(place), "the disease", " ".join(words), (Answer(words[at], start),))
        )
    return tuple(found)


def squad(path, asked):
    paragraphs = [
        {
            "context": q.context,
            "qas": [
                {
                    "id": q.id,
                    "question": q.question,
                    "answers": [{"text": a.text, "answer_start": a.start} for a in q.answers],
                }
            ],
        }
        for q in asked
    ]
    path.write_text(
        json.dumps({"data": [{"title": "t", "paragraphs": paragraphs}]}), encoding="utf-8"
    )
    return path
