"""vocadapt: teach a pretrained language model the words of a new domain."""

from vocadapt.extensions import load_extensions

__version__ = "0.1.0"

load_extensions()
