"""What batches of each size cost, for whoever decides how many rows run together."""

from __future__ import annotations

from ascend_infer.gears.cost import Costs
from ascend_infer.gears.sizes import ModelSizes

__all__ = ["batch_costs"]


def batch_costs(sizes: ModelSizes, costs: Costs) -> list[tuple[int, float | None]]:
    """Return the rows of each compiled size and the seconds that it takes, None where it was never run.

    Empty for a model whose sizes differ in more than their rows: what a batch costs is then no matter of rows alone.
    """
    if len(sizes.sizes) < 2 or not sizes.rows_are_free:
        return []
    without_rows = {
        tuple(dims[1:] if i in sizes.row_inputs else dims for i, dims in enumerate(size.inputs))
        for size in sizes.sizes
    }
    rows = [sizes.rows_of(size) for size in sizes.sizes]
    if len(without_rows) > 1 or None in rows:
        return []
    return [
        (count, seconds if measured else None)
        for count, seconds, measured in zip(rows, costs.seconds, costs.measured, strict=True)
        if count is not None
    ]
