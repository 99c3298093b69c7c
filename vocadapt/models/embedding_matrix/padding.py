"""Padding of an embedding matrix: some models store more rows than they have tokens.

ModernBERT and Qwen pad their matrices to a multiple of 64 or 128, for which some processors are
faster. New tokens take these free rows first. A padded matrix stays padded to the same multiple.
"""

from dataclasses import dataclass

MULTIPLES = (128, 64, 8)  # numbers of rows to a multiple of which matrices are padded
LARGE_MULTIPLES = (128, 64)


@dataclass(frozen=True)
class MatrixRows:
    """Numbers of rows of a matrix before and after its tokens changed.

    tokens, rows: before; new_tokens, new_rows: after. The free rows follow the tokens.
    """

    tokens: int
    rows: int
    new_tokens: int
    new_rows: int

    @property
    def free(self) -> int:
        """Rows without a token before the change."""
        return self.rows - self.tokens

    @property
    def new_free(self) -> int:
        """Rows without a token after the change."""
        return self.new_rows - self.new_tokens

    @property
    def filled(self) -> int:
        """Free rows that a new token took."""
        return max(0, min(self.new_tokens, self.rows) - self.tokens)

    @property
    def multiple(self) -> int:
        """The multiple that the rows are padded to; 1 if they are not padded."""
        return find_multiple(self.tokens, self.rows)

    def to_dict(self) -> dict[str, int]:
        """Return the numbers as JSON values, for the record of an adapted model."""
        return {
            "before": self.rows,
            "after": self.new_rows,
            "filled": self.filled,
            "free": self.new_free,
            "multiple": self.multiple,
        }


def find_multiple(tokens: int, rows: int) -> int:
    """Return the largest of MULTIPLES that divides the number of rows of a padded matrix; 1 if none
    does.

    A matrix without free rows counts as padded only if it has a multiple of 64 rows, as Llama 3 has
    (128,256); a multiple of 8 is often one by chance.
    """
    sizes = MULTIPLES if rows > tokens else LARGE_MULTIPLES
    return next((multiple for multiple in sizes if rows % multiple == 0), 1)


def count_rows(tokens: int, rows: int, new_tokens: int, keeps_rows: bool) -> MatrixRows:
    """Count the rows that a matrix needs for `new_tokens` tokens.

    keeps_rows: whether no row is removed, because every token keeps its id.

    Example, 100 tokens in 128 rows: 120 tokens fit, 130 need 256 rows; if the plan removes tokens
    (keeps_rows false), 60 tokens need 128.
    """
    multiple = find_multiple(tokens, rows)
    needed = -(-new_tokens // multiple) * multiple
    if keeps_rows and needed < rows:
        needed = rows
    return MatrixRows(tokens, rows, new_tokens, needed)
