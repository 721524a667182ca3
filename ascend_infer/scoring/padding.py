"""How many rows a device runs for the rows it is given: compiled sizes are filled up."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ascend_infer.errors import InvalidInputError
from ascend_infer.scoring.model import ScoredSession
from ascend_infer.scoring.samples import Array

__all__ = ["Padding"]


class Padding:
    """Fills batches up to one size where the model is compiled for some sizes, and counts what that costs.

    A batch that lost a bad row, or the last one, would otherwise run in whichever gear seemed cheapest at that moment,
    and another gear may round otherwise: the same rows have to give the same bytes in every run.

    Thread safety: may be called from any number of threads.
    """

    def __init__(self, session: ScoredSession, batch: int, leading: bool) -> None:
        self._session = session
        self._batch = batch
        self._launched: dict[object, int] = {}
        self._gears = leading and self._has_gears()

    def fill(self, feed: dict[str, Array], rows: int) -> dict[str, Array]:
        """Return the batch with its last row repeated up to the size that all batches have."""
        if not self._gears or rows >= self._batch:
            return feed
        return {
            name: np.concatenate([item, np.repeat(item[-1:], self._batch - rows, axis=0)])
            for name, item in feed.items()
        }

    def launched(self, feed: Mapping[str, Array]) -> int:
        """Return the rows that the device runs for this batch."""
        rows = len(next(iter(feed.values()))) if feed else 1
        if not self._gears:
            return rows
        shapes = {name: item.shape for name, item in feed.items()}
        key = tuple(shapes.items())
        found = self._launched.get(key)
        if found is None:
            found = self._launched[key] = self._asked(shapes, rows)
        return found

    def _asked(self, shapes: dict[str, Any], rows: int) -> int:
        told = self._session.explain(**shapes)
        if told.choice is None:
            return rows
        sizes = told.sizes
        return sum(
            (sizes.rows_of(sizes.sizes[launch.index]) or rows) if launch.index is not None else launch.rows
            for launch in told.choice.launches
        )

    def _has_gears(self) -> bool:
        try:
            told = self._session.explain(
                **{t.name: tuple(max(1, d) for d in t.shape) for t in self._session.inputs}
            )
        except InvalidInputError:
            return False
        return bool(told.sizes.sizes)
