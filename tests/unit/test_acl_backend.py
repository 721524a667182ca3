"""The acl backend over the simulator: gears, splits, names, sharing, memory foreseen, faults healed."""

from __future__ import annotations

import gc
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import acl_models as acl
import numpy as np
import onnx_models as made
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from onnx import TensorProto

from ascend_infer import backends, om
from ascend_infer.backends.base import BackendOptions, Cancellation, DeviceTarget, LoadRequest
from ascend_infer.errors import (
    AclInternalError,
    ClosedError,
    DeviceLostError,
    DeviceOutOfMemoryError,
    InvalidInputError,
    InvalidOptionError,
    LibraryError,
    ModelExecutionError,
    ModelFileError,
    ModelLoadError,
    NoGearError,
    RequestCancelledError,
)
from ascend_infer.simulator import Simulator, SimulatorOptions
from ascend_infer.types import Gear


@pytest.fixture
def simulator() -> Iterator[Simulator]:
    with Simulator(SimulatorOptions(call_log=True)) as running:
        yield running
        acl.nothing_left(running)


@pytest.fixture
def geared(simulator: Simulator, tmp_path: Path) -> Iterator[Any]:
    model = acl.load(acl.compiled(tmp_path, made.add_sub(), gears=acl.batch_gears(1, 2, 4)), simulator)
    yield model
    model.close()


def rows(count: int, start: float = 0.0) -> np.ndarray[Any, Any]:
    return np.arange(count * 4, dtype=np.float32).reshape(count, 4) + np.float32(start)


def test_any_number_of_rows_runs_in_gears(geared: Any, simulator: Simulator) -> None:
    [run] = geared.executables()
    for count in (1, 2, 3, 4, 5, 8, 11):
        a, b = rows(count), rows(count, 100)
        total, difference = run.execute({"A": a, "B": b}, ["S", "D"])
        assert np.array_equal(total, a + b)
        assert np.array_equal(difference, a - b)
        assert total.flags.writeable


def test_a_padded_batch_shows_nothing_of_the_one_before(geared: Any) -> None:
    [run] = geared.executables()
    secret = np.full((4, 4), 1e30, np.float32)
    run.execute({"A": secret, "B": secret}, ["S"])
    [total] = run.execute({"A": rows(3), "B": rows(3)}, ["S"])
    assert total.shape == (3, 4)
    assert np.array_equal(total, rows(3) * 2)
    base = total.base if total.base is not None else total
    assert np.asarray(base).nbytes == 3 * 4 * 4


def test_costs_are_learnt(geared: Any) -> None:
    [run] = geared.executables()
    for count in (1, 2, 4):
        run.execute({"A": rows(count), "B": rows(count)}, ["S"])
    # What the first of a size has to set up is not what it costs.
    assert not any(geared.chooser.costs.measured)
    for count in (1, 2, 4):
        run.execute({"A": [rows(count)], "B": [rows(count)]}, ["S"])
    assert all(geared.chooser.costs.measured)


def test_outputs_by_either_name(geared: Any) -> None:
    [run] = geared.executables()
    full = "PartitionedCall_Add:0:S"
    [short] = run.execute({"A": rows(2), "B": rows(2)}, ["S"])
    [long] = run.execute({"A": rows(2), "B": rows(2)}, [full])
    assert np.array_equal(short, long)
    with pytest.raises(InvalidInputError, match="'S', 'D'"):
        run.execute({"A": rows(2), "B": rows(2)}, ["T"])
    with pytest.raises(InvalidInputError, match="'B' is missing"):
        run.execute({"A": rows(2)}, ["S"])


@pytest.mark.parametrize("count", [2, 3, 9])
def test_outputs_go_into_the_callers_arrays(geared: Any, count: int) -> None:
    [run] = geared.executables()
    out = np.zeros((count, 4), np.float32)
    total, difference = run.execute({"A": rows(count), "B": rows(count)}, ["S", "D"], {"S": out})
    assert total is out
    assert np.array_equal(out, rows(count) * 2)
    assert not difference.any()
    with pytest.raises(InvalidInputError, match=rf"shape \[{count}, 4\]"):
        run.execute({"A": rows(count), "B": rows(count)}, ["S"], {"S": np.zeros((count, 5), np.float32)})


def test_shapes_that_no_gear_takes(geared: Any) -> None:
    [run] = geared.executables()
    wide = np.ones((2, 5), np.float32)
    with pytest.raises(NoGearError):
        run.execute({"A": wide, "B": wide}, ["S"])
    assert run.execute({"A": rows(1), "B": rows(1)}, ["S"])[0].shape == (1, 4)


def test_other_axes_are_padded_only_where_the_configuration_says_so(
    simulator: Simulator, tmp_path: Path
) -> None:
    gears = [Gear("dims", (1, 4)), Gear("dims", (2, 8))]
    path = acl.compiled(tmp_path, made.scale(2.0, ("n", "m")), gears=gears)
    given = np.arange(6, dtype=np.float32).reshape(1, 6)
    strict = acl.load(path, simulator)
    with pytest.raises(NoGearError):
        strict.executables()[0].execute({"x": given}, ["y"])
    strict.close()
    free = acl.load(path, simulator, batched=True, parameters={"gear_pad.x": "7.5", "gear_crop.y": "1"})
    [got] = free.executables()[0].execute({"x": given}, ["y"])
    assert np.array_equal(got, given * 2)
    free.close()


def test_a_static_batch_takes_fewer_rows(simulator: Simulator, tmp_path: Path) -> None:
    path = acl.compiled(tmp_path, made.add_sub(), input_shapes={"A": (4, 4), "B": (4, 4)})
    model = acl.load(path, simulator, batched=True)
    for count in (1, 3, 4, 6):
        [total] = model.executables()[0].execute({"A": rows(count), "B": rows(count)}, ["S"])
        assert np.array_equal(total, rows(count) * 2)
    model.close()


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(counts=st.lists(st.integers(1, 9), min_size=1, max_size=5), big=st.booleans())
def test_results_never_mix(geared: Any, counts: list[int], big: bool) -> None:
    [run] = geared.executables()
    kept = []
    for number, count in enumerate(counts):
        a = rows(count, number * 1000)
        kept.append((a, run.execute({"A": a, "B": a}, ["S"])[0]))
    assert all(np.array_equal(total, a * 2) for a, total in kept)


def test_large_rows_come_in_pinned_memory_and_outlive_the_model(simulator: Simulator, tmp_path: Path) -> None:
    path = acl.compiled(tmp_path, made.scale(2.0, ("n", 2048)), gears=acl.batch_gears(1, 2))
    model = acl.load(path, simulator)
    given = np.ones((2, 2048), np.float32)
    [got] = model.executables()[0].execute({"x": given}, ["y"])
    model.close()
    # The device stays as long as someone shows its pinned memory, and the next model finds it open.
    assert simulator.stats().pinned_blocks == 1
    assert np.all(got == 2)
    again = acl.load(path, simulator)
    [other] = again.executables()[0].execute({"x": given * 5}, ["y"])
    assert (got[0, 0], other[0, 0]) == (2, 10)
    del got, other
    again.close()


@pytest.mark.parametrize(
    "code", [TensorProto.BOOL, TensorProto.BFLOAT16, TensorProto.INT64, TensorProto.DOUBLE]
)
def test_other_types(simulator: Simulator, tmp_path: Path, code: int) -> None:
    model = acl.load(acl.compiled(tmp_path, made.identity(code), gears=acl.batch_gears(2)), simulator)
    dtype = model.spec.inputs[0].dtype.numpy
    given = np.array([[0, 1, 1, 0]]).astype(dtype)
    [got] = model.executables()[0].execute({"x": given}, ["y"])
    assert got.dtype == dtype
    assert np.array_equal(got, given)
    model.close()


def test_pictures_that_aipp_takes(simulator: Simulator, tmp_path: Path) -> None:
    """Static AIPP: uint8 pictures in place of floats, YUV ones with their 1.5 bytes a pixel, in gears too."""
    aipp = {"x": om.OmAipp(input_format=3, var_reci=(2.0, 2.0, 2.0, 2.0))}
    path = acl.compiled(tmp_path, made.identity(dims=(1, 3, 4, 6)), aipp=aipp)
    model = acl.load(path, simulator)
    [tensor] = model.spec.inputs
    assert (str(tensor.dtype), tensor.shape) == ("UINT8", (1, 4, 6, 3))
    picture = np.arange(72, dtype=np.uint8).reshape(1, 4, 6, 3)
    [got] = model.executables()[0].execute({"x": picture}, ["y"])
    assert np.array_equal(got, picture.transpose(0, 3, 1, 2).astype(np.float32) * 2)
    model.close()
    gears = [Gear("hw", (4, 6)), Gear("hw", (2, 4))]
    yuv = {"x": om.OmAipp(input_format=1)}
    path = acl.compiled(tmp_path, made.identity(dims=(1, 3, "h", "w")), "yuv", aipp=yuv, gears=gears)
    model = acl.load(path, simulator)
    for height, width in [(4, 6), (2, 4), (4, 6)]:
        picture = np.full((1, height * 3 // 2, width, 1), 7, np.uint8)
        [got] = model.executables()[0].execute({"x": picture}, ["y"])
        assert got.shape == (1, 3, height, width)
        assert np.all(got == 7)
    model.close()


def test_two_devices_from_one_thread(tmp_path: Path) -> None:
    path = acl.compiled(tmp_path, made.scale(2.0, (1, 4)))
    with Simulator(SimulatorOptions(devices=2)) as simulator:
        models = [acl.load(path, simulator, index=index) for index in (0, 1)]
        assert [model.device for model in models] == ["sim:0", "sim:1"]
        for step in range(6):
            [got] = models[step % 2].executables()[0].execute({"x": rows(1, step)}, ["y"])
            assert np.array_equal(got, rows(1, step) * 2)
        assert [device.executions for device in simulator.stats().devices] == [3, 3]
        for model in models:
            model.close()
        acl.nothing_left(simulator)


def test_instances_share_one_copy_of_the_weights(simulator: Simulator, tmp_path: Path) -> None:
    heavy = np.random.default_rng(0).random((256, 1024), np.float32)
    from onnx import helper

    model_proto = made.model_of(
        [helper.make_node("MatMul", ["x", "w"], ["y"])],
        [made.value("x", TensorProto.FLOAT, ("n", 256))],
        [made.value("y", TensorProto.FLOAT, ("n", 1024))],
        {"w": heavy},
    )
    path = acl.compiled(tmp_path, model_proto, gears=acl.batch_gears(1))
    used = []
    for instances in (1, 3):
        model = acl.load(path, simulator, instances=instances)
        used.append(simulator.stats().devices[0].used_bytes)
        second = acl.load(path, simulator)
        owners = {owner.name: owner for owner in model.shared_device.pool.owners()}
        assert owners["weights of net"].active_blocks == 1
        second.close()
        for run in model.executables():
            [got] = run.execute({"x": np.ones((1, 256), np.float32)}, ["y"])
            assert np.allclose(got, heavy.sum(0), rtol=1e-5)
        del got
        model.close()
    assert used[1] < used[0] + heavy.nbytes


def test_want_of_memory_is_foreseen(tmp_path: Path) -> None:
    path = acl.compiled(tmp_path, made.scale(2.0, ("n", 1024)), gears=acl.batch_gears(1, 2048))
    with Simulator(SimulatorOptions(hbm_bytes=24 << 20)) as simulator:
        with pytest.raises(DeviceOutOfMemoryError, match="fewer instances") as caught:
            acl.load(path, simulator, instances=4)
        assert caught.value.needed is not None
        assert caught.value.free is not None
        assert caught.value.needed > caught.value.free
        assert "aclmdlLoadFromFileWithMem" not in simulator.stats().calls
        acl.nothing_left(simulator)


def test_pools_of_a_stated_size_belong_to_the_device(simulator: Simulator, tmp_path: Path) -> None:
    path = acl.compiled(tmp_path, made.scale(2.0, (1, 4)))
    first = acl.load(path, simulator, pool_bytes=8 << 20, pinned_pool_bytes=2 << 20)
    assert simulator.stats().devices[0].used_bytes >= 8 << 20
    with pytest.raises(InvalidOptionError, match="pool_bytes"):
        acl.load(path, simulator, pool_bytes=16 << 20)
    second = acl.load(path, simulator, pool_bytes=8 << 20)
    second.close()
    first.close()


def test_a_device_fault_is_told_and_healed(geared: Any, simulator: Simulator) -> None:
    [run] = geared.executables()
    feed = {"A": rows(1), "B": rows(1)}
    nth = simulator.stats().calls.get("aclmdlExecuteAsync", 0) + 1
    simulator.set_faults(f"aclmdlExecuteAsync@{nth}=async:507015")
    with pytest.raises(AclInternalError) as caught:
        run.execute(feed, ["S"])
    assert caught.value.code == 507015
    assert np.array_equal(run.execute(feed, ["S"])[0], rows(1) * 2)
    assert simulator.stats().calls["aclmdlLoadFromFileWithMem"] == 2


def test_a_lost_device_stays_lost(simulator: Simulator, tmp_path: Path) -> None:
    model = acl.load(acl.compiled(tmp_path, made.scale(2.0, (1, 4))), simulator)
    [run] = model.executables()
    simulator.set_faults("aclmdlExecuteAsync@1=async:507901; aclmdlLoadFromFileWithMem@*=507901")
    for _ in range(3):
        with pytest.raises(DeviceLostError):
            run.execute({"x": rows(1)}, ["y"])
    simulator.set_faults("")
    model.close()


def test_closing_on_a_lost_device_is_quiet(tmp_path: Path) -> None:
    path = acl.compiled(tmp_path, made.scale(2.0, (1, 4)))
    with Simulator(SimulatorOptions(devices=2)) as simulator:
        model, other = (acl.load(path, simulator, index=index) for index in (0, 1))
        simulator.set_faults("device:0@lost")
        for _ in range(2):
            with pytest.raises(DeviceLostError):
                model.executables()[0].execute({"x": rows(1)}, ["y"])
        model.close()
        # The other device goes on.
        [got] = other.executables()[0].execute({"x": rows(1)}, ["y"])
        assert np.array_equal(got, rows(1) * 2)
        other.close()


def test_a_model_that_fails_says_so(geared: Any, simulator: Simulator) -> None:
    [run] = geared.executables()
    simulator.set_faults("aclmdlExecuteAsync@1=145000")
    with pytest.raises(ModelExecutionError, match="'net' failed"):
        run.execute({"A": rows(1), "B": rows(1)}, ["S"])
    assert run.execute({"A": rows(1), "B": rows(1)}, ["S"])[0].shape == (1, 4)


def test_cancelled_before_and_while_it_runs(geared: Any, simulator: Simulator) -> None:
    [run] = geared.executables()
    wish = Cancellation()
    wish.request()
    with pytest.raises(RequestCancelledError):
        run.execute({"A": rows(1), "B": rows(1)}, ["S"], None, wish)
    assert "aclmdlExecuteAsync" not in simulator.stats().calls
    simulator.set_faults("aclmdlExecuteAsync@1=slow:300ms")
    wish = Cancellation()
    outcome: list[BaseException] = []

    def work() -> None:
        try:
            run.execute({"A": rows(1), "B": rows(1)}, ["S"], None, wish)
        except RequestCancelledError as error:
            outcome.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    while not run.instance.batches:
        pass
    wish.request()
    thread.join()
    assert len(outcome) == 1
    assert np.array_equal(run.execute({"A": rows(3), "B": rows(3)}, ["S"])[0], rows(3) * 2)


def test_after_close(geared: Any) -> None:
    [run] = geared.executables()
    geared.close()
    with pytest.raises(ClosedError):
        run.execute({"A": rows(1), "B": rows(1)}, ["S"])


def test_what_is_dropped_unclosed_is_given_back_by_the_next(simulator: Simulator, tmp_path: Path) -> None:
    path = acl.compiled(tmp_path, made.scale(2.0, (1, 4)))
    for _ in range(3):
        model = acl.load(path, simulator)
        [run] = model.executables()
        run.execute({"x": rows(1)}, ["y"])
        del model, run
        gc.collect()
    acl.load(path, simulator).close()
    assert simulator.stats().models == 0


def test_files_that_do_not_do(simulator: Simulator, tmp_path: Path) -> None:
    path = acl.compiled(tmp_path, made.scale(2.0, (1, 4)))
    backend = backends.create("acl")
    npu = DeviceTarget("npu", 0, (simulator.library,))
    with pytest.raises(ModelFileError, match="simulator"):
        backend.load(LoadRequest("net", path, BackendOptions(), npu))
    with pytest.raises(ModelLoadError, match="'cpu'"):
        backend.load(LoadRequest("net", path))
    cut = tmp_path / "cut.om"
    cut.write_bytes(path.read_bytes()[:-100])
    with pytest.raises(ModelLoadError):
        acl.load(cut, simulator)
    assert simulator.stats().calls.get("aclInit", 0) == 0


def test_the_simulator_never_stands_in_for_a_device(simulator: Simulator, tmp_path: Path) -> None:
    from ascend_infer.backends.acl_device import open_library

    with pytest.raises(LibraryError, match="simulator"):
        open_library(DeviceTarget("npu", 0, (simulator.library,)))


def test_what_a_loaded_model_says(geared: Any) -> None:
    details = geared.details
    assert geared.device == "sim:0"
    assert details["soc"] == "Ascend310P3"
    assert details["slots"] == "2"
    assert "3 compiled" in details["shapes"]
