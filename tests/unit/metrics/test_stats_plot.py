"""A session's numbers as a picture, and the periods that it shows."""

from __future__ import annotations

import sys

import pytest
from metric_pages import MS

from ascend_infer._native import ModelCounters
from ascend_infer.errors import MissingDependencyError
from ascend_infer.figure import load_figure
from ascend_infer.metrics.plot import stats_figure
from ascend_infer.metrics.session_stats import StatsTaker


class Machine:
    """Counters, a clock, and who asks them."""

    def __init__(self) -> None:
        self.now = 0.0
        self.counters = ModelCounters()
        self.taker = StatsTaker("net", 2, "npu:0", self.counters.snapshot, lambda: self.now)

    def run(self, rows: int, queue_ms: int, infer_ms: int, seconds: float, padding: int = 0) -> None:
        self.counters.record_batch(rows, padding, 0, infer_ms * MS, 0)
        for _ in range(rows):
            self.counters.record_request(1, (queue_ms + infer_ms) * MS, queue_ms * MS, 0, infer_ms * MS, 0)
        self.now += seconds


@pytest.fixture
def machine() -> Machine:
    return Machine()


def test_the_history_is_every_period_and_what_came_since(machine: Machine) -> None:
    (period,) = machine.taker.history()
    assert (period.requests, period.seconds) == (0, 0)
    machine.run(4, 1, 2, seconds=2)
    machine.taker.take()
    assert [one.requests for one in machine.taker.history()] == [4]
    machine.run(8, 3, 2, seconds=1)
    assert [(one.requests, one.seconds) for one in machine.taker.history()] == [(4, 2), (8, 1)]
    assert machine.taker.history() == machine.taker.history()
    assert machine.taker.take().since_last.requests == 8  # looking at the history was no call
    first, second = machine.taker.history()
    assert first.steps_ms == (1, 0, 2, 0)
    assert second.steps_ms == (3, 0, 2, 0)


def test_the_history_stays_short_and_whole(machine: Machine) -> None:
    for _ in range(1000):
        machine.run(3, 1, 2, seconds=0.5)
        machine.taker.take()
    history = machine.taker.history()
    assert len(history) <= 32
    assert sum(one.requests for one in history) == 3000
    assert sum(one.seconds for one in history) == pytest.approx(500)
    assert history[-1].requests == 3


def test_the_picture_shows_the_numbers(machine: Machine) -> None:
    pytest.importorskip("matplotlib", reason="matplotlib is not installed")
    machine.run(4, 1, 2, seconds=2, padding=4)
    machine.taker.take()
    machine.run(8, 30, 2, seconds=1)
    machine.taker.take()
    figure = stats_figure(machine.taker.title, machine.taker.history())
    assert figure.get_suptitle() == "net version 2 on npu:0: 12 requests in 3 s since the load"
    rates, steps, shares, batches = figure.axes
    lines = {line.get_label(): list(line.get_ydata()) for line in rates.lines}
    assert lines == {"rows/s": [2, 8], "requests/s": [2, 8], "batches/s": [0.5, 1]}
    bars = {bar.get_label(): [piece.get_height() for piece in bar] for bar in steps.containers}
    assert bars == {"queue": [1, 30], "inputs": [0, 0], "model": [2, 2], "outputs": [0, 0]}
    assert [piece.get_y() for piece in steps.containers[2]] == [1, 30]  # each step on top of those before it
    queue, model = shares.lines
    assert list(queue.get_ydata()) == pytest.approx([100 / 3, 100])
    assert list(queue.get_xdata()) == pytest.approx([1, 30], rel=1 / 32)
    assert list(model.get_xdata()) == pytest.approx([2], rel=1 / 32)
    assert [(bar.get_x() + bar.get_width() / 2, bar.get_height()) for bar in batches.patches] == [
        (0, 1),
        (1, 1),
    ]
    assert [label.get_text() for label in batches.get_xticklabels()] == ["4", "8"]
    assert batches.get_title() == "batches, mean 6 rows, 25% padding"
    assert figure._repr_png_().startswith(b"\x89PNG")


def test_nothing_to_show_yet_and_much_of_it(machine: Machine) -> None:
    pytest.importorskip("matplotlib", reason="matplotlib is not installed")
    assert stats_figure("net", machine.taker.history())._repr_png_()
    for rows in range(1, 31):
        machine.run(rows, 0, 1, seconds=0.1)
        machine.taker.take()
    assert stats_figure("net", machine.taker.history())._repr_png_()


def test_no_state_of_pyplot_is_touched(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("matplotlib", reason="matplotlib is not installed")
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)  # importing it would fail
    assert stats_figure("net", machine.taker.history()).axes


def test_without_matplotlib_the_error_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    load_figure.cache_clear()
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(MissingDependencyError, match=r"pip install 'ascend-infer\[plot\]'"):
        load_figure()
