"""Make a task of contract law: which topic a clause is about, without the words of its heading.

    python experiments/law_task.py legal-contracts.txt.gz law

The text has one line of a contract on each line, in the order of its contracts. A clause is a line
that begins with a number and a heading, such as "7.3 Governing Law. This Agreement …"; its heading
is its label. Headings are removed, and so are their words wherever they occur in a clause. The first
60 % of the lines are for training, then 10 % for dev and 30 % for test. Between two parts 1 500 lines
are left out, ten times the mean length of a contract, so that no contract lies in both. text.txt are
the lines for training, as a text to train word vectors on.

Measured: 559, 114 and 303 clauses, on which the study of docs/studies.md was run.
"""

import argparse
import gzip
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

TOPICS = {  # topic → its headings
    "assignment": "assignment|no assignment|successors and assigns",
    "confidentiality": "confidentiality|confidential information",
    "counterparts": "counterparts|execution in counterparts",
    "entire agreement": "entire agreement|integration|merger",
    "force majeure": "force majeure",
    "governing law": "governing law|applicable law|choice of law",
    "liability": "limitation of liability|limitations of liability|indemnification|indemnity",
    "notices": "notices?",
    "severability": "severability|severance|invalidity",
    "termination": "term|termination|term and termination|effect of termination",
}
STEMS = (  # beginnings of the words of the headings, which are removed
    *(
        "assign",
        "successor",
        "confidential",
        "counterpart",
        "execut",
        "entire",
        "integrat",
        "merge",
    ),
    *("force", "majeure", "govern", "applicable", "choice", "law", "limit", "liab", "indemn"),
    *("notice", "notif", "sever", "invalid", "terminat", "term"),
)
HEADINGS = "|".join(f"(?P<{topic.replace(' ', '_')}>{one})" for topic, one in TOPICS.items())
CLAUSE = re.compile(
    rf"(?:section |article )?\d+(?:\.\d+)*\.? +(?:{HEADINGS})[.:] +(?P<text>.+)", re.IGNORECASE
)
REMOVED = re.compile(rf"\b(?:{'|'.join(STEMS)})\w*", re.IGNORECASE)
SHORTEST, LONGEST = 12, 60  # words of a clause
PARTS = {"train": (0.0, 0.6), "dev": (0.6, 0.7), "test": (0.7, 1.0)}
GAP = 1500  # lines left out between two parts


def find_clauses(lines: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield the topic and the text of each clause of some lines, each text once."""
    seen = set()
    for line in lines:
        match = CLAUSE.match(line)
        if match is None:
            continue
        words = REMOVED.sub(" ", match["text"]).split()[:LONGEST]
        text = " ".join(words)
        if len(words) >= SHORTEST and text not in seen:
            seen.add(text)
            topic = next(name for name in TOPICS if match[name.replace(" ", "_")])
            yield topic, text


def main() -> None:
    """Write train.tsv, dev.tsv, test.tsv and text.txt."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("text", type=Path, help="lines of contracts, gzipped")
    parser.add_argument("out", type=Path, help="folder to write to")
    options = parser.parse_args()
    lines = gzip.decompress(options.text.read_bytes()).decode().splitlines()
    options.out.mkdir(parents=True, exist_ok=True)
    for part, (begin, end) in PARTS.items():
        first, last = int(begin * len(lines)), int(end * len(lines))
        chosen = lines[first + GAP * (begin > 0) : last]
        rows = [f"{topic}\t{text}" for topic, text in find_clauses(chosen)]
        content = "\n".join(["label\ttext", *rows, ""])
        (options.out / f"{part}.tsv").write_text(content, encoding="utf-8")
        print(f"{part}: {len(rows)} clauses of {len(chosen)} lines")
        if part == "train":
            (options.out / "text.txt").write_text("\n".join(chosen), encoding="utf-8")


if __name__ == "__main__":
    main()
