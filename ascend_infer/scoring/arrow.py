"""pyarrow, imported when it is needed; an error that says how to get it where it is not there."""

from __future__ import annotations

from typing import Any

from ascend_infer.errors import MissingDependencyError

__all__ = ["arrow_dataset", "pa", "parquet"]


def pa() -> Any:
    """Return the module pyarrow.

    Raises
    ------
    MissingDependencyError
    """
    try:
        import pyarrow
    except ImportError as error:
        raise MissingDependencyError(
            f"Parquet and Arrow files need pyarrow ({error}): pip install 'ascend-infer[parquet]'",
            package="pyarrow",
        ) from error
    return pyarrow


def parquet() -> Any:
    """Return the module pyarrow.parquet."""
    pa()
    import pyarrow.parquet

    return pyarrow.parquet


def arrow_dataset() -> Any:
    """Return the module pyarrow.dataset."""
    pa()
    import pyarrow.dataset

    return pyarrow.dataset
