"""How many rows a batch has and how many threads work."""

from __future__ import annotations

import random
from collections.abc import Mapping

import pytest

import ascend_infer as ai
from ascend_infer.cpu_budget import cpu_budget
from ascend_infer.errors import InvalidOptionError
from ascend_infer.scoring import arrangement
from ascend_infer.scoring.arrangement import choose_batch, choose_workers, chunk_rows
from ascend_infer.scoring.busy_time import BusyTime
from ascend_infer.scoring.lanes import Lanes
from ascend_infer.scoring.model import RowShape, row_shape


@pytest.mark.parametrize(
    ("rates", "chosen"),
    [
        ({1: 100.0, 2: 105.0, 4: 109.0}, 1),  # not worth it
        ({1: 100.0, 2: 105.0, 4: 120.0, 8: 125.0}, 4),
        ({1: 100.0, 2: 60.0}, 1),
        ({}, 1),
    ],
)
def test_a_larger_batch_has_to_be_worth_it(
    session: ai.Session, monkeypatch: pytest.MonkeyPatch, rates: Mapping[int, float], chosen: int
) -> None:
    monkeypatch.setattr(arrangement, "_rates", lambda *_: rates)
    batch, why = choose_batch([session], row_shape(session), "auto", None)
    assert batch == chosen
    assert why.startswith("measured" if rates else "a trial on zeros failed")


def test_what_is_not_measured(session: ai.Session) -> None:
    assert choose_batch([session], RowShape(True, 1), "auto", None) == (
        1,
        "the model takes one row at a time",
    )
    assert choose_batch([session], RowShape(True, None), "auto", None)[0] == 1
    assert choose_batch([session], RowShape(True, 8), "auto", 5) == (1, "5 rows are too few to measure")
    assert choose_batch([session], RowShape(True, 8), 5, None) == (5, "as asked")


def test_a_measurement_runs_the_model(session: ai.Session) -> None:
    batch, why = choose_batch([session], row_shape(session), "auto", 10_000)
    assert batch in (1, 2, 4, 8)
    assert why.startswith("measured, rows/s by batch 1: ")


def test_workers(session: ai.Session) -> None:
    assert choose_workers([session], "auto") == max(2, cpu_budget())
    assert choose_workers([session, session], 7) == 7
    for wrong in (0, True, "all", 10**6):
        with pytest.raises(InvalidOptionError, match="workers: got"):
            choose_workers([session], wrong)


@pytest.mark.parametrize(
    ("batch", "total", "rows"),
    [(1, 10_000, 4), (2, 10_000, 4), (3, 10_000, 3), (8, 10_000, 8), (1, 70, 2), (1, 8, 1), (1, None, 1)],
)
def test_rows_that_a_thread_takes_at_a_time(
    session: ai.Session, batch: int, total: int | None, rows: int
) -> None:
    assert chunk_rows([session], batch, 2, total) == rows


def test_lanes_are_dealt_in_turn_and_know_how_busy_they_were(session: ai.Session) -> None:
    other = ai.Session(session.path, device="cpu", instances=1)
    lanes = Lanes([session, other])
    assert lanes.total == 3
    with lanes.lane() as first, lanes.lane() as second, lanes.lane() as third:
        assert [lane.session for lane in (first, second, third)] == [session, other, session]
        assert lanes.waiting == 0
    before = lanes.busy_ns()
    assert all(before)
    assert lanes.busy_ns() == before  # nothing runs, so nothing adds up
    other.close()


@pytest.mark.parametrize("seed", range(20))
def test_busy_is_each_moment_once_however_batches_overlap(seed: int) -> None:
    draw = random.Random(seed)
    ends = sorted(draw.sample(range(100, 400), 40))
    spans = [(end - draw.choice((1, 5, 90)), end) for end in ends]
    busy = BusyTime()
    for number, (begun, ended) in enumerate(spans):
        # What comes later and has begun by now is what runs now.
        oldest = min((first for first, _ in spans[number + 1 :] if first <= ended), default=ended)
        busy.add(begun, ended, oldest)
    assert busy.ns == len({moment for begun, ended in spans for moment in range(begun, ended)})
