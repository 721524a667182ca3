"""Rows that lie on the device already, beside rows of the host, in one batch of an instance."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import acl_models as acl
import numpy as np
import onnx_models as made
import pytest
from card_memory import CardMemory

import ascend_infer as ai
from ascend_infer import _native
from ascend_infer.errors import AclError, InvalidInputError, RequestCancelledError
from ascend_infer.simulator import Simulator, SimulatorOptions

ROW = np.arange(4, dtype=np.float32)[None]
ONES = np.ones((8, 4), np.float32)


@pytest.fixture(params=[1, 0], ids=["host and device apart", "one memory"])
def simulator(request: pytest.FixtureRequest) -> Iterator[Simulator]:
    with Simulator(SimulatorOptions(call_log=True, run_mode=request.param)) as running:
        yield running
        acl.nothing_left(running)


@pytest.fixture
def card(simulator: Simulator) -> Iterator[CardMemory]:
    with CardMemory() as memory:
        yield memory


@pytest.fixture
def geared(simulator: Simulator, card: CardMemory, tmp_path: Path) -> Iterator[_native.AclInstance]:
    path = acl.compiled(tmp_path, made.add_sub(), gears=acl.batch_gears(1, 2, 8))
    with acl.open_device(simulator.library) as device, device.instance(path, slots=1) as instance:
        yield instance


def total(instance: _native.AclInstance, pieces: object) -> np.ndarray:
    [result] = instance.run([pieces, ONES], 2, acl.wanted((0, (8, 4))))
    return result - 1


@pytest.mark.parametrize("offset", [0, 4, 64], ids=["aligned", "off by an element", "off by a line"])
def test_pieces_of_both_kinds_lie_in_the_order_given(
    geared: _native.AclInstance, card: CardMemory, offset: int
) -> None:
    full = np.full((8, 4), 9, np.float32)
    geared.run([full, full], 2, acl.wanted((0, (8, 4))))
    held = card.hold(np.concatenate([ROW * 2, ROW * 3]), offset)
    for pieces, rows in (
        ([ROW, held, ROW * 4], (1, 2, 3, 4)),
        ([held, ROW], (2, 3, 1)),
        ([ROW, ROW, held], (1, 1, 2, 3)),
        ([held, held[:1]], (2, 3, 2)),
        ([held, ROW, held], (2, 3, 1, 2, 3)),
        (held, (2, 3)),
    ):
        expected = np.zeros((8, 4), np.float32)
        expected[: len(rows)] = np.concatenate([ROW * row for row in rows])
        assert np.array_equal(total(geared, pieces), expected), rows


def test_one_piece_is_one_copy_on_the_device_and_nothing_from_the_host(
    geared: _native.AclInstance, card: CardMemory, simulator: Simulator
) -> None:
    held = card.hold(ONES)
    total(geared, held)
    before, mark = simulator.stats(), len(simulator.call_log())
    assert np.array_equal(total(geared, held), ONES)
    after = simulator.stats()
    calls = [line.split()[2] for line in simulator.call_log()[mark:]]
    moved = [
        getattr(after.devices[0], way) - getattr(before.devices[0], way) for way in ("h2d_bytes", "d2d_bytes")
    ]
    apart = "aclrtPointerGetAttributes" in calls
    assert moved == [ONES.nbytes if apart else 0, ONES.nbytes]  # from the host: the other input
    assert calls.count("aclrtMemcpyAsync") == (3 if apart else 1)
    assert not {"aclrtMemcpy", "aclrtMemset", "aclrtMemsetAsync", "aclrtMalloc"} & set(calls)


def test_what_is_no_memory_of_this_device_is_refused(
    geared: _native.AclInstance, card: CardMemory, simulator: Simulator
) -> None:
    if simulator.options.run_mode == 0:
        pytest.skip("one memory has no wrong side")
    freed = card.hold(ONES)
    card.free(freed.ptr)
    short = card.hold(ONES[:1])
    pinned, ret = card.acl.rt.malloc_host(ONES.nbytes)
    assert ret == 0
    host = np.ones((8, 4), np.float32)
    for address, what in (
        (freed.ptr, "the first is in no memory of a device"),
        (host.ctypes.data, "ordinary host memory"),
        (pinned, "pinned host memory"),
        (short.ptr, "the last is in no memory"),
    ):
        with pytest.raises(InvalidInputError, match=what):
            total(geared, ai.DevicePointer(address, ONES.nbytes, ONES.shape, "float32"))
        assert not geared.retired
        assert np.array_equal(total(geared, ONES), ONES)
    assert card.acl.rt.free_host(pinned) == 0


def test_too_much_is_refused_before_anything_is_called(
    geared: _native.AclInstance, card: CardMemory, simulator: Simulator
) -> None:
    held = card.hold(np.ones((9, 4), np.float32))
    mark = len(simulator.call_log())
    with pytest.raises(InvalidInputError, match="144 bytes, the model takes 128"):
        geared.run([held, ONES], 2, acl.wanted((0, (8, 4))))
    assert len(simulator.call_log()) == mark


def test_a_batch_that_is_let_go_has_read_its_inputs(
    geared: _native.AclInstance, card: CardMemory, simulator: Simulator
) -> None:
    held = card.hold(ONES)
    total(geared, held)
    mark = len(simulator.call_log())
    simulator.set_faults("aclmdlExecuteAsync@*=slow:300ms")
    with pytest.raises(RequestCancelledError):
        geared.run([held, ONES], 2, acl.wanted((0, (8, 4))), lambda: False)
    calls = [line.split()[2] for line in simulator.call_log()[mark:]]
    assert calls[-1] in ("aclrtSynchronizeEvent", "aclrtSetCurrentContext")
    assert "aclrtSynchronizeEvent" in calls
    card.write(held.ptr, ONES * 5)  # his again: what still runs does not see it
    simulator.set_faults("")
    assert np.array_equal(total(geared, ONES), ONES)


@pytest.mark.parametrize(
    "function",
    [
        "aclrtPointerGetAttributes",
        "aclrtMemcpyAsync",
        "aclrtMemsetAsync",
        "aclrtCreateEventWithFlag",
        "aclrtRecordEvent",
    ],
)
def test_a_call_that_fails(
    geared: _native.AclInstance, card: CardMemory, simulator: Simulator, function: str
) -> None:
    if function == "aclrtPointerGetAttributes" and simulator.options.run_mode == 0:
        pytest.skip("addresses are not looked up where there is one memory")
    held = card.hold(ONES[:3])
    times = simulator.stats().calls.get(function, 0) + 1
    simulator.set_faults(f"{function}@{times}=107000")
    with pytest.raises(AclError, match=function):
        total(geared, held)
    assert np.array_equal(total(geared, held)[:3], ONES[:3])


def test_models_of_any_shape(simulator: Simulator, card: CardMemory, tmp_path: Path) -> None:
    path = acl.compiled(tmp_path, made.scale(2.0, ("n", "m")), dynamic=True)
    with acl.open_device(simulator.library) as device, device.instance(path) as instance:
        for given in (ONES * 3, ROW, np.ones((5, 7), np.float32)):
            held = card.hold(given, 4)
            [got] = instance.run_dynamic([held], [held.shape], [0], [np.dtype(np.float32)])
            assert np.array_equal(got, given * 2)
