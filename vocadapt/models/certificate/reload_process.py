"""Compare a model's outputs with those of a new process that uses transformers without vocadapt."""

import json
import subprocess
import sys
from collections.abc import Sequence
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any

from vocadapt.models.extension_size import MODULE, is_extended
from vocadapt.models.language_model import LanguageModel
from vocadapt.models.layers import get_embeddings
from vocadapt.models.transformers_tokenizer import ATTRIBUTES
from vocadapt.text.tokenization import encode_batch

if TYPE_CHECKING:
    import torch

EQUAL = {True: "equal", False: "differ"}
BIT_EQUAL = {True: "bit-equal", False: "differ"}
RELOADED = (*ATTRIBUTES, "chat_template", "model_max_length")  # attributes that are compared
WORDS = {"embeddings": BIT_EQUAL, "outputs": BIT_EQUAL}

# Runs with -I and in another folder, so that neither this package nor the user's modules are on its
# path.
SCRIPT = """
import json, sys
from hashlib import blake2b
import torch, transformers
transformers.utils.logging.set_verbosity_error()
transformers.utils.logging.disable_progress_bar()
folder, lines, longest, package, module, threads, attributes = json.load(sys.stdin)
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
special = {}
for role, token in tokenizer.special_tokens_map.items():
    if isinstance(token, str):
        special[role] = tokenizer.convert_tokens_to_ids(token)
settings = {name: getattr(tokenizer, name, None) for name in attributes}
ids = [tokenizer(line)["input_ids"][:longest] for line in lines]
def add(digest, tensor):
    digest.update(tensor.detach().float().contiguous().numpy().tobytes())
embeddings, digest = blake2b(), blake2b()
add(embeddings, network.get_input_embeddings().weight)
with torch.inference_mode():
    for row in filter(None, ids):
        row = torch.tensor([row])
        inputs = {"input_ids": row, "attention_mask": torch.ones_like(row)}
        if config.is_encoder_decoder:
            inputs["decoder_input_ids"] = row
        for tensor in filter(torch.is_tensor, network(**inputs).to_tuple()):
            add(digest, tensor)
answer = {"ids": ids, "special ids": special, "settings": settings}
answer |= {"embeddings": embeddings.hexdigest(), "outputs": digest.hexdigest()}
json.dump({"answer": answer, "vocadapt": "vocadapt" in sys.modules}, sys.stdout)
"""


def reload_in_new_process(model: LanguageModel, lines: Sequence[str]) -> tuple[bool, str]:
    """Compare ids, special ids, settings of the tokenizer, embeddings and outputs on `lines` with
    those of a new process.
    """
    # 1. Compute them in the new process, which imports the classes of an exBERT, and in this one.
    texts = list(lines)
    module = ""
    if is_extended(model.config):
        module = MODULE
    found = _compute_in_new_process(model, texts, module)
    if isinstance(found, str):
        return False, found
    own = _compute_in_this_process(model, texts)

    # 2. Compare them.
    same = {part: found["answer"][part] == own[part] for part in own}
    passed = all(same.values())
    states = [f"{part} {WORDS.get(part, EQUAL)[same[part]]}" for part in own]
    detail = f"{len(texts)} texts: {', '.join(states)}"
    if module:
        return passed, f"{detail}, with {module} imported"
    if found["vocadapt"]:
        return False, f"{detail}, but vocadapt was loaded"
    return passed, f"{detail}, without vocadapt"


def build_input(model: LanguageModel, ids: Sequence[int]) -> "dict[str, torch.Tensor]":
    """Build the input of one sequence, (1, length), truncated to the positions of the network.

    An encoder-decoder reads it on both sides.
    """
    import torch

    row = torch.tensor([ids[: model.positions]])
    inputs = {"input_ids": row, "attention_mask": torch.ones_like(row)}
    if model.config.get("is_encoder_decoder"):
        inputs["decoder_input_ids"] = row
    return inputs


def list_tensors(output: Any) -> "list[torch.Tensor]":
    """List the tensors of a network's output, in order, without hidden states and attentions, which
    are tuples.
    """
    import torch

    return [part for part in output.to_tuple() if torch.is_tensor(part)]


def _compute_in_new_process(model: LanguageModel, texts: list[str], module: str) -> Any:
    """Compute the answer of a new process; return the reason if it failed.

    module: a module that it imports first; "" for none.
    """
    import torch

    command = [sys.executable, "-I", "-c", SCRIPT]
    package = str(Path(__file__).resolve().parents[3])
    threads = torch.get_num_threads()
    done = subprocess.run(
        command,
        input=json.dumps(
            [str(model.path), texts, model.positions, package, module, threads, RELOADED]
        ),
        capture_output=True,
        text=True,
        cwd="/",
        check=False,
    )
    if done.returncode:
        reason = (done.stderr.strip().splitlines() or ["no message"])[-1]
        return f"a new process cannot load it: {reason}"
    return json.loads(done.stdout)


def _compute_in_this_process(model: LanguageModel, texts: Sequence[str]) -> dict[str, Any]:
    """Compute the same answer in this process: ids, special ids, and hashes of the embeddings and
    the outputs.
    """
    import torch

    special = {
        role: model.fast_tokenizer.token_to_id(token)
        for role, token in model.tokenizer.special_tokens_map.items()
        if isinstance(token, str)
    }
    encodings = encode_batch(model.fast_tokenizer, texts)
    inputs = [build_input(model, encoding.ids) for encoding in encodings]
    embeddings = blake2b()
    digest = blake2b()
    _add_tensor(embeddings, get_embeddings(model.network))
    with torch.inference_mode():
        for one in inputs:
            if one["input_ids"].shape[1] == 0:  # a text without a token
                continue
            for tensor in list_tensors(model.network(**one)):
                _add_tensor(digest, tensor)
    return {
        "ids": [one["input_ids"][0].tolist() for one in inputs],
        "special ids": special,
        "settings": {name: getattr(model.tokenizer, name, None) for name in RELOADED},
        "embeddings": embeddings.hexdigest(),
        "outputs": digest.hexdigest(),
    }


def _add_tensor(digest: blake2b, tensor: "torch.Tensor") -> None:
    digest.update(tensor.detach().float().contiguous().numpy().tobytes())
