"""The tests. What several of them use is in `material`, whose assertions are explained as theirs."""

import pytest

pytest.register_assert_rewrite("tests.material")
