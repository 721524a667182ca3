"""Records of CSV and JSON Lines files."""

from __future__ import annotations

import csv
import json
import os
import stat
from collections.abc import Generator, Iterator
from io import TextIOWrapper
from typing import IO, Any

from ascend_infer.errors import InvalidOptionError
from ascend_infer.scoring.rows import BadItem, Row
from ascend_infer.scoring.sources.source import SourceOptions, file_identity, source_error

__all__ = ["CsvFile", "JsonLines"]

#: Rows between two looks at how far a file is read.
_NOTED = 256


class _TextFile:
    kind = ""
    checked = True
    total: int | None = None

    def __init__(self, path: str, options: SourceOptions) -> None:
        self.name = path
        self.base = os.path.dirname(path)
        self._id = options.id_column
        self.numbered = False
        self._seen = (0, 0)  # rows, and the bytes that they took

    def identity(self) -> dict[str, Any]:
        """Return the file's size and time."""
        return file_identity(self.name, self.kind)

    def listing(self) -> Iterator[str]:
        """Return nothing: one file."""
        return iter(())

    def expected_rows(self) -> int | None:
        """Return about how many rows there are, by the size of those that were read; None where nothing tells."""
        rows, taken = self._seen
        try:
            found = os.stat(self.name)
        except OSError:
            return None
        if not rows or not taken or not stat.S_ISREG(found.st_mode):
            return None
        return max(rows, round(rows * found.st_size / taken))

    def _read_up_to(self, rows: int, file: IO[bytes]) -> None:
        if rows % _NOTED == 0 and file.seekable():
            self._seen = (rows, file.tell())

    def places(self) -> Iterator[str]:
        """Return the file."""
        return iter((self.name,))


class CsvFile(_TextFile):
    """The lines of a CSV file with a header; items are texts by column, without the one that names rows.

    Raises
    ------
    InvalidOptionError
        There is no header, or no such column.
    ScoringSourceError
    """

    kind = "csv"

    def __init__(self, path: str, options: SourceOptions) -> None:
        super().__init__(path, options)
        try:
            with open(path, newline="", encoding="utf-8-sig", errors="surrogateescape") as file:
                header = next(csv.reader(file), [])
        except csv.Error as error:
            raise InvalidOptionError(
                f"source {path}: it is no CSV: {error}", option="source", got=path
            ) from error
        except OSError as error:
            raise source_error(path, None, error) from error
        if len(set(header)) != len(header) or not any(header):
            raise InvalidOptionError(
                f"source {path}: expected a first line with a name for each column, each another; got {header[:8]}",
                option="source",
                got=path,
            )
        for option, name in (("id_column", options.id_column), ("column", options.column)):
            if name is not None and name not in header:
                raise InvalidOptionError(
                    f"{option}={name!r}: {path} has the columns {', '.join(header)}", option=option, got=name
                )
        self._header = header
        self._id = options.id_column or ("id" if "id" in header and "id" not in options.inputs else None)
        self.numbered = self._id is None

    def rows(self, start: int) -> Generator[Row, None, None]:
        """Give the records; lines that are none are rows too, with the reason."""
        try:
            with (
                open(self.name, "rb") as file,
                TextIOWrapper(file, "utf-8-sig", "surrogateescape", newline="") as text,
            ):
                yield from self._rows(csv.reader(text), file, start)
        except OSError as error:
            raise source_error(self.name, None, error) from error

    def _rows(self, lines: Iterator[list[str]], file: IO[bytes], start: int) -> Iterator[Row]:
        next(lines, None)
        index = 0
        while True:
            self._read_up_to(index, file)
            try:
                fields = next(lines)
            except StopIteration:
                return
            except csv.Error as error:
                yield Row(index, self._name([], index), BadItem(f"no CSV: {error}"))
                index += 1
                continue
            if not fields:
                continue  # an empty line
            if index >= start:
                yield Row(index, self._name(fields, index), self._item(fields))
            index += 1

    def _name(self, fields: list[str], index: int) -> int | str:
        if self._id is None:
            return index
        place = self._header.index(self._id)
        return fields[place] if place < len(fields) else str(index)

    def _item(self, fields: list[str]) -> dict[str, str] | BadItem:
        if len(fields) != len(self._header):
            return BadItem(f"got {len(fields)} fields, expected {len(self._header)}, one for each column")
        item = dict(zip(self._header, fields, strict=True))
        if any("\udc80" <= letter <= "\udcff" for field in fields for letter in field):
            return BadItem("the line is not UTF-8")
        if self._id is not None:
            del item[self._id]
        return item


class JsonLines(_TextFile):
    """The lines of a JSON Lines file, empty ones left out; items are what a line holds.

    An object's key ``id``, or the column that is named, names the row.
    """

    kind = "jsonl"

    def __init__(self, path: str, options: SourceOptions) -> None:
        super().__init__(path, options)
        if self._id is None and "id" not in options.inputs:
            self._id = "id"

    def rows(self, start: int) -> Generator[Row, None, None]:
        """Give what each line holds; lines that are no JSON are rows too, with the reason."""
        index = 0
        try:
            with open(self.name, "rb") as file:
                for line in file:
                    if not line.strip():
                        continue
                    if index >= start:
                        yield self._row(index, line)
                    index += 1
                    self._read_up_to(index, file)
        except OSError as error:
            raise source_error(self.name, index, error) from error

    def _row(self, index: int, line: bytes) -> Row:
        try:
            item = json.loads(line)
        except (ValueError, RecursionError) as error:
            return Row(index, str(index), BadItem(f"no JSON: {error}"))
        name: object = None
        if isinstance(item, dict) and self._id is not None:
            name = item.pop(self._id, None)
        return Row(index, str(index if name is None else name), item)
