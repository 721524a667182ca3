"""A folder of ``.npz`` files, one a part."""

from __future__ import annotations

import io
import os
import shutil
import zipfile
from collections.abc import Sequence
from typing import Any

import numpy as np

from ascend_infer.scoring.durable import sync_folder
from ascend_infer.scoring.ranking import Column
from ascend_infer.scoring.rows import ScoredRow
from ascend_infer.scoring.sinks.numbers import json_text, number_text
from ascend_infer.scoring.sinks.sink import Fit
from ascend_infer.scoring.sinks.writable import fit_writable
from ascend_infer.scoring.utf8_text import utf8_id, utf8_text

__all__ = ["NpzFolderSink"]

Array = np.ndarray[Any, np.dtype[Any]]


class NpzFolderSink:
    """Files ``rows-000000000000.npz`` named by their first row: members ``id``, ``error`` and one for each column.

    Values of a column whose shapes are equal are stacked, with zeros in rows that failed; otherwise each row that has
    one is a member of its own, ``column/row``.
    """

    suffix = ".npz"
    is_folder = True

    def __init__(self, columns: Sequence[Column] | None, numbered: bool) -> None:
        self._own = columns is None
        self._numbered = numbered

    def identity(self) -> dict[str, Any]:
        """Return the form."""
        return {"form": "npz"}

    def encode_part(self, rows: Sequence[ScoredRow]) -> bytes:
        """Return an ``.npz`` file."""
        ids = [row.id for row in rows] if self._numbered else [utf8_id(row.id) for row in rows]
        members: dict[str, Array] = {
            "row": np.array([row.index for row in rows], np.int64),
            "id": np.array(ids, np.int64 if self._numbered else np.str_),
            "error": np.array([utf8_text(row.error) for row in rows], np.str_),
        }
        for name in dict.fromkeys(name for row in rows for name in row.values):
            members.update(_members(name, rows))
        out = io.BytesIO()
        # Not np.savez, which writes the time of day.
        with zipfile.ZipFile(out, "w", allowZip64=True) as archive:
            for name, array in members.items():
                with archive.open(zipfile.ZipInfo(f"{name}.npy"), "w", force_zip64=True) as member:
                    np.lib.format.write_array(member, array, allow_pickle=False)
        return out.getvalue()

    def fitting(self, parts: Sequence[str]) -> Fit | None:
        """Return what finds values of a function's that have no text."""
        return fit_writable if self._own else None

    def assemble(self, parts: Sequence[str], target: str) -> None:
        """Give the parts their names in a folder."""
        shutil.rmtree(target, ignore_errors=True)
        os.mkdir(target)
        for path in parts:
            with np.load(path, allow_pickle=False) as part:
                first = int(part["row"][0]) if len(part["row"]) else 0
            place = os.path.join(target, f"rows-{first:012d}.npz")
            try:
                os.link(path, place)
            except OSError:  # a file system without
                with open(path, "rb") as source, open(place, "wb") as file:
                    shutil.copyfileobj(source, file, 1 << 20)
                    file.flush()
                    os.fsync(file.fileno())
        sync_folder(target)


def _members(name: str, rows: Sequence[ScoredRow]) -> dict[str, Array]:
    found = {row.index: _array(row.values[name]) for row in rows if name in row.values}
    first = next(iter(found.values()))
    if any(item.shape != first.shape or item.dtype.kind != first.dtype.kind for item in found.values()):
        return {f"{name}/{index}": item for index, item in found.items()}
    filling = np.zeros(first.shape, first.dtype)
    return {name: np.stack([found.get(row.index, filling) for row in rows])}


def _array(value: Any) -> Array:
    try:
        array = np.asarray(value)
    except ValueError:  # lists of several lengths
        array = np.array(json_text(value))
    if array.dtype == object:
        texts = [
            json_text(item) if isinstance(item, dict | list | tuple | np.ndarray) else number_text(item)
            for item in array.flat
        ]
        return np.array(texts, dtype=str).reshape(array.shape)
    return array.astype(np.float32) if array.dtype.kind == "V" else array
