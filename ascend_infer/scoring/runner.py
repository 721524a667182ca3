"""The threads of a run: some prepare and run rows, the caller's own takes the results in order."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from types import TracebackType

from ascend_infer.scoring.chunks import Chunk, Chunks
from ascend_infer.scoring.rows import ScoredRow

__all__ = ["Runner"]


class Runner:
    """Runs chunks on threads; used with ``with``, whose end has every thread ended.

    Parameters
    ----------
    chunks : Chunks
    score : callable
        From a chunk to its rows, on any of the threads.
    workers : int

    Notes
    -----
    On an error and on Ctrl-C the threads end with the chunk that they are at.
    """

    def __init__(self, chunks: Chunks, score: Callable[[Chunk], list[ScoredRow]], workers: int) -> None:
        self._chunks = chunks
        self._score = score
        self._threads = [
            threading.Thread(target=self._work, name=f"ascend_infer-score-{number}", daemon=True)
            for number in range(workers)
        ]

    def __enter__(self) -> Iterator[list[ScoredRow]]:
        try:
            for thread in self._threads:
                thread.start()
        except RuntimeError:
            # The system gives no more threads: those there are do the work.
            if not self._threads[0].is_alive():
                raise
        except BaseException:
            self._end()
            raise
        return self._chunks.results()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        interrupt = self._end()
        if interrupt is not None and error is None:
            raise interrupt

    def _end(self) -> KeyboardInterrupt | None:
        self._chunks.stop()
        interrupt: KeyboardInterrupt | None = None
        for thread in self._threads:
            while thread.is_alive():
                try:
                    thread.join()
                except KeyboardInterrupt as again:
                    interrupt = again
        return interrupt

    def _work(self) -> None:
        while (chunk := self._chunks.take()) is not None:
            try:
                self._chunks.put(chunk.number, self._score(chunk))
            except BaseException as error:
                self._chunks.fail(chunk.number, error)
                return
