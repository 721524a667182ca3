"""JSON Lines: an object a row."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ascend_infer.scoring.ranking import Column
from ascend_infer.scoring.rows import ScoredRow
from ascend_infer.scoring.sinks.joined import join_files
from ascend_infer.scoring.sinks.numbers import json_text, plain_values
from ascend_infer.scoring.sinks.sink import Fit
from ascend_infer.scoring.sinks.writable import fit_writable
from ascend_infer.scoring.utf8_text import utf8_id, utf8_text

__all__ = ["JsonLinesSink"]


class JsonLinesSink:
    """Keys ``id``, the columns, and ``error`` in rows that failed; arrays as nested lists."""

    suffix = ".jsonl"
    is_folder = False

    def __init__(self, columns: Sequence[Column] | None, numbered: bool) -> None:
        self._dtypes = {column.name: column.dtype for column in columns or ()}
        self._numbered = numbered
        self._own = columns is None

    def identity(self) -> dict[str, Any]:
        """Return the form."""
        return {"form": "jsonl"}

    def encode_part(self, rows: Sequence[ScoredRow]) -> bytes:
        """Return a line for each row."""
        lines = []
        for row in rows:
            values = {"id": row.id if self._numbered else utf8_id(row.id)}
            for name, value in row.values.items():
                values[name] = plain_values(value, self._dtypes.get(name))
            if row.error:
                values["error"] = utf8_text(row.error)
            lines.append(json_text(values) + "\n")
        return "".join(lines).encode()

    def fitting(self, parts: Sequence[str]) -> Fit | None:
        """Return what finds values of a function's that have no text."""
        return fit_writable if self._own else None

    def assemble(self, parts: Sequence[str], target: str) -> None:
        """Put the parts one behind the other."""
        with open(target, "wb") as file:
            join_files(parts, file)
