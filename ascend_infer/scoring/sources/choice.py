"""Which kind of source something is."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from ascend_infer.errors import InvalidOptionError
from ascend_infer.scoring.sources.arrow_dataset import ArrowDataset
from ascend_infer.scoring.sources.arrow_objects import is_arrow
from ascend_infer.scoring.sources.found_files import PICTURES, TABLES, has_letters, in_folder, matched
from ascend_infer.scoring.sources.iterable import PythonIterable
from ascend_infer.scoring.sources.numpy_file import NumpyFile
from ascend_infer.scoring.sources.pictures import Pictures
from ascend_infer.scoring.sources.source import Source, SourceOptions, source_error
from ascend_infer.scoring.sources.text_records import CsvFile, JsonLines

__all__ = ["open_source"]

_EXPECTED = (
    "a folder or pattern of pictures or of .parquet, .arrow or .feather files, one of these, a .npy, .npz, .csv or "
    ".jsonl file"
)


def open_source(source: Any, options: SourceOptions) -> Source:
    """Return what gives the rows.

    Parameters
    ----------
    source : path-like, pyarrow table or data set, data frame, iterable
    options : SourceOptions

    Raises
    ------
    InvalidOptionError, ScoringSourceError, MissingDependencyError
    """
    if isinstance(source, str | os.PathLike):
        return _of_path(os.fsdecode(source), options)
    if is_arrow(source):
        return ArrowDataset(source, options)
    if isinstance(source, Mapping):
        raise _refused(
            source,
            "which is one row, or several columns; give [it] for one row of arrays by input, and for columns "
            "pyarrow.table(it), or [dict(zip(it, row)) for row in zip(*it.values())]",
        )
    if hasattr(source, "iloc") and hasattr(source, "columns"):
        raise _refused(
            source,
            "a data frame that does not give itself to Arrow, as pandas does from 2.2 on; give "
            "pyarrow.Table.from_pandas(it), or it.to_dict('records')",
        )
    if hasattr(source, "__iter__") or (hasattr(source, "__len__") and hasattr(source, "__getitem__")):
        return PythonIterable(source)
    raise _refused(source, f"expected {_EXPECTED}, a data frame, or an iterable")


def _of_path(path: str, options: SourceOptions) -> Source:
    if os.path.isdir(path):
        return _of_files(path, *in_folder(path, options.own), options, path)
    suffix = os.path.splitext(path)[1].lower()
    if not os.path.exists(path):
        if has_letters(path):
            top = os.path.dirname(path)
            while has_letters(top):
                top = os.path.dirname(top)
            return _of_files(path, *matched(path, options.own), options, top)
        raise source_error(path, None, "there is no such file or folder; check the path")
    if suffix in (".npy", ".npz"):
        return NumpyFile(path, options)
    if suffix == ".csv":
        return CsvFile(path, options)
    if suffix in (".jsonl", ".ndjson"):
        return JsonLines(path, options)
    if suffix in TABLES:
        return ArrowDataset(path, options, TABLES[suffix])
    if suffix in PICTURES:
        return Pictures(path, [os.fsencode(path)])
    raise InvalidOptionError(f"source {path}: expected {_EXPECTED}", option="source", got=path)


def _refused(source: object, why: str) -> InvalidOptionError:
    kind = type(source).__name__
    return InvalidOptionError(f"source: got {kind}, {why}", option="source", got=kind)


def _of_files(
    path: str, pictures: list[bytes], tables: list[str], options: SourceOptions, top: str
) -> Source:
    if tables:
        form = TABLES[os.path.splitext(tables[0])[1].lower()]
        return ArrowDataset(path, options, form, files=tables, top=top)
    return Pictures(path, pictures)
