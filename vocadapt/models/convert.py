"""Convert a published pytorch_model.bin to safetensors, in a separate process.

A .bin file is a pickle and may contain code, so it is converted only on request, and only tensors
are read.
"""

import shutil
import subprocess
import sys
from pathlib import Path

from vocadapt.errors import InputError
from vocadapt.models.language_model import FILES, HUB_NAME, check_hub_name, download_model
from vocadapt.system.files import expand_path

BIN = "pytorch_model.bin"
PARTS = "pytorch_model-*.bin"

# weights_only rejects every pickled object that is not a tensor. The separate process limits the
# damage if that check fails.
SCRIPT = """
import sys
from pathlib import Path
import torch
from safetensors.torch import save_file
out, *files = sys.argv[1:]
tensors = {}
for file in files:
    try:
        tensors |= torch.load(file, map_location="cpu", weights_only=True)
    except Exception as error:
        sys.exit(str(error).strip().splitlines()[0])
if not tensors or not all(torch.is_tensor(t) for t in tensors.values()):
    sys.exit("it is not a dictionary of named tensors")
def rename(name):
    return name.replace("LayerNorm.gamma", "LayerNorm.weight").replace("LayerNorm.beta", "LayerNorm.bias")
save_file({rename(name): t.contiguous().clone() for name, t in tensors.items()}, out, metadata={"format": "pt"})
print(len(tensors))
"""


def convert(source: str | Path, out: Path, offline: bool | None = None) -> int:
    """Copy a model folder (or hub model) and convert its .bin weights to model.safetensors;
    return the number of tensors.

    Parameter names of the 2018 checkpoints (LayerNorm.gamma, LayerNorm.beta) are replaced by the
    current ones. Raises InputError if there is no .bin file, or if it contains anything but
    tensors.
    """
    folder = _find_folder(source, offline)
    files = sorted(folder.glob(PARTS)) or [folder / BIN]
    if not files[0].is_file():
        raise InputError(
            f"{folder}: expected {BIN}, found none.",
            "Give the folder of a model saved by PyTorch.",
            code="no-weights",
        )
    # 1. Copy all other files, except the index of a sharded .bin: the result is one file.
    out.mkdir(parents=True, exist_ok=True)
    for pattern in ("*.json", "*.txt"):
        for file in folder.glob(pattern):
            if not file.name.endswith(".index.json"):
                shutil.copy(file, out / file.name)
    # 2. Convert the weights in a separate process.
    command = [sys.executable, "-I", "-c", SCRIPT, str(out / "model.safetensors"), *map(str, files)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        reason = (done.stderr.strip().splitlines() or ["no message"])[-1]
        raise InputError(
            f"{files[0]} was refused: {reason[:300]}",
            "Give a file that contains only tensors: other objects could run code.",
            code="not-only-tensors",
        )
    return int(done.stdout)


def _find_folder(source: str | Path, offline: bool | None) -> Path:
    folder = expand_path(source)
    if not folder.is_dir():
        if folder.exists() or not HUB_NAME.fullmatch(str(source)):
            raise InputError(
                f"{source}: expected a model folder or a hub name.",
                f"Give the folder that contains {BIN}.",
                code="not-a-folder",
            )
        check_hub_name(str(source))
        folder = download_model(str(source), offline, (*FILES, "*.bin"))
    return folder
