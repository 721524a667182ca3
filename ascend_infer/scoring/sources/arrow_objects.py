"""Tables in memory that pyarrow reads: its own, and data frames that give themselves to Arrow."""

from __future__ import annotations

from typing import Any

from ascend_infer.errors import InvalidOptionError
from ascend_infer.scoring.arrow import arrow_dataset, pa

__all__ = ["dataset_of", "is_arrow"]


def is_arrow(source: object) -> bool:
    """Tell whether something is pyarrow's, or a table by Arrow's protocol, without importing it."""
    kind = type(source)
    if kind.__module__.partition(".")[0] == "pyarrow":
        return True
    # A single column, such as a pandas Series, has the protocol too; its values are items like any other's.
    return hasattr(kind, "__arrow_c_stream__") and (hasattr(source, "columns") or hasattr(source, "schema"))


def dataset_of(source: Any) -> Any:
    """Return what gives rows as a data set; what is no data set is held in memory, read to its end.

    Raises
    ------
    InvalidOptionError
        It is no table.
    MissingDependencyError
    """
    dataset = arrow_dataset()
    if isinstance(source, dataset.Dataset):
        return source
    if isinstance(source, pa().RecordBatch):
        return dataset.dataset(pa().Table.from_batches([source]))
    kind = f"{type(source).__module__.partition('.')[0]}.{type(source).__name__}"
    why = ""
    if hasattr(source, "__arrow_c_stream__"):
        try:
            table = pa().table(source)
        except (pa().ArrowException, TypeError, ValueError) as error:
            if isinstance(error, OSError):
                raise
            why = f" ({error})"
        else:
            # A pandas index without a name is no column of the caller's.
            kept = [name for name in table.column_names if not name.startswith("__index_level_")]
            return dataset.dataset(table.select(kept))
    raise InvalidOptionError(
        f"source: got a {kind}{why}, expected a pyarrow Table, RecordBatch, RecordBatchReader or Dataset, a data frame "
        "of pandas or polars, or a path; of a ParquetFile give the path, of an array or a column "
        "pyarrow.table({'name': it})",
        option="source",
        got=kind,
    )
