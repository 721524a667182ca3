"""How far a run is, for whoever watches."""

from __future__ import annotations

import sys
import time
from importlib.util import find_spec
from types import TracebackType
from typing import Any, Protocol, TextIO

from ascend_infer.errors import MissingDependencyError
from ascend_infer.notebook import in_notebook

__all__ = ["Progress", "open_progress"]

#: Seconds between two lines on a terminal.
_EVERY = 0.5
#: tqdm's own form, but that the total and the time left are said to be about right.
_ABOUT = "{l_bar}{bar}| {n_fmt}/~{total_fmt} [{elapsed}<~{remaining}, {rate_fmt}{postfix}]"


class Progress(Protocol):
    """Shows how far a run is."""

    def __enter__(self) -> Progress: ...

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None: ...

    def advance(self, rows: int, waiting: int, share: float, about: int | None = None) -> None:
        """Take in rows that are done, how many batches wait for a device, and how busy the devices are (0 to 1).

        ``about`` is how many rows there may be, where the total is not known.
        """
        ...


def open_progress(wanted: bool | str, total: int | None, done: int) -> Progress:
    """Return what shows progress: tqdm's bar where it is installed, else a line; nothing where nobody looks.

    Parameters
    ----------
    wanted : bool or "auto"
        ``"auto"`` shows it on a terminal and in a notebook.
    total : int or None
    done : int
        Rows of an earlier run.

    Raises
    ------
    MissingDependencyError
        A bar was asked for in a notebook, and tqdm is not installed.

    Notes
    -----
    In a notebook the bar is a widget where ipywidgets is installed, else tqdm's line of text.
    """
    notebook = in_notebook()
    if wanted is False or (wanted == "auto" and not notebook and not _is_terminal(sys.stderr)):
        return _Quiet()
    try:
        # Not tqdm.auto: without ipywidgets that warns in the middle of the page before it writes the line of text.
        if notebook and _has_widgets():
            from tqdm.notebook import tqdm
        else:
            from tqdm import tqdm
    except ImportError as error:
        if not notebook:
            return _Line(sys.stderr, total, done)
        if wanted == "auto":
            return _Quiet()
        raise MissingDependencyError(
            f"a bar in a notebook needs tqdm ({error}): pip install 'ascend-infer[progress]'", package="tqdm"
        ) from error
    return _Bar(tqdm(total=total, initial=done, unit="row", dynamic_ncols=True))


class _Quiet:
    def __enter__(self) -> Progress:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def advance(self, rows: int, waiting: int, share: float, about: int | None = None) -> None:
        pass


class _Bar:
    def __init__(self, bar: Any) -> None:
        self._bar = bar

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.close()

    def advance(self, rows: int, waiting: int, share: float, about: int | None = None) -> None:
        if about is not None:
            self._bar.total = max(about, self._bar.n + rows)
            self._bar.bar_format = _ABOUT
        self._bar.set_postfix(queue=waiting, device=f"{share:.0%}", refresh=False)
        self._bar.update(rows)


class _Line:
    """One line that is written over."""

    def __init__(self, stream: TextIO | None, total: int | None, done: int) -> None:
        self._stream = stream
        self._total = total
        self._done = done
        self._first = done
        self._begun = time.monotonic()
        self._shown = 0.0

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, *_: object) -> None:
        if self._shown and self._stream is not None:
            self._stream.write("\n")

    def advance(self, rows: int, waiting: int, share: float, about: int | None = None) -> None:
        self._done += rows
        now = time.monotonic()
        if now - self._shown < _EVERY or self._stream is None:
            return
        self._shown = now
        rate = (self._done - self._first) / max(1e-9, now - self._begun)
        text = f"{self._done} rows, {rate:.4g} rows/s"
        total = self._total if about is None else max(about, self._done)
        if total is not None:
            left = (total - self._done) / max(1e-9, rate)
            mark = "" if about is None else "~"
            text = f"{self._done}/{mark}{total} rows, {rate:.4g} rows/s, {mark}{left:.0f} s left"
        text += f", queue {waiting}, device {share:.0%}"
        self._stream.write(f"\r{text:<78}")
        self._stream.flush()


def _is_terminal(stream: TextIO | None) -> bool:
    try:
        return stream is not None and stream.isatty()
    except ValueError:  # closed
        return False


def _has_widgets() -> bool:
    return find_spec("ipywidgets") is not None
