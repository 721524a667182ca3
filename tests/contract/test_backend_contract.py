"""What every backend does, whatever it runs on; see ascend_infer.backends.base."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import onnx_models as made
import pytest
from onnx import TensorProto

from ascend_infer.backends.base import Cancellation, LoadedModel, ManyExecutable
from ascend_infer.errors import InvalidInputError, ModelExecutionError, RequestCancelledError
from ascend_infer.types import DataType

Load = Callable[..., LoadedModel]

ONE = np.ones((2, 4), np.float32)


def test_the_signature_is_the_files(load: Load) -> None:
    spec = load(made.add_sub()).spec
    assert [str(tensor) for tensor in spec.inputs] == ["A: FP32[-1, 4]", "B: FP32[-1, 4]"]
    assert [str(tensor) for tensor in spec.outputs] == ["S: FP32[-1, 4]", "D: FP32[-1, 4]"]


def test_outputs_come_in_the_order_asked_for(load: Load) -> None:
    [run] = load(made.add_sub()).executables()
    difference, total = run.execute({"A": ONE * 3, "B": ONE}, ["D", "S"])
    assert (difference[0, 0], total[0, 0]) == (2, 4)
    [alone] = run.execute({"A": ONE * 3, "B": ONE}, ["S"])
    assert alone[0, 0] == 4


def test_outputs_belong_to_the_caller(load: Load) -> None:
    [run] = load(made.add_sub()).executables()
    [first] = run.execute({"A": ONE, "B": ONE}, ["S"])
    first[:] = 7
    [second] = run.execute({"A": ONE * 2, "B": ONE}, ["S"])
    assert (first[0, 0], second[0, 0]) == (7, 3)


def test_inputs_are_neither_kept_nor_changed(load: Load) -> None:
    [run] = load(made.add_sub()).executables()
    given = ONE.copy()
    given.flags.writeable = False
    [total] = run.execute({"A": given, "B": given}, ["S"])
    given.flags.writeable = True
    given[:] = 9
    assert total[0, 0] == 2


@pytest.mark.parametrize("rows", [1, 3, 8])
def test_any_batch_gives_what_its_rows_give_alone(load: Load, rows: int) -> None:
    [run] = load(made.scale(3.0)).executables()
    given = np.arange(rows * 4, dtype=np.float32).reshape(rows, 4)
    [together] = run.execute({"x": given}, ["y"])
    alone = [run.execute({"x": given[i : i + 1]}, ["y"])[0] for i in range(rows)]
    assert np.array_equal(together, np.concatenate(alone))


@pytest.mark.parametrize("dtype", [DataType.FP32, DataType.FP16, DataType.INT32, DataType.UINT8], ids=str)
def test_the_types_that_every_backend_runs(load: Load, dtype: DataType) -> None:
    assert dtype.onnx is not None
    [run] = load(made.identity(dtype.onnx)).executables()
    given = np.array([[0, 1, 2, 3]], dtype.numpy)
    [got] = run.execute({"x": given}, ["y"])
    assert got.dtype == dtype.numpy
    assert np.array_equal(got, given)


def test_outputs_are_written_where_asked(load: Load) -> None:
    [run] = load(made.add_sub()).executables()
    out = np.zeros((2, 4), np.float32)
    total, difference = run.execute({"A": ONE, "B": ONE}, ["S", "D"], {"S": out})
    assert total is out
    assert out.tolist() == [[2] * 4] * 2
    assert difference.tolist() == [[0] * 4] * 2


def test_an_array_of_another_shape_is_refused(load: Load) -> None:
    [run] = load(made.identity(dims=("n", "m"))).executables()
    with pytest.raises(InvalidInputError, match=r"shape \[2, 4\]"):
        run.execute({"x": ONE}, ["y"], {"y": np.zeros((2, 5), np.float32)})


def test_a_failing_run_is_named_and_the_next_one_works(load: Load) -> None:
    [run] = load(made.failing_reshape()).executables()
    for _ in range(3):
        with pytest.raises(ModelExecutionError, match="'net' failed"):
            run.execute({"x": np.ones(3, np.float32)}, ["y"])
        assert run.execute({"x": np.ones(4, np.float32)}, ["y"])[0].shape == (2, 2)


def long_run(times: int) -> dict[str, Any]:
    return {"times": np.array(times, np.int64), "x": np.ones((192, 192), np.float32)}


@pytest.mark.parametrize("early", [True, False], ids=["before", "during"])
def test_a_run_can_be_stopped_and_the_next_one_works(load: Load, candidate: Any, early: bool) -> None:
    if not early and not candidate.can_stop:
        pytest.skip("this runtime has no function that ends a batch that runs")
    [run] = load(made.looping()).executables()
    armed = threading.Event()

    class Told(Cancellation):
        def arm(self, hook: Callable[[], None]) -> None:
            super().arm(hook)
            armed.set()

    wish = Told()
    outcome: list[BaseException] = []

    def work() -> None:
        try:
            run.execute(long_run(10**9), ["y"], None, wish)
        except BaseException as error:
            outcome.append(error)

    if early:
        wish.request()
    thread = threading.Thread(target=work)
    thread.start()
    assert armed.wait(30)
    wish.request()
    thread.join(30)
    assert not thread.is_alive()
    assert isinstance(outcome[0], RequestCancelledError)
    assert run.execute(long_run(1), ["y"], None, Cancellation())[0].shape == (192, 192)


def test_instances_run_at_the_same_time_on_one_copy_of_the_weights(load: Load) -> None:
    model = load(made.add_sub(), instances=3)
    runs = model.executables()
    assert len(runs) == 3
    assert model.executables() is runs or list(model.executables()) == list(runs)
    wrong: list[int] = []

    def work(index: int) -> None:
        for step in range(100):
            value = np.full((1 + step % 4, 4), index * 1000 + step, np.float32)
            [total] = runs[index].execute({"A": value, "B": value}, ["S"])
            if not np.array_equal(total, value * 2):
                wrong.append(index)

    threads = [threading.Thread(target=work, args=(index,)) for index in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def many(model: LoadedModel) -> ManyExecutable:
    [run] = model.executables()
    if not isinstance(run, ManyExecutable):
        pytest.skip("this backend has no execute_many")
    return run


def test_many_requests_in_one_call_give_what_each_gives_alone(load: Load) -> None:
    run = many(load(made.add_sub()))
    requests = [{"A": ONE * size, "B": np.ones((2, 4), np.float32)} for size in range(5)]
    requests += [
        {"A": np.ones((rows, 4), np.float32), "B": np.ones((rows, 4), np.float32)} for rows in (1, 3)
    ]
    answers = run.execute_many(requests, ["D", "S"])
    for request, answer in zip(requests, answers, strict=True):
        assert isinstance(answer, list)
        for got, alone in zip(answer, run.execute(request, ["D", "S"]), strict=True):
            assert np.array_equal(got, alone)
    assert run.execute_many([], ["S"]) == []


def test_one_bad_request_of_many_fails_alone(load: Load) -> None:
    run = many(load(made.failing_reshape()))
    requests = [{"x": np.ones(size, np.float32)} for size in (4, 3, 2)]
    good, bad, last = run.execute_many(requests, ["y"])
    assert isinstance(bad, ModelExecutionError)
    assert "'net' failed" in str(bad)
    assert isinstance(good, list)
    assert isinstance(last, list)
    assert (good[0].shape, last[0].shape) == ((2, 2), (1, 2))


def test_many_requests_can_be_stopped(load: Load) -> None:
    run = many(load(made.looping()))
    wish = Cancellation()
    wish.request()
    answers = run.execute_many([long_run(10**9), long_run(10**9)], ["y"], wish)
    assert [type(answer) for answer in answers] == [RequestCancelledError] * 2
    [answer] = run.execute_many([long_run(1)], ["y"], Cancellation())
    assert isinstance(answer, list)


def test_it_says_where_and_how_it_runs(load: Load) -> None:
    model = load(made.add_sub())
    assert model.device in ("cpu", "npu:0", "sim:0")
    assert model.details["runtime"]


def test_it_closes_within_a_time_that_nothing_runs_in(load: Load) -> None:
    model = load(made.identity(TensorProto.FLOAT))
    assert model.close_within(0.0)
    assert model.close_within(0.0)


def test_close_is_idempotent(load: Load) -> None:
    model = load(made.identity(TensorProto.FLOAT))
    [run] = model.executables()
    model.close()
    model.close()
    assert run is not None
