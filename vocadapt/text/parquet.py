"""Parquet → blocks of lines, with bounded memory whatever the file claims.

Arrow unpacks a page whole, and it believes the page's own header, so the headers are read first (a few bytes each). A cell is
never longer than the unpacked page that holds it or its dictionary entry; so batches of few rows bound what these expand to.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from vocadapt.errors import InputError
from vocadapt.files import MAX_LINE_BYTES, MEGABYTE, open_file
from vocadapt.text import source as sources
from vocadapt.text.readers import RECORDS, Block, choose_field, ended
from vocadapt.text.source import build_line_error

PAGE_LINES = 8  # longest lines that a page may unpack to: writers close a page after about 1 MB, or 1000 rows
BATCH_LINES = 4  # longest lines that a batch of rows may hold
HEADER = 1 << 12  # bytes read for a page's header at first; one with statistics may be longer
MAX_HEADER = 1 << 24  # bytes; Arrow's own limit
I32, I64, BINARY, STRUCT = 5, 6, 8, 12  # types of Thrift's compact protocol


def read_parquet(path: Path, field: str = "", max_line: int = MAX_LINE_BYTES) -> Iterator[Block]:
    """Lines of one text column of a parquet file, by row batches."""
    import pyarrow
    import pyarrow.parquet

    try:
        with open_file(path) as file, pyarrow.parquet.ParquetFile(file, pre_buffer=False, buffer_size=sources.BLOCK) as table:
            column = choose_field(_text_columns(table.schema_arrow), field, f"{path} (text columns)")
            page = _largest_page(path, file, table.metadata, column)
            _check_page(path, page, max_line)
            size, total, row = path.stat().st_size, max(table.metadata.num_rows, 1), 0
            rows = min(RECORDS, max(1, BATCH_LINES * max_line // max(page, 1)))
            for batch in table.iter_batches(batch_size=rows, columns=[column]):
                for texts in _texts(batch.column(0), path, row, max_line):
                    row += len(texts)
                    yield Block(ended(texts), size * row // total)
    except (pyarrow.ArrowException, OSError, UnicodeDecodeError) as error:
        reason = str(error).splitlines()[0]
        raise InputError(f"{path}: cannot be read as parquet ({reason}).", "Write or download it again.") from None


def _text_columns(schema: Any) -> list[str]:
    """Names of the columns that hold text, plain or dictionary-encoded."""
    import pyarrow.types as types

    def is_text(kind: Any) -> bool:
        kind = kind.value_type if types.is_dictionary(kind) else kind
        return bool(types.is_string(kind) or types.is_large_string(kind))

    return [column.name for column in schema if is_text(column.type)]


def _texts(column: Any, path: Path, row: int, max_line: int) -> Iterator[list[str]]:
    """The cells of a batch that begins at `row`, about a megabyte at a time; null counts as empty."""
    sizes = _lengths(column)
    if len(sizes) and sizes.max() > max_line:
        raise build_line_error(path, row + int((sizes > max_line).argmax()) + 1, max_line)
    if sizes.sum() <= sources.BLOCK:
        yield [text or "" for text in column.to_pylist()]
        return
    texts, held = [], 0
    for cell, size in zip(column, sizes.tolist(), strict=True):
        texts.append(cell.as_py() or "")
        held += size
        if held > sources.BLOCK:
            yield texts
            texts, held = [], 0
    if texts:
        yield texts


def _lengths(column: Any) -> NDArray[Any]:
    """Bytes of each cell (n,), as the column's offsets say it: no cell is made."""
    import pyarrow

    if isinstance(column, pyarrow.DictionaryArray):
        from pyarrow import compute  # slow to import, and such columns are rare

        found = compute.binary_length(column.dictionary).take(column.indices).fill_null(0)
        return np.asarray(found.to_numpy(zero_copy_only=False))
    if not len(column):
        return np.zeros(0, dtype=np.int64)
    width = np.int64 if pyarrow.types.is_large_string(column.type) else np.int32
    offsets = np.frombuffer(column.buffers()[1], dtype=width)
    return np.diff(offsets[column.offset : column.offset + len(column) + 1])


def _check_page(path: Path, page: int, max_line: int) -> None:
    """Raise InputError if a page is too large to unpack."""
    limit = PAGE_LINES * max_line
    if page > limit:
        found = f"a page of its text unpacks to {page / MEGABYTE:,.0f} MB, more than {limit / MEGABYTE:,.0f} MB"
        raise InputError(f"{path}: {found}.", "Write it with smaller pages or as .jsonl.gz, or raise the limit of a line.")


def _largest_page(path: Path, file: IO[bytes], metadata: Any, column: str) -> int:
    """The most bytes that a page of a column unpacks to, as the headers of its pages say."""
    largest = 0
    for group in range(metadata.num_row_groups):
        for chunk in map(metadata.row_group(group).column, range(metadata.row_group(group).num_columns)):
            if chunk.path_in_schema != column and not chunk.path_in_schema.startswith(f"{column}."):
                continue
            start = chunk.data_page_offset
            if chunk.has_dictionary_page and 0 < (chunk.dictionary_page_offset or 0) < start:
                start = chunk.dictionary_page_offset
            end = start + chunk.total_compressed_size
            while start < end:
                unpacked, length = _page_at(path, file, start)
                largest = max(largest, unpacked)
                start += length
    return largest


def _page_at(path: Path, file: IO[bytes], start: int) -> tuple[int, int]:
    """What the page at an offset of the file unpacks to, and its length there, header included."""
    size = HEADER
    while size <= MAX_HEADER:
        file.seek(start)
        try:
            fields, length = _struct(file.read(size), 0)
        except IndexError:  # the header goes on
            size *= 16
            continue
        unpacked, packed = fields.get(2, -1), fields.get(3, -1)
        if min(unpacked, packed) < 0:
            break
        return unpacked, length + packed
    raise InputError(f"{path}: cannot be read as parquet (a broken page header).", "Write or download it again.")


def _struct(raw: bytes, at: int) -> tuple[dict[int, int], int]:
    """The whole numbers of a struct in Thrift's compact protocol by field, and where it ends.

    Raises IndexError where the bytes end first. [0x15 0x02 0x15 0x80 0x01 0x00] → {1: 1, 2: 64}.
    """
    fields: dict[int, int] = {}
    field = 0
    while kind := raw[at] & 15:
        step = raw[at] >> 4
        at += 1
        if step:
            field += step
        else:
            field, at = _number(raw, at)
        if kind in (I32, I64):
            fields[field], at = _number(raw, at)
        else:
            at = _skip(raw, at, kind)
    return fields, at + 1


def _skip(raw: bytes, at: int, kind: int) -> int:
    """Where a value of this type ends."""
    if kind in (1, 2):  # true, false: in the type itself
        return at
    if kind == 3:  # a byte
        return at + 1
    if kind in (4, I32, I64):
        return _number(raw, at)[1]
    if kind == 7:  # a double
        return at + 8
    if kind == BINARY:
        length, at = _varint(raw, at)
        return at + length
    if kind == STRUCT:
        return _struct(raw, at)[1]
    raise IndexError(f"type {kind} is in no page header")


def _number(raw: bytes, at: int) -> tuple[int, int]:
    """A signed whole number (zigzag), and where it ends."""
    value, at = _varint(raw, at)
    return (value >> 1) ^ -(value & 1), at


def _varint(raw: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while raw[at] & 128:
        value |= (raw[at] & 127) << shift
        shift += 7
        at += 1
        if shift > 63:
            raise IndexError("no number")
    return value | raw[at] << shift, at + 1
