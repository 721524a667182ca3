"""The source cut into batches: in order whatever the threads do, with a bound on what is under way."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

from ascend_infer.scoring.chunks import Chunk, Chunks
from ascend_infer.scoring.rows import Row, ScoredRow
from ascend_infer.scoring.runner import Runner


def numbers(count: int) -> Iterator[Row]:
    return (Row(n, n, n) for n in range(count))


def scored(chunk: Chunk) -> list[ScoredRow]:
    return [ScoredRow(row.index, row.id, {"n": row.item}) for row in chunk.rows]


@pytest.mark.parametrize("count", [0, 1, 6, 7, 1000])
@pytest.mark.parametrize("workers", [1, 4])
def test_results_come_in_the_sources_order(count: int, workers: int) -> None:
    with Runner(Chunks(numbers(count), 3, 5), scored, workers) as results:
        found = [row.index for rows in results for row in rows]
    assert found == list(range(count))


def test_reading_stops_while_too_much_is_under_way() -> None:
    read: list[int] = []

    def rows() -> Iterator[Row]:
        for n in range(100):
            read.append(n)
            yield Row(n, n, n)

    chunks = Chunks(rows(), 2, 3)
    taken = [chunks.take() for _ in range(3)]
    fourth: list[Chunk | None] = []
    waiter = threading.Thread(target=lambda: fourth.append(chunks.take()))
    waiter.start()
    for chunk in (taken[2], taken[1]):
        assert chunk is not None
        chunks.put(chunk.number, scored(chunk))  # not the first one: nothing can be taken away yet
    assert len(read) == 6
    assert not fourth
    assert taken[0] is not None
    chunks.put(0, scored(taken[0]))
    results = chunks.results()
    assert [row.index for row in next(results)] == [0, 1]
    waiter.join()
    assert len(read) == 8
    chunks.stop()


def test_the_first_failure_ends_everything() -> None:
    def fail(chunk: Chunk) -> list[ScoredRow]:
        if chunk.number == 2:
            raise ValueError("third")
        return scored(chunk)

    found: list[int] = []

    def run() -> None:
        with Runner(Chunks(numbers(100), 2, 4), fail, 1) as results:
            for rows in results:
                found.extend(row.index for row in rows)

    with pytest.raises(ValueError, match="third"):
        run()
    assert found == [0, 1, 2, 3]


def test_leaving_early_ends_the_threads() -> None:
    runner = Runner(Chunks(numbers(10**9), 2, 4), scored, 3)
    with runner as results:
        next(results)
    assert not any(thread.name.startswith("ascend_infer-score") for thread in threading.enumerate())


def test_a_chunk_is_cut_into_the_same_batches_wherever_a_run_began() -> None:
    chunk = Chunk(0, [Row(n, n, n) for n in range(7)])
    assert [(first, [row.item for row in rows]) for first, rows in chunk.batches(3)] == [
        (0, [0, 1, 2]), (3, [3, 4, 5]), (6, [6])
    ]  # fmt: skip


def test_results_that_are_few_do_not_wait_for_more() -> None:
    """The writer lets results gather, and still gets those that nothing follows."""
    chunks = Chunks(numbers(10), 1, 100)
    results = chunks.results()
    for number in range(3):
        chunk = chunks.take()
        assert chunk is not None
        chunks.put(number, scored(chunk))
    assert [next(results)[0].index for _ in range(3)] == [0, 1, 2]
    chunks.stop()
    assert not list(results)
