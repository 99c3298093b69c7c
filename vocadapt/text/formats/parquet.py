"""Read a text column of a Parquet file in blocks of lines, with bounded memory.

Arrow decompresses each page as a whole and trusts the size in its header, so a small file could
fill the memory:

1. Read the headers of all pages of the column (a few bytes each) and find the largest uncompressed
   size.
2. Refuse the file if that exceeds PAGE_LINES times the longest allowed line.
3. No cell is longer than its page or its dictionary's page. Choose the number of rows per batch so
   that rows × largest page is at most BATCH_LINES times the longest allowed line.
4. Read batch by batch; refuse a cell that is longer than the longest allowed line.

The footer states only the sizes of column chunks, and may be wrong: without step 1, Arrow took 3.8
GB for a file of 45 kB.

Example, lines up to 64 MB, largest page 1 MB: 64 MB × 4 / 1 MB = 256 rows per batch.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from vocadapt.errors import InputError
from vocadapt.system.files import MAX_LINE_BYTES, MEGABYTE, open_file
from vocadapt.text.formats import text_file
from vocadapt.text.formats.readers import RECORDS, Block, choose_field, join_lines
from vocadapt.text.formats.text_file import build_line_error

# Limits in multiples of the longest allowed line. Writers close a page after 1 MB or 1000 rows.
PAGE_LINES = 8
BATCH_LINES = 4
HEADER = 1 << 12  # bytes read for a page header at first; one with statistics may be longer
MAX_HEADER = 1 << 24  # bytes; Arrow's own limit
# Types of Thrift's compact protocol: those of variable length, and those of a fixed number of bytes
# (true and false, which are in the type itself; a byte; a double).
I16, I32, I64, BINARY, STRUCT = 4, 5, 6, 8, 12
FIXED_SIZES = {1: 0, 2: 0, 3: 1, 7: 8}


def read_parquet(path: Path, field: str = "", max_line: int = MAX_LINE_BYTES) -> Iterator[Block]:
    """Yield the cells of one text column of a Parquet file, batch by batch; max_line in bytes."""
    import pyarrow
    import pyarrow.parquet

    try:
        with (
            open_file(path) as file,
            pyarrow.parquet.ParquetFile(
                file, pre_buffer=False, buffer_size=text_file.BLOCK
            ) as table,
        ):
            column = choose_field(
                _list_text_columns(table.schema_arrow), field, f"{path} (text columns)"
            )
            if not table.metadata.num_rows:
                raise InputError(
                    f"{path}: the table has no rows.", "Remove it from the text.", code="no-rows"
                )
            page = _find_largest_page(path, file, table.metadata, column)
            _check_page(path, page, max_line)
            size = path.stat().st_size
            total = table.metadata.num_rows
            row = 0
            rows = min(RECORDS, max(1, BATCH_LINES * max_line // max(page, 1)))
            for batch in table.iter_batches(batch_size=rows, columns=[column]):
                for texts in _read_cells(batch.column(0), path, row, max_line):
                    row += len(texts)
                    yield Block(join_lines(texts), size * row // total)
    except (pyarrow.ArrowException, OSError, UnicodeDecodeError) as error:
        raise InputError(
            f"{path}: cannot be read as parquet ({str(error).splitlines()[0]}).",
            "Write or download it again.",
            code="invalid-parquet",
        ) from None


def _list_text_columns(schema: Any) -> list[str]:
    import pyarrow.types as types

    names = []
    for column in schema:
        kind = column.type
        if types.is_dictionary(kind):
            kind = kind.value_type
        if types.is_string(kind) or types.is_large_string(kind):
            names.append(column.name)
    return names


def _read_cells(column: Any, path: Path, row: int, max_line: int) -> Iterator[list[str]]:
    """Yield the cells of a batch, about a megabyte at a time; null becomes "".

    row: number of rows before the batch.
    """
    # 1. Measure the cells before any becomes a str; usually all fit into one block.
    sizes = _measure_cells(column)
    if len(sizes) and sizes.max() > max_line:
        raise build_line_error(path, row + int((sizes > max_line).argmax()) + 1, max_line)
    if sizes.sum() <= text_file.BLOCK:
        yield [text or "" for text in column.to_pylist()]
        return

    # 2. Else yield the cells whenever they fill about a block.
    texts, held = [], 0
    for cell, size in zip(column, sizes.tolist(), strict=True):
        texts.append(cell.as_py() or "")
        held += size
        if held > text_file.BLOCK:
            yield texts
            texts, held = [], 0
    if texts:
        yield texts


def _measure_cells(column: Any) -> NDArray[Any]:
    """Return the bytes of each cell (n,) from the column's offsets, without creating the cells."""
    import pyarrow

    if isinstance(column, pyarrow.DictionaryArray):
        from pyarrow import compute  # slow to import, and such columns are rare

        found = compute.binary_length(column.dictionary).take(column.indices).fill_null(0)
        return np.asarray(found.to_numpy(zero_copy_only=False))
    if not len(column):
        return np.zeros(0, dtype=np.int64)
    offsets = np.frombuffer(column.buffers()[1], dtype=np.int32)
    if pyarrow.types.is_large_string(column.type):
        offsets = offsets.view(np.int64)
    return np.diff(offsets[column.offset : column.offset + len(column) + 1])


def _check_page(path: Path, page: int, max_line: int) -> None:
    limit = PAGE_LINES * max_line
    if page > limit:
        raise InputError(
            f"{path}: a page of its text decompresses to {page / MEGABYTE:,.0f} MB, more than"
            f" {limit / MEGABYTE:,.0f} MB.",
            "Write it with smaller pages or as .jsonl.gz, or raise the limit of a line.",
            code="too-large-page",
        )


def _find_largest_page(path: Path, file: IO[bytes], metadata: Any, column: str) -> int:
    """Return the largest uncompressed size (bytes) in the page headers of a column."""
    largest = 0
    for group in range(metadata.num_row_groups):
        row_group = metadata.row_group(group)
        n_columns = row_group.num_columns if row_group.num_rows else 0  # else there is no page
        for chunk in map(row_group.column, range(n_columns)):
            if chunk.path_in_schema != column and not chunk.path_in_schema.startswith(f"{column}."):
                continue
            # The dictionary's page, if there is one, precedes the pages of values.
            start = chunk.data_page_offset
            if chunk.has_dictionary_page and 0 < (chunk.dictionary_page_offset or 0) < start:
                start = chunk.dictionary_page_offset
            # Pages follow each other without gaps.
            end = start + chunk.total_compressed_size
            while start < end:
                unpacked, length = _measure_page(path, file, start)
                largest = max(largest, unpacked)
                start += length
    return largest


def _measure_page(path: Path, file: IO[bytes], start: int) -> tuple[int, int]:
    """Return the uncompressed size of the page at an offset, and its length in the file."""
    size = HEADER
    while size <= MAX_HEADER:
        file.seek(start)
        try:
            fields, length = _parse_struct(file.read(size), 0)
        except IndexError:  # the header is longer
            size *= 16
            continue
        unpacked = fields.get(2, -1)
        packed = fields.get(3, -1)
        if min(unpacked, packed) < 0:
            break
        return unpacked, length + packed
    raise InputError(
        f"{path}: cannot be read as parquet (a broken page header).",
        "Write or download it again.",
        code="invalid-parquet",
    )


def _parse_struct(raw: bytes, at: int) -> tuple[dict[int, int], int]:
    """Parse a struct of Thrift's compact protocol; return its integers by field id, and the offset
    of its end.

    Raises IndexError if the bytes end first. Example: [0x15 0x02 0x15 0x80 0x01 0x00] -> {1: 1, 2:
    64}.
    """
    fields: dict[int, int] = {}
    field = 0
    while kind := raw[at] & 15:
        step = raw[at] >> 4
        at += 1
        # A field id is the previous one plus the step; if the step is 0, the id follows.
        if step:
            field += step
        else:
            field, at = _parse_integer(raw, at)
        if kind in (I32, I64):
            fields[field], at = _parse_integer(raw, at)
        else:
            at = _skip_value(raw, at, kind)
    return fields, at + 1


def _skip_value(raw: bytes, at: int, kind: int) -> int:
    if kind in FIXED_SIZES:
        return at + FIXED_SIZES[kind]
    if kind in (I16, I32, I64):
        return _parse_integer(raw, at)[1]
    if kind == BINARY:
        length, at = _parse_varint(raw, at)
        return at + length
    if kind == STRUCT:
        return _parse_struct(raw, at)[1]
    raise IndexError(f"type {kind} does not occur in page headers")


def _parse_integer(raw: bytes, at: int) -> tuple[int, int]:
    """Parse a signed integer (zigzag); return it and the offset of its end."""
    value, at = _parse_varint(raw, at)
    return (value >> 1) ^ -(value & 1), at


def _parse_varint(raw: bytes, at: int) -> tuple[int, int]:
    """Parse an unsigned integer, seven bits per byte; return it and the offset of its end."""
    value = shift = 0
    while raw[at] & 128:
        value |= (raw[at] & 127) << shift
        shift += 7
        at += 1
        if shift > 63:
            raise IndexError("integer of more than 64 bits")
    return value | raw[at] << shift, at + 1
