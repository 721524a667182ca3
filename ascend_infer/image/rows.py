"""The threads that fill a batch: one row each at a time, joined before the call returns."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from threading import Event, Thread

from ascend_infer.errors import ImageError

__all__ = ["fill_rows"]


def fill_rows(
    fill: Callable[[int], None], count: int, threads: int, *, stop_at_error: bool
) -> dict[int, ImageError]:
    """Call ``fill(row)`` for each row, on this thread and up to ``threads - 1`` more.

    Rows are begun in order. With ``stop_at_error`` none is begun after a failure, so the lowest row among
    the failures is the same in every run: the first bad picture.

    Returns
    -------
    dict of int to ImageError
        Row to what was wrong with it. Anything else that was raised, KeyboardInterrupt included, is raised
        here, after all threads have ended.
    """
    todo = deque(range(count))
    failed: dict[int, ImageError] = {}
    crashed: list[BaseException] = []
    stop = Event()

    def work() -> None:
        while not stop.is_set():
            try:
                row = todo.popleft()
            except IndexError:
                return
            try:
                fill(row)
            except ImageError as error:
                failed[row] = error
                if stop_at_error:
                    stop.set()
            except BaseException as error:
                crashed.append(error)
                stop.set()

    helpers: list[Thread] = []
    try:
        for number in range(min(threads, count) - 1):
            helper = Thread(target=work, name=f"ascend_infer-image-{number}", daemon=True)
            try:
                helper.start()
            except RuntimeError:
                break  # the system gives no more threads: those there are do the work
            helpers.append(helper)
        work()
    finally:
        interrupt = _joined(helpers, stop, todo)
    if crashed:
        raise crashed[0]
    if interrupt is not None:
        raise interrupt
    return failed


def _joined(helpers: list[Thread], stop: Event, todo: deque[int]) -> KeyboardInterrupt | None:
    # Nothing is left to begin here unless work() was left by an exception.
    if todo:
        stop.set()
    interrupt: KeyboardInterrupt | None = None
    for helper in helpers:
        while helper.is_alive():
            try:
                helper.join()
            except KeyboardInterrupt as error:
                interrupt = error
                stop.set()
    return interrupt
