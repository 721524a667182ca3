"""Futures and event loops: what concurrent.futures and asyncio do with the results."""

from __future__ import annotations

import asyncio
import concurrent.futures
import gc
import logging
import threading
import weakref
from typing import Any

import pytest
from held_model import LIMIT, Caller, HeldModel, HeldSession, rows, until

from ascend_infer import Batching
from ascend_infer.errors import InvalidOptionError, ModelExecutionError


@pytest.fixture(params=["asyncio", "uvloop"])
def run_in_loop(request: pytest.FixtureRequest) -> Any:
    if request.param == "asyncio":
        return asyncio.run
    return pytest.importorskip("uvloop").run


def test_wait_and_as_completed() -> None:
    model = HeldModel(held=True)
    with HeldSession(model) as session:
        futures = [session.submit(rows(value)) for value in range(4)]
        done, left = concurrent.futures.wait(futures, timeout=0)
        assert (len(done), len(left)) == (0, 4)
        model.next_run().release()
        done, left = concurrent.futures.wait(futures, LIMIT, concurrent.futures.FIRST_COMPLETED)
        assert done == {futures[0]}
        assert futures[3].cancel()
        model.release_all()
        for future in concurrent.futures.as_completed(futures, LIMIT):
            assert future.done()
        done, left = concurrent.futures.wait(futures, LIMIT)
        assert not left
        assert [future.cancelled() for future in futures] == [False, False, False, True]
        with pytest.raises(concurrent.futures.CancelledError):
            futures[3].result()


def test_a_result_that_comes_while_wait_looks_is_counted_once(monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = HeldModel(held=True), HeldModel(held=True)
    with HeldSession(first, second) as session:
        futures = [session.submit(rows(value)) for value in range(2)]
        runs = [first.next_run(), second.next_run()]
        install = concurrent.futures._base._create_and_install_waiters
        done_before: list[bool] = []

        def between(given: Any, when: str) -> Any:
            # It has counted who is done, and holds what a plain future would have to wait for.
            runs[0].release()
            until(lambda: futures[int(runs[0].values[0])].done())
            done_before.extend(future.done() for future in futures)
            return install(given, when)

        monkeypatch.setattr(concurrent.futures._base, "_create_and_install_waiters", between)
        waiting = Caller(lambda: concurrent.futures.wait(futures, LIMIT))
        until(lambda: done_before)
        runs[1].release()
        done, left = waiting.outcome()
        assert (done, left) == (set(futures), set())
        assert sorted(done_before) == [False, True]


def test_a_condition_made_as_the_request_ends_knows_of_it() -> None:
    model = HeldModel()
    with HeldSession(model) as session:
        for value in range(300):
            futures = [session.submit(rows(value)) for _ in range(3)]
            assert concurrent.futures.wait(futures, LIMIT).not_done == set()


def test_polling_keeps_nothing() -> None:
    model = HeldModel(held=True)
    with HeldSession(model) as session:
        future = session.submit(rows(0))
        run = model.next_run()
        for _ in range(100):
            for ask in (future.result, future.exception):
                with pytest.raises(TimeoutError):
                    ask(timeout=0)
        assert future._cells == []
        run.release()
        assert future.result(LIMIT)


@pytest.mark.parametrize("held", [True, False], ids=["under way", "done"])
def test_a_wrong_timeout_is_refused_whether_it_is_done_or_not(held: bool) -> None:
    model = HeldModel(held=held)
    with HeldSession(model) as session:
        future = session.submit(rows(0))
        if not held:
            until(future.done)
        for ask in (future.result, future.exception):
            with pytest.raises(InvalidOptionError, match="timeout: got 'x'"):
                ask(timeout="x")  # type: ignore[arg-type]
        model.release_all()


def test_first_exception() -> None:
    model = HeldModel(held=True)
    with HeldSession(model) as session:
        futures = [session.submit(rows(value)) for value in range(3)]
        waiting = Caller(lambda: concurrent.futures.wait(futures, LIMIT, concurrent.futures.FIRST_EXCEPTION))
        model.next_run().release()
        model.next_run().release(ModelExecutionError("no", model="m"))
        done, _ = waiting.outcome()
        assert futures[1] in done
        assert isinstance(futures[1].exception(), ModelExecutionError)
        with pytest.raises(TimeoutError, match="the request goes on"):
            futures[2].result(0.001)
        model.release_all()


def test_callbacks_that_raise_are_logged_and_break_nothing(caplog: pytest.LogCaptureFixture) -> None:
    with HeldSession(HeldModel()) as session, caplog.at_level(logging.ERROR):
        seen: list[Any] = []

        def breaks(future: Any) -> None:
            seen.append(future)
            raise LookupError("of a callback")

        def exits(future: Any) -> None:
            raise SystemExit(3)

        model = session.models[0]
        model.held = True
        future = session.submit(rows(1))
        run = model.next_run()
        for callback in (breaks, breaks, seen.append, exits):
            future.add_done_callback(callback)
        model.held = False
        run.release()
        until(lambda: len(seen) == 3)
        assert seen == [future] * 3
        assert session.submit(rows(2)).result(LIMIT)["y"][0, 0] == 4
        until(lambda: caplog.text.count("a callback of") == 3)
        future.add_done_callback(seen.append)
        assert len(seen) == 4, "called at once"


def test_many_threads_get_the_same_result() -> None:
    model = HeldModel(held=True)
    with HeldSession(model) as session:
        future = session.submit(rows(1))
        run = model.next_run()
        callers = [Caller(lambda: future.result(LIMIT)) for _ in range(12)]
        run.release()
        assert len({id(caller.outcome()) for caller in callers}) == 1


def test_a_callback_may_send_the_next_request() -> None:
    with HeldSession(HeldModel()) as session:
        seen: list[float] = []

        def again(future: Any) -> None:
            seen.append(float(future.result()["y"][0, 0]))
            if len(seen) < 50:
                session.submit(rows(len(seen))).add_done_callback(again)

        session.submit(rows(0)).add_done_callback(again)
        until(lambda: len(seen) == 50)
        assert seen == [2 * value for value in range(50)]


def test_asyncio_takes_futures_and_calls(run_in_loop: Any) -> None:
    with HeldSession(HeldModel(), batching=Batching()) as session:

        async def main() -> list[float]:
            one = await asyncio.wrap_future(session.submit(rows(1)))
            two = await session.ainfer(rows(2))
            three = await asyncio.create_task(session.ainfer(rows(3)))
            rest = await asyncio.gather(*(session.ainfer(rows(value)) for value in range(4, 40)))
            last = await asyncio.wait_for(session.ainfer(rows(40)), LIMIT)
            return [float(result["y"][0, 0]) for result in (one, two, three, *rest, last)]

        assert run_in_loop(main()) == [2 * value for value in range(1, 41)]


def test_errors_come_through_the_loop(run_in_loop: Any) -> None:
    with HeldSession(HeldModel()) as session:

        def fails(run: Any) -> Any:
            raise ModelExecutionError("no", model="m")

        session.models[0].answer = fails

        async def main() -> None:
            outcome = await asyncio.gather(
                *(session.ainfer(rows(1)) for _ in range(3)), return_exceptions=True
            )
            assert all(isinstance(error, ModelExecutionError) for error in outcome)
            call = session.ainfer(rows(1))
            with pytest.raises(ModelExecutionError):
                await call
            with pytest.raises(RuntimeError, match="already awaited"):
                await call

        run_in_loop(main())


def test_without_a_loop_it_says_so() -> None:
    with HeldSession(HeldModel()) as session:
        with pytest.raises(RuntimeError, match="no running event loop"):
            session.ainfer(rows(1))
        assert not session.models[0].runs


def test_several_loops_in_several_threads(run_in_loop: Any) -> None:
    with HeldSession(HeldModel(), HeldModel(), batching=Batching()) as session:

        async def main(base: int) -> list[float]:
            results = await asyncio.gather(*(session.ainfer(rows(base + value)) for value in range(200)))
            return [float(result["y"][0, 0]) for result in results]

        callers = [Caller(lambda base=base: run_in_loop(main(base))) for base in range(0, 4000, 1000)]
        for base, caller in zip(range(0, 4000, 1000), callers, strict=True):
            assert caller.outcome() == [2 * (base + value) for value in range(200)]


def test_a_loop_that_is_closed_before_the_result_hurts_nobody() -> None:
    model = HeldModel(held=True)
    with HeldSession(model) as session:
        calls = []

        async def main() -> None:
            calls.extend(session.ainfer(rows(value)) for value in range(3))

        asyncio.run(main())
        model.release_all()
        assert session.submit(rows(7)).result(LIMIT)["y"][0, 0] == 14
        until(lambda: session.queue.running == 0)
        assert len(model.runs) == 4


def test_loops_that_are_over_are_let_go() -> None:
    with HeldSession(HeldModel()) as session:
        loops = []

        async def main() -> None:
            loops.append(weakref.ref(asyncio.get_running_loop()))
            await session.ainfer(rows(1))

        for _ in range(4):
            asyncio.run(main())
        gc.collect()
        assert [loop() is None for loop in loops[:3]] == [True] * 3


def test_a_call_that_is_never_awaited_runs_and_one_that_is_closed_does_not() -> None:
    model = HeldModel(held=True)
    with HeldSession(model) as session:

        async def main() -> None:
            session.ainfer(rows(0))
            await asyncio.to_thread(model.next_run)
            session.ainfer(rows(1))
            session.ainfer(rows(2)).close()
            assert session.queue.count == 1

        asyncio.run(main())
        model.release_all()
        until(lambda: session.queue.running == 0)
        assert [run.values for run in model.runs] == [[0], [1]]


def test_a_slow_callback_holds_up_no_other_request_of_its_batch() -> None:
    model = HeldModel(held=True)
    with HeldSession(model, batching=Batching()) as session:
        session.submit(rows(-1))
        run = model.next_run()
        entered, go_on = threading.Event(), threading.Event()

        def slow(future: Any) -> None:
            entered.set()
            assert go_on.wait(2 * LIMIT)

        first, second = session.submit(rows(0)), session.submit(rows(1))
        first.add_done_callback(slow)
        waiting = Caller(lambda: second.result(LIMIT))
        try:
            run.release()
            model.release_all()
            assert entered.wait(LIMIT)
            assert waiting.outcome()["y"][0, 0] == 2
        finally:
            go_on.set()
        assert first.result(LIMIT).timing.batch_rows == 2
