"""Which hub models are in the local cache, without network access."""

from collections.abc import Iterable


def is_cached(name: str) -> bool:
    """Return whether a hub model is in the local cache, so that it opens without a network."""
    from huggingface_hub import try_to_load_from_cache
    from huggingface_hub.errors import HFValidationError

    try:
        return isinstance(try_to_load_from_cache(name, "config.json"), str)
    except HFValidationError:
        return False


def filter_cached(names: Iterable[str]) -> tuple[str, ...]:
    """Return the hub names that are in the local cache, in their order."""
    return tuple(name for name in names if is_cached(name))
