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
from ascend_infer.scoring.sources.arrow_objects import dataset_of
from ascend_infer.scoring.sources.source import SourceOptions, digest_of, source_error

__all__ = ["ArrowDataset"]

_ROWS = 256


class ArrowDataset:
    """A file, files in a given order, or a table or data set.

    Items are values by column: numpy arrays where a column holds numbers or lists of numbers.

    Parameters
    ----------
    source : str, pyarrow table or data set, data frame
        A path, or what was given for several. A table is held in memory, as is what a stream gives only once.
    options : SourceOptions
    form : str
        The files', as pyarrow calls it.
    files : sequence of str, optional
        In place of the one file.
    top : str
        Folders below it that are called ``key=value`` make a column each, as Hive has them.

    Raises
    ------
    InvalidOptionError, ScoringSourceError, MissingDependencyError
    """

    def __init__(
        self,
        source: Any,
        options: SourceOptions,
        form: str = "parquet",
        *,
        files: Sequence[str] | None = None,
        top: str = "",
    ) -> None:
        dataset = arrow_dataset()
        self._is_path = isinstance(source, str)
        self.name = source if self._is_path else f"<{type(source).__name__}>"
        self.base = os.path.dirname(source) if self._is_path and files is None else ""
        keys: list[str] = []
        try:
            if files is not None:
                source, keys = _of_files(files, form, top)
            elif self._is_path:
                source = dataset.dataset(source, format=form)
            else:
                source = dataset_of(source)
            self._dataset = source
            self.total: int | None = source.count_rows()
        except InvalidOptionError:
            raise
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
            # A folder's name is no element of an input that takes all of a record's numbers.
            kept = () if options.everything else keys
            wanted = [name for name in columns if name != self._id and name not in kept]
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


def _of_files(files: Sequence[str], form: str, top: str) -> tuple[Any, list[str]]:
    """Return the data set of some files, and the columns that it has by its folders' names."""
    dataset = arrow_dataset()
    plain = dataset.dataset(list(files), format=form)
    folders = {os.path.dirname(os.path.relpath(path, top or os.curdir)) for path in files}
    parts = [part for folder in folders for part in folder.split(os.sep) if "=" in part]
    # Files that hold such a column themselves have it in its own type, which may be another than the name's.
    keys = sorted({part.partition("=")[0] for part in parts} - set(plain.schema.names))
    if not keys:
        return plain, []
    return dataset.dataset(list(files), format=form, partitioning="hive", partition_base_dir=top), keys


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
