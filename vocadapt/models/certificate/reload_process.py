"""Compare a model's outputs with those of a process that uses transformers without vocadapt."""

import json
import subprocess
import sys
from collections.abc import Sequence
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any

from vocadapt.models.extension_size import MODULE, is_extended
from vocadapt.models.language_model import LanguageModel
from vocadapt.text.tokenization import encode_batch

if TYPE_CHECKING:
    import torch

EQUAL = {True: "equal", False: "differ"}
BIT_EQUAL = {True: "bit-equal", False: "differ"}

# Runs with -I and in another folder, so that neither this package nor the user's modules are on its
# path.
SCRIPT = """
import json, sys
from hashlib import blake2b
import torch, transformers
transformers.utils.logging.set_verbosity_error()
transformers.utils.logging.disable_progress_bar()
folder, lines, package, module, threads = json.load(sys.stdin)
torch.set_num_threads(threads)  # the number of threads changes the order of summation
if module:
    import importlib
    sys.path.append(package)
    classes = importlib.import_module(module)
else:
    classes = transformers
safe = {"local_files_only": True, "trust_remote_code": False}
tokenizer = transformers.AutoTokenizer.from_pretrained(folder, **safe)
config = transformers.AutoConfig.from_pretrained(folder, **safe)
kind = getattr(classes, config.architectures[0])
network = kind.from_pretrained(folder, use_safetensors=True, dtype="auto", **safe).eval()
for parameter in network.parameters():  # align memory, as load_network does
    if parameter.data_ptr() % 64:
        parameter.data = parameter.data.clone()
ids = [tokenizer(line)["input_ids"][: config.max_position_embeddings] for line in lines]
digest = blake2b()
with torch.inference_mode():
    for row in ids:
        row = torch.tensor([row])
        for tensor in filter(torch.is_tensor, network(input_ids=row, attention_mask=torch.ones_like(row)).to_tuple()):
            digest.update(tensor.float().contiguous().numpy().tobytes())
json.dump({"ids": ids, "outputs": digest.hexdigest(), "vocadapt": "vocadapt" in sys.modules}, sys.stdout)
"""


def reload_elsewhere(model: LanguageModel, lines: Sequence[str]) -> tuple[bool, str]:
    """Compare ids and outputs on `lines` with those of a new process."""
    # 1. Compute them in the new process, which imports the classes of an exBERT, and in this one.
    texts, module = list(lines), ""
    if is_extended(model.config):
        module = MODULE
    answer = _compute_elsewhere(str(model.path), texts, module)
    if isinstance(answer, str):
        return False, answer
    ids, outputs = _compute_here(model, texts)

    # 2. Compare them.
    same_ids, same_outputs = answer["ids"] == ids, answer["outputs"] == outputs
    passed = same_ids and same_outputs
    detail = f"{len(texts)} texts: ids {EQUAL[same_ids]}, outputs {BIT_EQUAL[same_outputs]}"
    if module:
        return passed, f"{detail}, with {module} imported"
    if answer["vocadapt"]:
        return False, f"{detail}, but vocadapt was loaded"
    return passed, f"{detail}, without vocadapt"


def build_input(model: LanguageModel, ids: Sequence[int]) -> "dict[str, torch.Tensor]":
    """Build the input of one sequence, (1, length), truncated to the positions of the network."""
    import torch

    longest = int(model.config.get("max_position_embeddings", 512))
    row = torch.tensor([ids[:longest]])
    return {"input_ids": row, "attention_mask": torch.ones_like(row)}


def list_tensors(output: Any) -> "list[torch.Tensor]":
    """List the tensors of a network's output, in order, without hidden states and attentions, which
    are tuples.
    """
    import torch

    return [part for part in output.to_tuple() if torch.is_tensor(part)]


def _compute_elsewhere(folder: str, texts: list[str], module: str) -> Any:
    """Compute ids and outputs in a new process; return its answer, or the reason if it failed.

    module: a module that it imports first; "" for none.
    """
    import torch

    command = [sys.executable, "-I", "-c", SCRIPT]
    package = str(Path(__file__).resolve().parents[3])
    done = subprocess.run(
        command,
        input=json.dumps([folder, texts, package, module, torch.get_num_threads()]),
        capture_output=True,
        text=True,
        cwd="/",
        check=False,
    )
    if done.returncode:
        reason = (done.stderr.strip().splitlines() or ["no message"])[-1]
        return f"a new process cannot load it: {reason}"
    return json.loads(done.stdout)


def _compute_here(model: LanguageModel, texts: Sequence[str]) -> tuple[list[list[int]], str]:
    """Compute the ids and a hash of the outputs in this process."""
    import torch

    encodings = encode_batch(model.fast_tokenizer, texts)
    inputs = [build_input(model, encoding.ids) for encoding in encodings]
    digest = blake2b()
    with torch.inference_mode():
        for one in inputs:
            for tensor in list_tensors(model.network(**one)):
                digest.update(tensor.float().contiguous().numpy().tobytes())
    return [one["input_ids"][0].tolist() for one in inputs], digest.hexdigest()
