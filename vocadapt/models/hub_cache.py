"""Which hub models lie in the local cache: decided on the disk alone, the network is never asked."""

from collections.abc import Iterable


def is_cached(name: str) -> bool:
    """Whether a hub model was downloaded before, so that it opens without a network."""
    from huggingface_hub import try_to_load_from_cache
    from huggingface_hub.errors import HFValidationError

    try:
        return isinstance(try_to_load_from_cache(name, "config.json"), str)
    except HFValidationError:
        return False


def filter_cached(names: Iterable[str]) -> tuple[str, ...]:
    """Those of some hub names that are in the local cache, in their order."""
    return tuple(name for name in names if is_cached(name))
