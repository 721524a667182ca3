"""Rows of Parquet and Arrow files, read batch by batch through pyarrow."""

from __future__ import annotations

import os
from collections.abc import Generator, Iterator, Sequence
from typing import Any

import numpy as np

from ascend_infer.errors import InvalidOptionError
from ascend_infer.scoring.arrow import arrow_dataset, pa
from ascend_infer.scoring.rows import Row
from ascend_infer.scoring.sources.arrow_content import ArrowContent
from ascend_infer.scoring.sources.folders import folders_below
from ascend_infer.scoring.sources.source import SourceOptions, digest_of, source_error

__all__ = ["ArrowDataset", "is_arrow"]

_ROWS = 256


def is_arrow(source: object) -> bool:
    """Tell whether this is a table or data set of pyarrow's, without importing it."""
    return type(source).__module__.startswith("pyarrow")


class ArrowDataset:
    """A file, a folder of files in the order of their paths, or a pyarrow table or data set.

    Items are values by column: numpy arrays where a column holds numbers or lists of numbers.

    Raises
    ------
    InvalidOptionError, ScoringSourceError, MissingDependencyError
    """

    def __init__(self, source: Any, options: SourceOptions, form: str = "parquet") -> None:
        dataset = arrow_dataset()
        self._is_path = isinstance(source, str)
        self.name = source if self._is_path else f"<{type(source).__name__}>"
        self.base = os.path.dirname(source) if self._is_path and not os.path.isdir(source) else ""
        try:
            if self._is_path or isinstance(source, pa().Table):
                files = _files_below(source) if self._is_path and os.path.isdir(source) else source
                source = dataset.dataset(files, **({"format": form} if self._is_path else {}))
            self._dataset = source
            self.total: int | None = source.count_rows()
        except OSError as error:
            raise source_error(self.name, None, error) from error
        except UnicodeEncodeError as error:
            why = (
                "pyarrow takes no path that is not UTF-8; rename what is not, or give a link of another name"
            )
            raise _wrong(self.name, why) from error
        except (pa().ArrowException, ValueError) as error:
            raise _wrong(self.name, f"it cannot be read as {form}: {error}") from error
        columns = self._dataset.schema.names
        self._id = options.id_column or ("id" if "id" in columns and "id" not in options.inputs else None)
        for option, name in (("id_column", self._id), ("column", options.column)):
            if name is not None and name not in columns:
                raise InvalidOptionError(
                    f"{option}={name!r}: {self.name} has the columns {', '.join(columns)}",
                    option=option,
                    got=name,
                )
        self.numbered = self._id is None
        wanted = [name for name in columns if name in options.inputs]
        if options.column is not None:
            wanted = [options.column]
        if options.everything or not wanted:
            wanted = [name for name in columns if name != self._id]
        self._columns = wanted
        self._content = ArrowContent(self._dataset)
        self.checked = self._content.known

    def identity(self) -> dict[str, Any]:
        """Return schema, number of rows, a digest over the files' names, sizes and times, and one over the content of
        what lies in memory.
        """
        return {
            "kind": "arrow",
            "rows": self.total,
            "schema": str(self._dataset.schema.remove_metadata()),
            "digest": digest_of(self.listing()),
            **self._content.identity(self._read()),
        }

    def listing(self) -> Iterator[str]:
        """Return each file's name, size and time of change."""
        return self._content.files()

    def places(self) -> Iterator[str]:
        """Return the files; a table in memory has none."""
        return self._content.places()

    def rows(self, start: int) -> Generator[Row, None, None]:
        """Give the records; batches before the first one wanted are passed over."""
        index = 0
        names = self._read()
        try:
            # One batch ahead and one file at a time: pyarrow's own read-ahead is as large as its memory.
            batches = self._dataset.to_batches(
                columns=names, batch_size=_ROWS, batch_readahead=1, fragment_readahead=1, use_threads=False
            )
            for batch in batches:
                if index + batch.num_rows > start:
                    yield from self._batch(batch, index, max(0, start - index))
                index += batch.num_rows
        except OSError as error:
            raise source_error(self.name, index, error) from error
        except pa().ArrowException as error:
            raise source_error(self.name, index, str(error)) from error

    def _read(self) -> list[str]:
        return [*self._columns, *([self._id] if self._id is not None else [])]

    def _batch(self, batch: Any, first: int, skip: int) -> Iterator[Row]:
        ids = None if self._id is None else batch.column(self._id).to_pylist()
        columns = {name: _values(batch.column(name)) for name in self._columns}
        for offset in range(skip, batch.num_rows):
            index = first + offset
            name: int | str = index
            if ids is not None:  # a row without a name of its own goes by its number
                name = str(index if ids[offset] is None else ids[offset])
            yield Row(index, name, {column: values[offset] for column, values in columns.items()})


def _files_below(folder: str) -> list[str]:
    """Return the files that pyarrow would take; it follows links in a circle as far as the system lets it."""

    def refuse(error: OSError) -> None:
        raise error

    return sorted(
        os.path.join(place, name)
        for place, names in folders_below(folder, refuse, hidden=(".", "_"))
        for name in names
        if not name.startswith((".", "_"))
    )


def _values(column: Any) -> Sequence[Any]:
    """Return a column's values: arrays where it holds numbers and none is missing."""
    kind = column.type
    if isinstance(column, pa().FixedShapeTensorArray):
        if column.null_count == 0:
            tensors: Any = column.to_numpy_ndarray()
            return list(tensors)
        shape = tuple(kind.shape)
        return [
            None if item is None else np.asarray(item).reshape(shape) for item in column.storage.to_pylist()
        ]
    if _is_number(kind):
        if column.null_count == 0:
            return list(column.to_numpy(zero_copy_only=False))
        # A value's type is the column's, whether or not another row has none.
        of_type = np.dtype(kind.to_pandas_dtype()).type
        return [None if item is None else of_type(item) for item in column.to_pylist()]
    if _is_list(kind):
        if _is_number(kind.value_type):
            return [None if not item.is_valid else _array(item.values) for item in column]
        while _is_list(kind):
            kind = kind.value_type
        if _is_number(kind):
            dtype = np.dtype(kind.to_pandas_dtype())
            return [_nested(item, dtype) for item in column.to_pylist()]
    return list(column.to_pylist())


def _is_number(kind: Any) -> bool:
    types = pa().types
    return bool(types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind))


def _is_list(kind: Any) -> bool:
    types = pa().types
    return bool(types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind))


def _array(values: Any) -> Any:
    return values.to_pylist() if values.null_count else values.to_numpy(zero_copy_only=False)


def _nested(item: Any, dtype: Any) -> Any:
    """Return lists of lists as one array; as they are where lengths differ or a value is missing."""
    try:
        if item is None or None in np.asarray(item, dtype=object).reshape(-1):
            return item
        return np.asarray(item, dtype=dtype)
    except (ValueError, TypeError):
        return item


def _wrong(path: str, why: str) -> InvalidOptionError:
    return InvalidOptionError(f"source {path}: {why}", option="source", got=path)
