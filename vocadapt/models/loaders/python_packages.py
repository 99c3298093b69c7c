"""Python packages that load a model folder: ONNX Runtime and sentence-transformers.

Each runs in a separate process, without vocadapt. If it fails on the edited model, it runs on the
original one: a failure there, too, is not caused by the edit.
"""

from collections.abc import Sequence
from typing import Any

from vocadapt.models.edit import Edit
from vocadapt.models.extension_size import is_extended
from vocadapt.models.load_states import DIFFERS, LOADS, NOT_APPLICABLE
from vocadapt.models.loaders.loader import Finding
from vocadapt.models.loaders.trial_texts import (
    compare_ids,
    encode_texts,
    list_added_words,
    list_texts,
    run_python,
)

CLOSE = 1e-4  # largest difference of two outputs
POOLING = "modules.json"  # file with the pooling of sentence-transformers
START = """
import json, logging, sys, warnings
warnings.filterwarnings("ignore")
logging.disable(logging.ERROR)
import numpy, torch, transformers
transformers.utils.logging.set_verbosity_error()
transformers.utils.logging.disable_progress_bar()
folder, texts = json.load(sys.stdin)
safe = {"local_files_only": True, "trust_remote_code": False}
tokenizer = transformers.AutoTokenizer.from_pretrained(folder, **safe)
config = transformers.AutoConfig.from_pretrained(folder, **safe)
"""
ONNX = """
import tempfile, onnxruntime
kind = getattr(transformers, config.architectures[0])
network = kind.from_pretrained(folder, attn_implementation="eager", **safe).eval()
network.config.use_cache = False
class FirstOutput(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.network = network
    def forward(self, input_ids, attention_mask):
        return self.network(input_ids=input_ids, attention_mask=attention_mask, return_dict=False)[0]
module, names = FirstOutput(), ["input_ids", "attention_mask"]
rows = [row for row in (tokenizer(text)["input_ids"] for text in texts) if row]
inputs = [(torch.tensor([row]), torch.ones((1, len(row)), dtype=torch.long)) for row in rows]
gap = 0.0
with tempfile.TemporaryDirectory() as place, torch.inference_mode():
    lengths = {name: {1: "length"} for name in names}
    torch.onnx.export(module, inputs[0], place + "/model.onnx", input_names=names, output_names=["output"],
        dynamo=True, dynamic_shapes=lengths, verbose=False)
    session = onnxruntime.InferenceSession(place + "/model.onnx", providers=["CPUExecutionProvider"])
    for one in inputs:
        output = session.run(None, dict(zip(names, (part.numpy() for part in one))))[0]
        gap = max(gap, float(numpy.abs(output - module(*one).numpy()).max()))
print(json.dumps({"gap": gap}))
"""
SENTENCES = """
from sentence_transformers import SentenceTransformer
sentences = SentenceTransformer(folder, device="cpu", local_files_only=True)
network = transformers.AutoModel.from_pretrained(folder, **safe).eval()
ids, gap = [], 0.0
for text in texts:
    ids.append(list(sentences.tokenizer(text)["input_ids"]))
    if ids[-1] and len(sentences) == 2:
        with torch.inference_mode():
            states = network(**tokenizer(text, return_tensors="pt")).last_hidden_state[0]
        found = sentences.encode([text], show_progress_bar=False)[0]
        gap = max(gap, float(numpy.abs(found - states.mean(0).numpy()).max()))
print(json.dumps({"ids": ids, "gap": gap}))
"""


def try_onnx(edit: Edit) -> Finding:
    """Export the network by torch.onnx, and compare its outputs in ONNX Runtime."""
    if edit.after.config.get("is_encoder_decoder"):
        return NOT_APPLICABLE, "an encoder-decoder is not exported"
    texts = [*edit.lines[:4], " ".join(list_added_words(edit))]
    found = _run_on_both(ONNX, edit, texts)
    if isinstance(found, tuple):
        return found
    return _judge_gap(found["gap"], f"outputs on {len(texts)} texts of several lengths")


def try_sentence_transformers(edit: Edit) -> Finding:
    """Compare ids, and mean-pooled embeddings if the folder names no other pooling."""
    if (edit.before.path / POOLING).is_file() and not (edit.after.path / POOLING).is_file():
        return DIFFERS, f"{POOLING} of the original model is missing, so the pooling is the default"
    texts = list_texts(edit)
    found = _run_on_both(SENTENCES, edit, texts)
    if isinstance(found, tuple):
        return found
    state, detail = compare_ids(texts, encode_texts(edit.after, texts), found["ids"])
    if state == DIFFERS:
        return state, detail
    return _judge_gap(found["gap"], f"{detail}, sentence embeddings")


def _run_on_both(script: str, edit: Edit, texts: Sequence[str]) -> Any:
    if is_extended(edit.after.config):
        return NOT_APPLICABLE, "extension modules need vocadapt"
    found = run_python(START + script, [str(edit.after.path.resolve()), list(texts)])
    if not isinstance(found, str):
        return found
    original = run_python(START + script, [str(edit.before.path.resolve()), list(texts)])
    if isinstance(original, str):
        return NOT_APPLICABLE, f"the original model fails, too: {original}"
    return DIFFERS, f"cannot be loaded: {found}"


def _judge_gap(gap: float, what: str) -> Finding:
    state = LOADS
    if not gap <= CLOSE:  # NaN differs
        state = DIFFERS
    return state, f"{what} differ by at most {gap:.1e}"
