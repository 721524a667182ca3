"""Instances: batches through slots, what is called for each, what is refused, what comes after a failure."""

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

from ascend_infer import _native
from ascend_infer.errors import (
    AclError,
    CopyError,
    DeviceOutOfMemoryError,
    InvalidInputError,
    InvalidOptionError,
    ModelLoadError,
)
from ascend_infer.simulator import Simulator, SimulatorOptions
from ascend_infer.types import Gear

ROW = np.arange(4, dtype=np.float32)[None]


@pytest.fixture
def simulator() -> Iterator[Simulator]:
    with Simulator(SimulatorOptions(call_log=True)) as running:
        yield running
        acl.nothing_left(running)


@pytest.fixture
def device(simulator: Simulator) -> Iterator[acl.OpenDevice]:
    with acl.open_device(simulator.library) as opened:
        yield opened


@pytest.fixture
def geared(device: acl.OpenDevice, tmp_path: Path) -> Iterator[_native.AclInstance]:
    path = acl.compiled(tmp_path, made.add_sub(), gears=acl.batch_gears(1, 2, 8))
    with device.instance(path) as instance:
        yield instance


@pytest.fixture
def static(device: acl.OpenDevice, tmp_path: Path) -> Iterator[_native.AclInstance]:
    path = acl.compiled(tmp_path, made.scale(2.0, (2, 4)))
    with device.instance(path) as instance:
        yield instance


def calls(simulator: Simulator, since: int = 0) -> list[str]:
    return [line.split()[2] for line in simulator.call_log()[since:]]


def test_what_the_library_says_of_a_model(geared: _native.AclInstance) -> None:
    told = geared.description()
    assert told["shapes"] == "batch"
    assert [(name, dims) for name, _, _, dims, *_ in told["inputs"]] == [("A", (-1, 4)), ("B", (-1, 4))]
    assert told["gears"] == ((1,), (2,), (8,))
    assert told["gear_inputs"][2] == ((8, 4), (8, 4))
    assert told["gear_outputs"][1] == ((2, 4), (2, 4))
    assert (geared.input_bytes(2, 0), geared.output_bytes(0, 1)) == (128, 16)
    for wrong in ((3, 0), (0, 2)):
        with pytest.raises(IndexError):
            geared.input_bytes(*wrong)
        with pytest.raises(IndexError):
            geared.output_bytes(*wrong)


@pytest.mark.parametrize(
    ("gears", "kind"),
    [
        ([Gear("hw", (2, 3)), Gear("hw", (4, 6))], "hw"),
        ([Gear("dims", (2, 3)), Gear("dims", (4, 6))], "dims"),
    ],
)
def test_other_gears(device: acl.OpenDevice, tmp_path: Path, gears: list[Gear], kind: str) -> None:
    path = acl.compiled(tmp_path, made.scale(2.0, (1, 1, "h", "w")), gears=gears)
    with device.instance(path) as instance:
        assert instance.description()["shapes"] == kind
        for index, gear in [(0, (2, 3)), (1, (4, 6)), (0, (2, 3))]:
            given = np.random.default_rng(0).random((1, 1, *gear), np.float32)
            [got] = instance.run([given], index, acl.wanted((0, given.shape)))
            assert np.array_equal(got, given * 2)


def test_rows_of_several_requests_are_gathered_and_the_rest_is_zeros(geared: _native.AclInstance) -> None:
    ones = np.ones((1, 4), np.float32)
    full = np.full((8, 4), 9, np.float32)
    geared.run([full, full], 2, acl.wanted((0, (8, 4))))
    [total] = geared.run([[ROW, ROW * 2, ROW * 3], [ones, ones, ones]], 2, acl.wanted((0, (8, 4))))
    assert np.array_equal(total[:3], np.concatenate([ROW + 1, ROW * 2 + 1, ROW * 3 + 1]))
    assert not total[3:].any()


def test_only_the_front_of_an_output_is_fetched(geared: _native.AclInstance, simulator: Simulator) -> None:
    before = simulator.stats().devices[0].d2h_bytes
    [total] = geared.run([ROW, ROW], 2, acl.wanted((0, (1, 4))))
    assert np.array_equal(total, ROW * 2)
    assert simulator.stats().devices[0].d2h_bytes - before == 16


def test_calls_of_one_batch(geared: _native.AclInstance, simulator: Simulator) -> None:
    def run(gear: int) -> list[str]:
        rows = (1, 2, 8)[gear]
        given = np.ones((rows, 4), np.float32)
        since = len(simulator.call_log())
        geared.run([given, given], gear, acl.wanted((0, (rows, 4)), (1, (rows, 4))), lambda: True)
        return [name for name in calls(simulator, since) if name != "aclrtGetCurrentContext"]

    run(1), run(1)
    steady = [
        *["aclrtMemcpyAsync"] * 2,  # one copy in for each input
        "aclmdlExecuteAsync",
        "aclrtRecordEvent",
        *["aclrtMemcpyAsync"] * 2,  # one copy out for each output
        "aclrtSynchronizeStreamWithTimeout",
    ]
    assert run(1) == steady
    assert run(2) == [*steady[:2], "aclmdlSetDynamicBatchSize", *steady[2:]]
    assert run(2) == steady


def test_nothing_is_allocated_once_it_runs(geared: _native.AclInstance, device: acl.OpenDevice) -> None:
    big = acl.wanted((0, (8, 4)), (1, (8, 4)), leased=True)
    given = np.ones((8, 4), np.float32)
    geared.run([given, given], 2, big)
    pools = [device.pool.stats().upstream_allocations, device.pinned.stats().upstream_allocations]
    for _ in range(100):
        geared.run([given, given], 2, big)
    assert pools == [device.pool.stats().upstream_allocations, device.pinned.stats().upstream_allocations]


def test_results_keep_the_pinned_memory_they_show(
    static: _native.AclInstance, device: acl.OpenDevice
) -> None:
    idle = device.pinned.stats().active_blocks
    [first] = static.run([np.ones((2, 4), np.float32)], -1, acl.wanted((0, (2, 4)), leased=True))
    [second] = static.run([np.full((2, 4), 5, np.float32)], -1, acl.wanted((0, (2, 4)), leased=True))
    assert device.pinned.stats().active_blocks == idle + 2
    view = first[1:]
    first[:] = 7
    assert second.tolist() == [[10.0] * 4] * 2
    del first
    assert device.pinned.stats().active_blocks == idle + 2
    assert view.tolist() == [[7.0] * 4]
    del view, second
    assert device.pinned.stats().active_blocks == idle


def test_who_keeps_every_result_gets_copies_in_the_end(
    static: _native.AclInstance, device: acl.OpenDevice
) -> None:
    given = np.ones((2, 4), np.float32)
    kept = [static.run([given * i], -1, acl.wanted((0, (2, 4)), leased=True))[0] for i in range(200)]
    assert device.pinned.stats().active_blocks < 50
    assert all(np.array_equal(array, given * i * 2) for i, array in enumerate(kept))


def test_an_output_goes_where_it_is_wanted(static: _native.AclInstance) -> None:
    out = np.zeros((3, 4), np.float32)
    [entry] = acl.wanted((0, (2, 4)))
    [got] = static.run([np.ones((2, 4), np.float32)], -1, [(*entry[:5], out)])
    assert got is out
    assert out.tolist() == [[2.0] * 4] * 2 + [[0.0] * 4]


@pytest.mark.parametrize(
    ("inputs", "gear", "outputs"),
    [
        ([np.ones((3, 4), np.float32)] * 2, 1, [(0, (2, 4))]),  # more than the gear takes
        ([np.ones((2, 4), np.float32)], 1, [(0, (2, 4))]),  # an input is missing
        ([np.ones((2, 4), np.float32)] * 2, 7, [(0, (2, 4))]),  # no such gear
        ([np.ones((2, 4), np.float32)] * 2, -1, [(0, (2, 4))]),  # no gear
        ([np.ones((2, 4), np.float32)] * 2, 1, [(2, (2, 4))]),  # no such output
        ([np.ones((2, 4), np.float32)] * 2, 1, [(0, (8, 4))]),  # more than the gear gives
        ([np.ones((2, 4), np.float32)] * 2, 1, [(0, (2, 4))] * 3),  # more outputs than there are
    ],
)
def test_sizes_are_checked_before_anything_is_launched(
    geared: _native.AclInstance,
    simulator: Simulator,
    inputs: list[Any],
    gear: int,
    outputs: list[tuple[int, tuple[int, ...]]],
) -> None:
    since = len(simulator.call_log())
    with pytest.raises(InvalidInputError):
        geared.run(inputs, gear, acl.wanted(*outputs))
    assert calls(simulator, since) == []
    assert np.array_equal(geared.run([ROW, ROW], 0, acl.wanted((0, (1, 4))))[0], ROW * 2)


def test_an_output_array_that_is_too_small_or_read_only(static: _native.AclInstance) -> None:
    [entry] = acl.wanted((0, (2, 4)))
    frozen = np.zeros((2, 4), np.float32)
    frozen.flags.writeable = False
    with pytest.raises(InvalidInputError):
        static.run([np.ones((2, 4), np.float32)], -1, [(*entry[:5], np.zeros(3, np.float32))])
    with pytest.raises(ValueError, match="read-only"):
        static.run([np.ones((2, 4), np.float32)], -1, [(*entry[:5], frozen)])


def test_dynamic_shapes(device: acl.OpenDevice, tmp_path: Path, simulator: Simulator) -> None:
    path = acl.compiled(tmp_path, made.scale(2.0, ("n", "m")), dynamic=True)
    with device.instance(path, slots=3) as instance:
        assert (instance.description()["shapes"], instance.slots) == ("dynamic", 1)
        for shape in [(2, 3), (40, 50), (1, 1), (200, 300), (2, 3)]:
            given = np.random.default_rng(1).random(shape, np.float32)
            [got] = instance.run_dynamic([given], [shape], [0], [acl.F32], lambda: True)
            assert np.array_equal(got, given * 2)
        assert instance.run_dynamic([given], [shape], [], []) == []
        with pytest.raises(InvalidInputError):
            instance.run_dynamic([given], [shape], [1], [acl.F32])
        with pytest.raises(InvalidInputError):
            instance.run_dynamic([given], [], [0], [acl.F32])
        since = len(simulator.call_log())
        for lie in [(200, 301), (2**40, 2**40), (-1, 3), (0, 0)]:
            with pytest.raises(InvalidInputError, match="24 bytes"):
                instance.run_dynamic([given], [lie], [0], [acl.F32])
        assert calls(simulator, since) == []
    assert simulator.stats().devices[0].executions == 6


def test_a_batch_is_copied_in_while_another_computes(
    static: _native.AclInstance, simulator: Simulator
) -> None:
    simulator.set_faults("aclmdlExecuteAsync@1=slow:1500ms")
    results: list[float] = []

    def work(value: float) -> None:
        [got] = static.run([np.full((2, 4), value, np.float32)], -1, acl.wanted((0, (2, 4))))
        results.append(float(got[0, 0]))

    first = threading.Thread(target=work, args=(1.0,))
    first.start()
    while not static.batches:
        pass
    second = threading.Thread(target=work, args=(2.0,))
    second.start()
    while simulator.stats().devices[0].h2d_bytes < 2 * 32:
        pass
    # The second's rows are on the device, and the first still computes.
    assert results == []
    first.join()
    second.join()
    assert sorted(results) == [2.0, 4.0]


def test_what_is_dropped_unclosed_is_given_back_later(
    device: acl.OpenDevice, tmp_path: Path, simulator: Simulator
) -> None:
    instance = device.instance(acl.compiled(tmp_path, made.scale(2.0, (1, 4))))
    since = len(simulator.call_log())
    del instance
    gc.collect()
    assert calls(simulator, since) == []
    assert simulator.stats().models == 1
    device.device.reap()
    assert simulator.stats().models == 0


def test_weights_live_as_long_as_the_instance(device: acl.OpenDevice, tmp_path: Path) -> None:
    path = acl.compiled(tmp_path, made.scale(2.0, (1, 4)))
    work, weights = device.device.model_sizes(path)
    block = device.pool.allocate(weights, "weights of net")
    instance = _native.open_acl_instance(
        device.device, device.pool, device.pinned, path, name="net", work_bytes=work, weights=block
    )
    del block
    gc.collect()
    assert "weights of net" in {owner.name for owner in device.pool.owners()}
    assert instance.run([ROW], -1, acl.wanted((0, (1, 4))))[0].tolist() == (ROW * 2).tolist()
    instance.close()
    assert device.pool.owners() == ()


def test_a_dropped_instance_keeps_its_weights_until_it_is_unloaded(
    device: acl.OpenDevice, tmp_path: Path, simulator: Simulator
) -> None:
    path = acl.compiled(tmp_path, made.scale(2.0, (1, 4)))
    work, weights = device.device.model_sizes(path)
    instance = _native.open_acl_instance(
        device.device,
        device.pool,
        device.pinned,
        path,
        name="net",
        work_bytes=work,
        weights=device.pool.allocate(weights, "weights of net"),
    )
    del instance
    gc.collect()
    assert "weights of net" in {owner.name for owner in device.pool.owners()}
    device.device.reap()
    assert device.pool.owners() == ()


def test_bad_arguments(device: acl.OpenDevice, tmp_path: Path, static: _native.AclInstance) -> None:
    with pytest.raises(InvalidOptionError):
        device.instance(acl.compiled(tmp_path, made.scale(2.0, (1, 4)), "other"), slots=0)
    with pytest.raises(AclError):
        device.instance(tmp_path / "missing.om")
    (tmp_path / "bad.om").write_bytes(b"IMOD" + bytes(500))
    with pytest.raises(AclError):
        _native.open_acl_instance(
            device.device, device.pool, device.pinned, tmp_path / "bad.om", name="bad", work_bytes=64
        )
    with pytest.raises(TypeError):
        static.run([3], -1, acl.wanted((0, (2, 4))))
    with pytest.raises(ValueError, match="contiguous"):
        static.run([np.ones((4, 2), np.float32).T], -1, acl.wanted((0, (2, 4))))
    with pytest.raises(CopyError):
        static.__reduce__()
    with pytest.raises(TypeError):
        _native.AclInstance()


def test_a_model_that_does_not_fit_leaves_nothing(tmp_path: Path) -> None:
    path = acl.compiled(tmp_path, made.scale(2.0, ("n", 1024)), gears=acl.batch_gears(1, 2048))
    with Simulator(SimulatorOptions(hbm_bytes=8 << 20)) as simulator:
        with acl.open_device(simulator.library) as opened:
            with pytest.raises((DeviceOutOfMemoryError, ModelLoadError)):
                opened.instance(path, slots=4)
            assert opened.pool.owners() == ()
            assert opened.pinned.owners() == ()
        acl.nothing_left(simulator)


def test_host_and_device_that_are_one_memory_copy_nothing(tmp_path: Path) -> None:
    path = acl.compiled(tmp_path, made.add_sub(), gears=acl.batch_gears(1, 4))
    loose = acl.compiled(tmp_path, made.scale(3.0, ("n", "m")), "loose", dynamic=True)
    with Simulator(SimulatorOptions(run_mode=0)) as simulator:
        with acl.open_device(simulator.library) as opened:
            assert opened.device.unified
            with opened.instance(path) as instance:
                total, difference = instance.run(
                    [ROW * 3, ROW], 1, [*acl.wanted((0, (1, 4)), leased=True), *acl.wanted((1, (1, 4)))]
                )
                assert np.array_equal(total, ROW * 4)
                assert np.array_equal(difference, ROW * 2)
            with opened.instance(loose) as instance:
                [got] = instance.run_dynamic([ROW], [ROW.shape], [0], [acl.F32])
                assert np.array_equal(got, ROW * 3)
        stats = simulator.stats()
        assert "aclrtMemcpyAsync" not in stats.calls
