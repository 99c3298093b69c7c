"""Do new words help a task with all of its training sentences? NCBI-disease, whole, several seeds.

    python -m benchmarks.full_task DIR       (10 minutes on two cores; needs ../shared/data)
    python -m vocadapt study run DIR/full-task.toml --workers 1 --out DIR/out
    python -m vocadapt study table DIR/full-task.toml --out DIR/out

Baseline: the model as it is, in the same study. The text is all of the biomedical articles without
the lines that share ten consecutive words with a test sentence (`benchmarks.evidence`). Word vectors
are counted, the default; two ways to make embeddings of them are compared: stacked, which is the
default for embeddings that are read as they are, and an alignment by ridge regression. Both have the
norms that the model's own words of equal frequency have, and the same words.
"""

import sys
from pathlib import Path

from benchmarks.evidence import DATA, minilm, read_blocks, vocadapt, write_texts

TASK = "NCBI-disease"
SETTINGS = "num_epochs = 8\nbatch_size = 16\nlearning_rate = 2e-4\nmax_length = 128"
VARIANTS = {
    "none": "",
    "context": 'preset = "new-words"\ninitializer = "aligned"',
    "stacked": 'preset = "new-words"',
}


def main() -> None:
    if len(sys.argv) != 2:
        print("not run (it takes ten minutes): give a folder")
        return
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)

    # 1. The text, and its vectors.
    if not (folder / "text-15m.txt").is_file():
        write_texts(folder)
    common = ("--model", minilm(), "--seed", 1)
    vectors = folder / "vectors"
    if not vectors.is_dir():
        counted = ("--trainer", "counts", "--out", vectors)
        vocadapt("vectors", "train", folder / "text-15m.txt", *common, *counted)

    # 2. The task, all of it.
    (folder / TASK).mkdir(exist_ok=True)
    for source, name in (("train", "train"), ("devel", "dev"), ("test", "test")):
        blocks = read_blocks(DATA / "ner" / TASK / f"{source}.tsv")
        (folder / TASK / f"{name}.tsv").write_text("\n\n".join(blocks) + "\n")

    # 3. The study.
    parts = [f'name = "full-task"\nseeds = [1, 2, 3]\n[settings]\n{SETTINGS}']
    for name, changes in VARIANTS.items():
        about = f'name = "{name}"\nmodel = "{minilm()}"'
        if changes:
            about += f'\nvectors = "vectors"\n{changes}'
        parts.append(f"[[variants]]\n{about}")
    files = "\n".join(f'{split} = "{TASK}/{split}.tsv"' for split in ("train", "dev", "test"))
    parts.append(f'[[tasks]]\nname = "{TASK}"\nkind = "ner"\n{files}')
    (folder / "full-task.toml").write_text("\n".join(parts) + "\n")


if __name__ == "__main__":
    main()
