"""matplotlib's figure, without a screen and without pyplot's state."""

from __future__ import annotations

from functools import cache
from io import BytesIO
from typing import Any

from ascend_infer.errors import MissingDependencyError

__all__ = ["load_figure"]


@cache
def load_figure() -> Any:
    """Return a class that is matplotlib's ``Figure`` and shows itself in a notebook.

    A plain ``Figure`` is shown there as its text alone, unless something imported pyplot before. This one brings its
    PNG. It has an opaque background of its own, so that it can be read on a dark page too.

    Raises
    ------
    MissingDependencyError
    """
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise MissingDependencyError(
            "a plot needs matplotlib: pip install 'ascend-infer[plot]'", package="matplotlib"
        ) from error

    class ShownFigure(Figure):
        def _repr_png_(self) -> bytes:
            page = BytesIO()
            self.savefig(page, format="png", dpi=self.get_dpi())
            return page.getvalue()

    ShownFigure.__name__ = ShownFigure.__qualname__ = "Figure"
    return ShownFigure
