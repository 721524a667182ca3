"""Parquet: a row group a part; arrays as lists, or as Arrow's tensors of fixed shape."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import numpy as np

from ascend_infer.errors import ScoringOutputError
from ascend_infer.scoring.arrow import pa, parquet
from ascend_infer.scoring.ranking import Column
from ascend_infer.scoring.rows import ScoredRow
from ascend_infer.scoring.sinks.row_types import RowTypes, column_of
from ascend_infer.scoring.sinks.sink import Fit
from ascend_infer.scoring.utf8_text import utf8_id, utf8_text
from ascend_infer.types import DataType

__all__ = ["ParquetSink"]

Array = np.ndarray[Any, np.dtype[Any]]

_NAMES = {"BOOL": "bool_", "BYTES": "string", "FP16": "float16", "FP32": "float32", "FP64": "float64"}


class ParquetSink:
    """Columns ``id``, the row's, ``error`` (null where all is well).

    A vector is a list; an array of more dimensions that are known is a tensor of fixed shape; one of open dimensions is
    a list, with its shape in a column of its own.

    Parameters
    ----------
    columns : sequence of Column or None
        None where a function of the caller's makes them: types then follow from the values.
    numbered : bool
        Rows are named by numbers.

    Raises
    ------
    MissingDependencyError
    """

    suffix = ".arrow"  # parts are read once more, so they are not compressed
    is_folder = False

    def __init__(self, columns: Sequence[Column] | None, numbered: bool) -> None:
        self._pa = pa()
        self._columns = columns
        self._id = self._pa.int64() if numbered else self._pa.string()
        self._numbered = numbered

    def identity(self) -> dict[str, Any]:
        """Return the form, and the writer, whose version is in the file."""
        return {"form": "parquet", "pyarrow": self._pa.__version__}

    def encode_part(self, rows: Sequence[ScoredRow]) -> bytes:
        """Return an Arrow file of one batch."""
        arrays: dict[str, Any] = {"id": self._ids(rows)}
        if self._columns is None:
            for name in dict.fromkeys(name for row in rows for name in row.values):
                arrays[name] = column_of([row.values.get(name) for row in rows])
        else:
            for column in self._columns:
                arrays.update(self._typed(column, [row.values.get(column.name) for row in rows]))
        arrays["error"] = self._pa.array([utf8_text(row.error) or None for row in rows], self._pa.string())
        table = self._pa.table(arrays)
        out = self._pa.BufferOutputStream()
        with self._pa.ipc.new_file(out, table.schema) as writer:
            writer.write_table(table)
        return bytes(out.getvalue())

    def fitting(self, parts: Sequence[str]) -> Fit | None:
        """Return what keeps a function's values to one type for each column, told at the row and not at the end."""
        if self._columns is not None:
            return None
        types = RowTypes()
        for path in parts:
            table = _read(path)
            try:
                types.go_on(
                    table.select([name for name in table.column_names if name not in ("id", "error")])
                )
            except (TypeError, ValueError) as error:
                raise _apart(path, error) from error
        return types.fit

    def assemble(self, parts: Sequence[str], target: str) -> None:
        """Write each part as a row group, under the schema that takes them all."""
        schema = self._schema(parts)
        with open(target, "wb") as file:
            with parquet().ParquetWriter(file, schema, compression="zstd") as writer:
                for path in parts:
                    try:
                        table = self._fitted(_read(path), schema)
                    except (TypeError, ValueError, NotImplementedError) as error:
                        raise _apart(path, error) from error
                    writer.write_table(table)
            file.flush()
            os.fsync(file.fileno())

    def _schema(self, parts: Sequence[str]) -> Any:
        first = _read(parts[0]).schema
        if self._columns is not None:
            return first
        schemas = [_read(path).schema for path in parts]
        try:
            whole = self._pa.unify_schemas(schemas, promote_options="permissive")
        except (TypeError, ValueError) as error:
            raise _apart(parts[0], error) from error
        last = whole.field("error")
        return self._pa.schema([*(field for field in whole if field.name != "error"), last])

    def _fitted(self, table: Any, schema: Any) -> Any:
        if table.schema.equals(schema):
            return table
        columns = [
            table.column(field.name).cast(field.type)
            if field.name in table.column_names
            else self._pa.nulls(len(table), field.type)
            for field in schema
        ]
        return self._pa.table(columns, schema=schema)

    def _ids(self, rows: Sequence[ScoredRow]) -> Any:
        if self._numbered:
            return self._pa.array([row.id for row in rows], self._id)
        texts = [utf8_id(row.id) for row in rows]
        return self._pa.array(texts, self._id)

    def _typed(self, column: Column, values: Sequence[Any]) -> dict[str, Any]:
        element = self._element(column.dtype)
        if column.shape == ():
            plain = [None if value is None else _scalar(value) for value in values]
            return {column.name: self._pa.array(plain, element)}
        flat = [None if value is None else _flat(value) for value in values]
        if (
            column.shape is not None
            and len(column.shape) > 1
            and min(column.shape) > 0
            and element != "string"
        ):
            kind = self._pa.fixed_shape_tensor(element, column.shape)
            storage = self._pa.array(flat, kind.storage_type)
            return {column.name: self._pa.ExtensionArray.from_storage(kind, storage)}
        found = {column.name: self._pa.array(flat, self._pa.list_(element))}
        if column.shape is None or -1 in column.shape:
            shapes = [None if value is None else list(np.shape(value)) for value in values]
            found[f"{column.name}_shape"] = self._pa.array(shapes, self._pa.list_(self._pa.int64()))
        return found

    def _element(self, dtype: DataType) -> Any:
        name = _NAMES.get(dtype.value) or dtype.value.lower()
        # bfloat16 and narrower types have no Arrow type of their own.
        return getattr(self._pa, name, self._pa.float32)()


def _apart(path: str, error: Exception) -> ScoringOutputError:
    return ScoringOutputError(
        f"{path}: its columns and those of other parts have no type in common ({error}); let postprocess return values "
        "of one type in each column, and begin afresh with resume=False (--restart)",
        path=path,
    )


def _read(path: str) -> Any:
    with pa().memory_map(os.fsencode(path)) as file:
        return pa().ipc.open_file(file).read_all()


def _scalar(value: Any) -> Any:
    if isinstance(value, np.ndarray | np.generic):
        value = np.asarray(value).astype(np.float32) if np.asarray(value).dtype.kind == "V" else value
        value = value.item()
    if isinstance(value, bytes):
        return value.decode("utf-8", "backslashreplace")
    return utf8_text(value) if isinstance(value, str) else value


def _flat(value: Array) -> Any:
    flat = np.asarray(value).reshape(-1)
    if flat.dtype == object:
        return [_scalar(item) for item in flat]
    return flat.astype(np.float32) if flat.dtype.kind == "V" else flat
