"""Ctrl-C while the main thread waits in ``infer``: each time in a process of its own, with real signals.

The models are let in and out by hand, so that each signal comes when it is to.
"""

from __future__ import annotations

import importlib.util
from pathlib import Path

import onnx_models as made
import pytest
from child import run_child

PRELUDE = """
import gc, os, random, sys, weakref
import numpy as np
from held_model import LIMIT, Caller, HeldModel, HeldSession, rows, until
from ascend_infer import Batching
from ascend_infer.testing.leaks import live_threads

def press():
    os.kill(os.getpid(), signal.SIGINT)

def pressed_when(comes):
    # Ctrl-C as soon as something has come, from another thread as it comes from a terminal.
    def work():
        comes()
        press()
    return Caller(work)

def left(call):
    # Whether Ctrl-C ended the call.
    try:
        call()
    except KeyboardInterrupt:
        return True
    return False

def serves(session, models):
    # Nothing waits and nothing runs any more, and every way in works.
    for model in models:
        model.release_all()
    until(lambda: session.queue.running == 0)
    assert (session.queue.count, session.queue.rows, session.counters.pending) == (0, 0, 0)
    assert session.infer(rows(5))["y"][0, 0] == 10
    assert list(session.infer(rows(5), outputs=["z", "y"], timeout=LIMIT)) == ["z", "y"]
    assert session.submit(rows(6)).result(LIMIT)["z"][0, 0] == 7
    other = Caller(lambda: session.infer(rows(7), timeout=LIMIT)["y"][0, 0])
    assert other.outcome() == 14
    until(lambda: session.queue.running == 0)
    assert all(not lane.instance.busy for lane in session.scheduler._lanes)
"""

WAYS = {
    "plain": "",
    "chosen outputs": 'outputs=["z"]',
    "all outputs the other way round": 'outputs=["z", "y"]',
    "timeout": "timeout=LIMIT",
    "chosen outputs and a timeout": 'outputs=["z"], timeout=LIMIT',
    "own arrays": 'outputs=["y"], out={"y": out}',
    "own arrays and a timeout": 'outputs=["y"], out={"y": out}, timeout=LIMIT',
}


@pytest.mark.parametrize("batching", ["None", "Batching()"])
@pytest.mark.parametrize("way", WAYS)
def test_a_run_is_left_and_nothing_of_it_stays(way: str, batching: str) -> None:
    out = run_child(
        PRELUDE
        + f"""
model = HeldModel(held=True)
with HeldSession(model, batching={batching}) as session:
    for round in range(3):
        session.scheduler._durations.clear()  # what it has not run yet may be long
        model.held = True
        out = np.full((1, 4), -1, np.float32)
        given = rows(round)
        array = weakref.ref(given["x"])
        runs = []
        presser = pressed_when(lambda: runs.append(model.next_run()))
        print(left(lambda: session.infer(given, {WAYS[way]})), end=" ")
        presser.outcome()
        serves(session, [model])
        assert (out == -1).all(), "written to after its caller had left"
        assert session.counters.snapshot().failures == (0, round + 1, 0, 0)
        del given, presser
        runs.clear()
        model.runs.clear()
        while not model.entered.empty():
            model.entered.get()
        gc.collect()
        assert array() is None, "the inputs are still held"
print(live_threads())
"""
    )
    assert out == "True True True 0\n"


@pytest.mark.parametrize("batching", ["None", "Batching()", "Batching(preserve_ordering=True)"])
@pytest.mark.parametrize("way", WAYS)
def test_a_place_in_the_queue_is_left(way: str, batching: str) -> None:
    out = run_child(
        PRELUDE
        + f"""
model = HeldModel(held=True)
with HeldSession(model, batching={batching}) as session:
    out = np.full((1, 4), -1, np.float32)
    first = session.submit(rows(1))
    run = model.next_run()
    behind = []
    def comes():
        until(lambda: session.queue.count == 1)
        behind.append(session.submit(rows(3)))
    presser = pressed_when(comes)
    print(left(lambda: session.infer(rows(2), {WAYS[way]})), end=" ")
    presser.outcome()
    assert session.queue.count == 1
    serves(session, [model])
    assert (first.result(0)["y"][0, 0], behind[0].result(0)["y"][0, 0]) == (2, 6)
    assert (out == -1).all()
    assert 2 not in [value for run in model.runs for value in run.values]
    assert session.counters.snapshot().failures == (0, 1, 0, 0)
print(live_threads())
"""
    )
    assert out == "True 0\n"


def test_a_batch_that_one_has_left_runs_for_the_others() -> None:
    out = run_child(
        PRELUDE
        + """
model = HeldModel(held=True)
with HeldSession(model, batching=Batching()) as session:
    session.submit(rows(0))
    run = model.next_run()
    others = []
    def comes():
        until(lambda: session.queue.count == 1)
        others.extend(session.submit(rows(value, 2), outputs=["z"]) for value in (2, 3))
        run.release()
        assert model.next_run().values == [1, 2, 2, 3, 3]
    presser = pressed_when(comes)
    print(left(lambda: session.infer(rows(1), outputs=["y"], timeout=LIMIT)), end=" ")
    presser.outcome()
    assert session.queue.running == 1
    serves(session, [model])
    assert [future.result(0)["z"][:, 0].tolist() for future in others] == [[3, 3], [4, 4]]
    assert session.counters.snapshot().failures == (0, 1, 0, 0)
print(live_threads())
"""
    )
    assert out == "True 0\n"


def test_a_later_result_that_was_held_back_for_order_comes_at_once() -> None:
    out = run_child(
        PRELUDE
        + """
model = HeldModel(slots=2, held=True)
with HeldSession(model, batching=Batching(preserve_ordering=True)) as session:
    later = []
    def comes():
        assert model.next_run().values == [1]
        later.append(session.submit(rows(3)))
        run = model.next_run()
        run.release()
        until(lambda: session.queue.running == 1)
        assert not later[0].done()
    presser = pressed_when(comes)
    print(left(lambda: session.infer(rows(1), outputs=["z"])), end=" ")
    presser.outcome()
    assert not model.runs[0].over.is_set()
    assert later[0].result(LIMIT)["y"][0, 0] == 6
    serves(session, [model])
print(live_threads())
"""
    )
    assert out == "True 0\n"


@pytest.mark.parametrize("state", ["runs", "waits"])
@pytest.mark.parametrize("stops", [False, True])
def test_two_in_quick_succession(state: str, stops: bool) -> None:
    # The second comes as soon as Python has seen the first, while the call is on its way out.
    out = run_child(
        PRELUDE
        + f"""
seen = []

def handler(number, frame):
    seen.append(number)
    raise KeyboardInterrupt

signal.signal(signal.SIGINT, handler)
model = HeldModel(stops={stops})
waits = {state == "waits"}
with HeldSession(model) as session:
    for round in range(200):
        seen.clear()
        model.held = True
        session.scheduler._durations.clear()
        if waits:
            session.submit(rows(9))
            model.next_run()

        def twice():
            if waits:
                until(lambda: session.queue.count == 1)
            else:
                model.next_run()
            press()
            until(lambda: len(seen) == 1)
            press()

        try:
            presser = Caller(twice)
            try:
                session.infer(rows(round), outputs=["z"], timeout=LIMIT)
            except KeyboardInterrupt:
                until(lambda: len(seen) == 2)
        except KeyboardInterrupt:
            pass
        presser.outcome()
        assert len(seen) == 2
        serves(session, [model])
        assert session.counters.snapshot().failures == (0, round + 1, 0, 0)
print(live_threads())
"""
    )
    assert out == "0\n"


@pytest.mark.parametrize("batching", ["None", "Batching()"])
@pytest.mark.parametrize("call", ["session.infer(rows(1))", 'session.infer(rows(1), ["z"], timeout=LIMIT)'])
def test_one_as_the_first_thread_starts(call: str, batching: str) -> None:
    # It is the first that the new thread does: its caller has not begun to wait yet, or just has.
    out = run_child(
        PRELUDE
        + f"""
for round in range(100):
    model = HeldModel()
    with HeldSession(model, batching={batching}) as session:
        [lane] = session.scheduler._lanes
        serve = lane.serve
        def serve_after():
            press()
            serve()
        lane.serve = serve_after
        def until_left():
            # The model may have been faster than the signal.
            {call}
            until(lambda: False)
        assert left(until_left)
        lane.serve = serve
        assert lane.started
        serves(session, [model])
        assert sum(session.counters.snapshot().failures) <= 1
    del lane, serve, serve_after, session
print(live_threads())
"""
    )
    assert out == "0\n"


@pytest.mark.parametrize("batching", ["None", "Batching()"])
def test_one_at_any_moment_of_a_sessions_first_request(batching: str) -> None:
    out = run_child(
        PRELUDE
        + f"""
signal.signal(signal.SIGALRM, signal.default_int_handler)
gc.disable()  # Python drops what is raised while something is collected
caught = 0
for _ in range(200):
    gc.collect()
    model = HeldModel()
    with HeldSession(model, batching={batching}) as session:
        try:
            signal.setitimer(signal.ITIMER_REAL, random.uniform(1e-6, 3e-4))
            while True:
                session.infer(rows(1), outputs=["z"], timeout=LIMIT)
        except KeyboardInterrupt:
            caught += 1
        serves(session, [model])
print(caught, live_threads())
"""
    )
    assert out == "200 0\n"


def test_a_thread_that_cannot_be_had_leaves_nothing_queued() -> None:
    out = run_child(
        PRELUDE
        + """
import ascend_infer._native as native

start = native.start_new_thread
def none_left(*arguments):
    raise RuntimeError("can't start new thread")
model = HeldModel()
with HeldSession(model) as session:
    native.start_new_thread = none_left
    for call in (session.infer, session.submit):
        for _ in range(2):
            try:
                call(rows(1))
            except RuntimeError as error:
                print(error)
            assert (session.queue.count, session.queue.rows) == (0, 0)
    native.start_new_thread = start
    serves(session, [model])
    assert not model.runs[0].cancelled
print(live_threads())
"""
    )
    assert out == "can't start new thread\n" * 4 + "0\n"


@pytest.mark.skipif(importlib.util.find_spec("onnxruntime") is None, reason="onnxruntime is not installed")
@pytest.mark.parametrize("way", ['outputs=["y"]', "timeout=60", 'outputs=["y"], timeout=60'])
def test_a_real_run_is_left_whatever_was_asked_for(tmp_path: Path, way: str) -> None:
    looping = made.write(made.looping(), tmp_path / "looping.onnx")
    out = run_child(
        PRELUDE
        + f"""
import ascend_infer as ai

def inputs(times):
    return {{"times": np.array(times), "x": np.ones((192, 192), np.float32)}}

with ai.Session(sys.argv[1]) as session:
    session.infer(inputs(1))
    scheduler = session._core.scheduler
    until(lambda: scheduler.queue.running == 0)
    for round in range(3):
        scheduler._durations.clear()  # what it has not run yet may be long
        presser = pressed_when(lambda: until(lambda: scheduler.queue.running == 1))
        print(left(lambda: session.infer(inputs(10**9), {way})), end=" ")
        presser.outcome()
        assert session.infer(inputs(1), timeout=60)["y"].shape == (192, 192)
    [stats] = session.statistics()["model_stats"]
    print(stats["inference_stats"]["fail"]["count"], scheduler.queue.count, end=" ")
print(live_threads())
""",
        looping,
    )
    assert out == "True True True 3 0 0\n"
