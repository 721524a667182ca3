"""Which kind of source something is."""

from __future__ import annotations

import os
from typing import Any

from ascend_infer.errors import InvalidOptionError
from ascend_infer.scoring.sources.arrow_dataset import ArrowDataset, is_arrow
from ascend_infer.scoring.sources.iterable import PythonIterable
from ascend_infer.scoring.sources.numpy_file import NumpyFile
from ascend_infer.scoring.sources.pictures import SUFFIXES, Pictures
from ascend_infer.scoring.sources.source import Source, SourceOptions, source_error
from ascend_infer.scoring.sources.text_records import CsvFile, JsonLines

__all__ = ["open_source"]

_ARROW = {".parquet": "parquet", ".arrow": "ipc", ".feather": "feather"}
_EXPECTED = (
    "a folder or pattern of pictures, a .npy, .npz, .csv, .jsonl, .parquet, .arrow or .feather file, a folder of "
    "Parquet files"
)


def open_source(source: Any, options: SourceOptions) -> Source:
    """Return what gives the rows.

    Parameters
    ----------
    source : path-like, pyarrow table or data set, iterable
    options : SourceOptions

    Raises
    ------
    InvalidOptionError, ScoringSourceError, MissingDependencyError
    """
    if isinstance(source, str | os.PathLike):
        return _of_path(os.fsdecode(source), options)
    if is_arrow(source):
        return ArrowDataset(source, options)
    if hasattr(source, "__iter__") or (hasattr(source, "__len__") and hasattr(source, "__getitem__")):
        return PythonIterable(source)
    raise InvalidOptionError(
        f"source: got {type(source).__name__}, expected {_EXPECTED}, or an iterable",
        option="source",
        got=repr(source),
    )


def _of_path(path: str, options: SourceOptions) -> Source:
    if os.path.isdir(path):
        names = sorted(os.listdir(path))
        tables = [name for name in names if os.path.splitext(name)[1] in _ARROW]
        if tables and not any(name.lower().endswith(SUFFIXES) for name in names):
            return ArrowDataset(path, options, _ARROW[os.path.splitext(tables[0])[1]])
        return Pictures(path)
    suffix = os.path.splitext(path)[1].lower()
    if not os.path.exists(path):
        if any(letter in path for letter in "*?["):
            return Pictures(path)
        raise source_error(path, None, "there is no such file or folder; check the path")
    if suffix in (".npy", ".npz"):
        return NumpyFile(path, options)
    if suffix == ".csv":
        return CsvFile(path, options)
    if suffix in (".jsonl", ".ndjson"):
        return JsonLines(path, options)
    if suffix in _ARROW:
        return ArrowDataset(path, options, _ARROW[suffix])
    if suffix in SUFFIXES:
        return Pictures(glob_of_one(path))
    raise InvalidOptionError(f"source {path}: expected {_EXPECTED}", option="source", got=path)


def glob_of_one(path: str) -> str:
    """Return a pattern that matches exactly this path."""
    import glob

    return glob.escape(path)
