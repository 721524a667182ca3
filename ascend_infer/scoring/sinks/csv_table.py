"""CSV: a line a row, an array as a column for each element."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence
from math import prod
from typing import Any

import numpy as np

from ascend_infer.errors import InvalidOptionError
from ascend_infer.scoring.ranking import Column
from ascend_infer.scoring.rows import ScoredRow
from ascend_infer.scoring.sinks.joined import join_files
from ascend_infer.scoring.sinks.numbers import json_text, number_text
from ascend_infer.scoring.sinks.sink import Fit
from ascend_infer.scoring.sinks.writable import TEXTS, fit_writable
from ascend_infer.scoring.utf8_text import utf8_id, utf8_text

__all__ = ["CsvSink"]

#: Elements of an array that become columns; more are one of JSON, as arrays of any size are.
_MOST_COLUMNS = 16_384


class CsvSink:
    """Columns ``id``, the row's, ``error``; UTF-8, lines end with a line feed.

    Raises
    ------
    InvalidOptionError
        Two columns would have the same name.
    """

    suffix = ".csv"
    is_folder = False

    def __init__(self, columns: Sequence[Column] | None) -> None:
        self._columns = columns
        if columns is not None:
            header = self._header(columns)
            if len(set(header)) != len(header):
                twice = next(name for name in header if header.count(name) > 1)
                raise InvalidOptionError(
                    f"out: two columns of the CSV would be called {twice!r}; write .jsonl or .parquet, or leave an "
                    "output out",
                    option="out",
                    got=twice,
                )

    def identity(self) -> dict[str, Any]:
        """Return the form."""
        return {"form": "csv"}

    def encode_part(self, rows: Sequence[ScoredRow]) -> bytes:
        """Return a header and a line for each row."""
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        if self._columns is not None:
            header = self._header(self._columns)
            lines = [self._cells(row, self._columns) for row in rows]
        else:
            header, lines = _own_columns(rows)
        writer.writerow(["id", *header, "error"])
        for row, cells in zip(rows, lines, strict=True):
            writer.writerow([utf8_id(row.id), *cells, row.error])
        return utf8_text(text.getvalue()).encode()

    def fitting(self, parts: Sequence[str]) -> Fit | None:
        """Return what finds values of a function's that have no text."""
        return fit_writable if self._columns is None else None

    def assemble(self, parts: Sequence[str], target: str) -> None:
        """Put the parts under one header; where they have different columns, under all of them."""
        headers = [_header_of(path) for path in parts]
        with open(target, "wb") as file:
            if len(set(headers)) == 1:
                with open(parts[0], "rb") as first:
                    file.write(first.readline())
                join_files(parts, file, skip_lines=1)
                return
            names = dict.fromkeys(name for header in headers for name in header if name != "error")
            text = io.TextIOWrapper(file, "utf-8", newline="", write_through=True)
            writer = csv.DictWriter(text, [*names, "error"], restval="", lineterminator="\n")
            writer.writeheader()
            for path in parts:
                writer.writerows(_records(path))
            text.flush()
            join_files((), file)
            text.detach()

    def _header(self, columns: Sequence[Column]) -> list[str]:
        names: list[str] = []
        for column in columns:
            count = _spread(column)
            names += [column.name] if count == 1 else [f"{column.name}_{number}" for number in range(count)]
        return names

    def _cells(self, row: ScoredRow, columns: Sequence[Column]) -> list[str]:
        cells: list[str] = []
        for column in columns:
            count = _spread(column)
            if column.name not in row.values:
                cells += [""] * count
                continue
            value = row.values[column.name]
            if isinstance(value, np.ndarray) and (column.shape is None or count != value.size):
                cells.append(json_text(value))
            elif isinstance(value, np.ndarray):
                cells += _texts(value)
            else:
                cells.append(number_text(value, column.dtype))
        return cells


def _spread(column: Column) -> int:
    if column.shape is None or -1 in column.shape:
        return 1
    count = prod(column.shape)
    return count if 0 < count <= _MOST_COLUMNS else 1


def _texts(array: np.ndarray[Any, Any]) -> list[str]:
    flat = array.reshape(-1)
    if flat.dtype.kind == "V":
        flat = flat.astype(np.float32)
    if flat.dtype == object:
        return [number_text(item) for item in flat]
    texts: list[str] = flat.astype("U").tolist()
    return texts


def _own_columns(rows: Sequence[ScoredRow]) -> tuple[list[str], list[list[str]]]:
    """Return the columns that a function of the caller's made, in the order in which they came."""
    header = list(dict.fromkeys(name for row in rows for name in row.values))
    lines = []
    for row in rows:
        cells = []
        for name in header:
            value = row.values.get(name)
            plain = isinstance(value, str | bytes | bytearray | int | float | np.generic | TEXTS)
            cells.append("" if value is None else number_text(value) if plain else json_text(value))
        lines.append(cells)
    return header, lines


def _header_of(path: str) -> tuple[str, ...]:
    return tuple(next(_lines(path)))


def _lines(path: str) -> Iterator[list[str]]:
    with open(path, newline="", encoding="utf-8") as file:
        yield from csv.reader(file)


def _records(path: str) -> Iterator[dict[str, str]]:
    lines = _lines(path)
    header = next(lines)
    for line in lines:
        yield dict(zip(header, line, strict=True))
