"""transformers.js: the tokenizer of a folder in JavaScript, with Node.js.

The package `@huggingface/transformers` is searched as Node.js does: in `node_modules` of a folder
and of its parents. The folder is the current one, or that of an environment variable.
"""

import json
import os
import shutil
from pathlib import Path

from vocadapt.models.edit import Edit
from vocadapt.models.load_states import DIFFERS, NOT_TRIED
from vocadapt.models.loaders.loader import Finding
from vocadapt.models.loaders.trial_texts import compare_ids, encode_texts, list_texts, run_program

PACKAGE = "@huggingface/transformers"
VARIABLE = "VOCADAPT_NODE_FOLDER"  # environment variable: the folder with node_modules
SCRIPT = """
const { readFileSync } = require("node:fs");
import("@huggingface/transformers").then(async ({ AutoTokenizer, env }) => {
    env.allowRemoteModels = false;
    env.localModelPath = "/";
    const [folder, texts] = JSON.parse(readFileSync(0, "utf8"));
    const tokenizer = await AutoTokenizer.from_pretrained(folder, { local_files_only: true });
    console.log(JSON.stringify(texts.map((text) => tokenizer.encode(text))));
});
"""


def try_transformers_js(edit: Edit) -> Finding:
    """Compare the ids of AutoTokenizer in JavaScript with those of the model's tokenizer.

    If they differ, the original model is tried on the same texts.
    """
    # 1. Find Node.js and the package.
    node = shutil.which("node")
    start = Path(os.environ.get(VARIABLE) or Path.cwd()).resolve()
    if node is None:
        return NOT_TRIED, "Node.js not installed"
    package = find_package(start)
    if package is None:
        return NOT_TRIED, f"{PACKAGE} not installed in the current folder or that of {VARIABLE}"
    release = json.loads((package / "package.json").read_text(encoding="utf-8")).get("version")

    # 2. Tokenize with both.
    command = [node, "-e", SCRIPT]
    texts = list_texts(edit)
    found = run_program(command, [str(edit.after.path.resolve()), texts], str(start))
    if isinstance(found, str):
        return DIFFERS, f"version {release}: cannot be loaded: {found}"
    state, detail = compare_ids(texts, encode_texts(edit.after, texts), found)

    # 3. Compare the original model, too: some differences are not caused by the edit.
    if state == DIFFERS:
        original = run_program(command, [str(edit.before.path.resolve()), texts], str(start))
        if not isinstance(original, str):
            comparison = compare_ids(texts, encode_texts(edit.before, texts), original)[1]
            detail += f"; the original model: {comparison}"
    return state, f"version {release}: {detail}"


def find_package(start: Path) -> Path | None:
    """Return the folder of the package, in node_modules of a folder or of one of its parents."""
    for folder in (start, *start.parents):
        package = folder / "node_modules" / PACKAGE
        if (package / "package.json").is_file():
            return package
    return None
