"""Errors of invalid input are known by their codes; a sentence is asserted where it is the subject."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from vocadapt.errors import InputError


@contextmanager
def raises_input_error(code: str, *values: str) -> Iterator[pytest.ExceptionInfo[InputError]]:
    """Check that the block raises InputError with a code, and that its message states these values."""
    with pytest.raises(InputError) as error:
        yield error
    assert error.value.code == code, str(error.value)
    missing = [value for value in values if value not in str(error.value)]
    assert not missing, f"{missing} not in: {error.value}"
