"""Rows of any Python iterable."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator, Sequence, Sized
from itertools import islice
from typing import Any

from ascend_infer.scoring.rows import Row
from ascend_infer.scoring.sources.source import source_error

__all__ = ["PythonIterable"]


class PythonIterable:
    """Items of an iterable: arrays, mappings of input to array, pictures or their paths, or ``(id, item)``.

    Begun again at a row, it is iterated from its beginning and what was scored is passed over; that the names are the
    same is checked, not that the items are. A finished output is not taken for that of rows without names.

    Parameters
    ----------
    items : iterable
        Something with ``__len__`` and ``__getitem__`` only will do: a data set as training code has them.
    """

    checked = False
    base = ""

    def __init__(self, items: Any) -> None:
        self.name = f"<{type(items).__name__}>"
        self._items = items
        self.total = len(items) if isinstance(items, Sized) else None
        self.numbered = False
        #: May be looked at before the run.
        self.is_sequence = isinstance(items, Sequence)

    def identity(self) -> dict[str, Any]:
        """Return the type and, where there is one, the length."""
        return {"kind": "iterable", "type": type(self._items).__name__, "rows": self.total}

    def listing(self) -> Iterator[str]:
        """Return nothing: the items are not known."""
        return iter(())

    def places(self) -> Iterator[str]:
        """Return nothing: the items are not known."""
        return iter(())

    def rows(self, start: int) -> Generator[Row, None, None]:
        """Give the items; what the iterable itself raises ends the run."""
        index = start
        try:
            for item in islice(self._iterated(), start, None):
                yield _row(index, item)
                index += 1
        except Exception as error:
            raise source_error(self.name, index, f"{type(error).__name__}: {error}") from error

    def _iterated(self) -> Iterable[Any]:
        if hasattr(self._items, "__iter__"):
            items: Iterable[Any] = self._items
            return items
        return (self._items[index] for index in range(len(self._items)))


def _row(index: int, item: Any) -> Row:
    if type(item) is tuple and len(item) == 2 and isinstance(item[0], str | int):
        return Row(index, str(item[0]), item[1])
    if isinstance(item, str) or hasattr(item, "__fspath__"):
        return Row(index, str(item), item)
    return Row(index, str(index), item)
