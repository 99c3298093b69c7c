"""vocadapt: teach a pretrained language model the words of a new domain."""

__version__ = "0.1.0"
