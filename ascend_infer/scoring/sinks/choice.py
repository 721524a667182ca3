"""Which form an output has."""

from __future__ import annotations

import os
from collections.abc import Sequence

from ascend_infer.errors import InvalidOptionError
from ascend_infer.scoring.ranking import Column
from ascend_infer.scoring.sinks.csv_table import CsvSink
from ascend_infer.scoring.sinks.json_lines import JsonLinesSink
from ascend_infer.scoring.sinks.npz_folder import NpzFolderSink
from ascend_infer.scoring.sinks.parquet_file import ParquetSink
from ascend_infer.scoring.sinks.sink import Sink

__all__ = ["FORMS", "form_of", "open_sink"]

_SUFFIXES = {".parquet": "parquet", ".csv": "csv", ".jsonl": "jsonl", ".ndjson": "jsonl", "": "npz"}
FORMS = ("parquet", "csv", "jsonl", "npz")


def form_of(path: str, form: str | None) -> str:
    """Return the form that an output's name or the caller says.

    Raises
    ------
    InvalidOptionError
    """
    if form is not None:
        if form not in FORMS:
            raise InvalidOptionError(
                f"form: got {form!r}, expected one of {', '.join(FORMS)}", option="form", got=form
            )
        return form
    suffix = os.path.splitext(path.rstrip("/"))[1].lower()
    if suffix not in _SUFFIXES:
        raise InvalidOptionError(
            f"out: got {path}, expected a name that ends in .parquet, .csv or .jsonl, or a folder for .npz files",
            option="out",
            got=path,
        )
    return _SUFFIXES[suffix]


def open_sink(form: str, columns: Sequence[Column] | None, numbered: bool) -> Sink:
    """Return what writes a form.

    Parameters
    ----------
    form : str
    columns : sequence of Column or None
        None where a function of the caller's makes them.
    numbered : bool
        Rows are named by numbers.

    Raises
    ------
    MissingDependencyError, InvalidOptionError
    """
    if form == "parquet":
        return ParquetSink(columns, numbered)
    if form == "csv":
        return CsvSink(columns)
    return JsonLinesSink(columns, numbered) if form == "jsonl" else NpzFolderSink(columns, numbered)
