"""Sessions fed from the card's own memory."""

from __future__ import annotations

import gc
import importlib.util
import threading
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import onnx_models as made
import pytest
from card_memory import CardMemory

import ascend_infer as ai
from ascend_infer.errors import DeadlineExceededError, InvalidInputError
from ascend_infer.simulator import Simulator, SimulatorOptions, TimeModel, compile_model
from ascend_infer.types import Gear

if importlib.util.find_spec("onnxruntime") is None:
    pytest.skip("onnxruntime is not installed", allow_module_level=True)

CONFIG = """
platform: "ge"
max_batch_size: 11
input [ { name: "A" data_type: TYPE_FP32 dims: [ 4 ] }, { name: "B" data_type: TYPE_FP32 dims: [ 4 ] } ]
output [ { name: "S" data_type: TYPE_FP32 dims: [ 4 ] }, { name: "D" data_type: TYPE_FP32 dims: [ 4 ] } ]
"""


def rows(count: int, start: float = 0.0) -> np.ndarray:
    return np.arange(count * 4, dtype=np.float32).reshape(count, 4) + np.float32(start)


@pytest.fixture
def machine(request: pytest.FixtureRequest) -> Iterator[Simulator]:
    options = getattr(request, "param", SimulatorOptions(call_log=True))
    with Simulator(options) as simulator:
        yield simulator
        gc.collect()
        assert simulator.stats().violations == {}
        assert simulator.live_handles() == []


@pytest.fixture
def card(machine: Simulator) -> Iterator[CardMemory]:
    with CardMemory() as memory:
        yield memory


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """A + B and A - B in batches of 1, 2 and 4."""
    folder = made.model_directory(tmp_path, "add_sub", made.add_sub(), CONFIG)
    source = folder / "1" / "model.onnx"
    compile_model(source, folder / "1" / "model.om", gears=[Gear("batch", (size,)) for size in (1, 2, 4)])
    return folder


@pytest.mark.parametrize("count", [1, 2, 3, 4, 5, 8, 11])
def test_any_number_of_rows_and_nothing_copied_from_the_host(
    machine: Simulator, card: CardMemory, model: Path, count: int
) -> None:
    a, b = rows(count), rows(count, 100)
    held = card.hold(a), card.hold(b)
    with ai.Session(model, device="sim") as session:
        full = np.full((4, 4), 1e30, np.float32)
        session.infer({"A": full, "B": full})
        before = machine.stats().devices[0]
        got = session.infer({"A": held[0], "B": held[1]})
        after = machine.stats().devices[0]
        assert np.array_equal(got["S"], a + b)
        assert np.array_equal(got["D"], a - b)
        # A gear that changes is written to the device by the runtime: 8 bytes a launch.
        launches = after.executions - before.executions
        assert after.h2d_bytes - before.h2d_bytes <= 8 * launches
        assert after.d2d_bytes - before.d2d_bytes == a.nbytes + b.nbytes
        mixed = session.infer({"A": held[0], "B": b})
        assert np.array_equal(mixed["S"], a + b)
    back = np.frombuffer(read(card, held[0]), np.float32).reshape(a.shape)
    assert np.array_equal(back, a)


def read(card: CardMemory, pointer: ai.DevicePointer) -> bytes:
    host, ret = card.acl.rt.malloc_host(pointer.nbytes)
    assert ret == 0
    assert card.acl.rt.memcpy(host, pointer.nbytes, pointer.ptr, pointer.nbytes, 2) == 0
    data: bytes = card.acl.util.ptr_to_bytes(host, pointer.nbytes)
    assert card.acl.rt.free_host(host) == 0
    return data


def test_one_sample_an_out_array_and_the_order_of_names(card: CardMemory, model: Path) -> None:
    a, b = card.hold(rows(1)[0]), card.hold(rows(1, 7)[0])
    with ai.Session(model, device="sim") as session:
        got = session.infer({"B": b, "A": a}, batched=False)
        assert np.array_equal(got["S"], rows(1)[0] + rows(1, 7)[0])
        out = np.zeros((3, 4), np.float32)
        held = card.hold(rows(3))
        result = session.infer({"A": held, "B": held}, ["S"], out={"S": out})
        assert result["S"] is out
        assert np.array_equal(out, rows(3) * 2)


def test_what_does_not_fit_is_refused_by_name(machine: Simulator, card: CardMemory, model: Path) -> None:
    good = card.hold(rows(2))
    with ai.Session(model, device="sim") as session:
        for pointer, what in (
            (card.hold(rows(2).astype(np.float64)), "a DevicePointer to float64, expected FP32"),
            (card.hold(np.ones((2, 5), np.float32)), r"shape \[2, 5\]"),
            (card.hold(rows(3)), "batch of 3 where another input of the request has 2"),
            (card.hold(rows(12)), "at most max_batch_size 11"),
        ):
            with pytest.raises(InvalidInputError, match=what) as caught:
                session.infer({"A": good, "B": pointer}, cast="unsafe")
            assert caught.value.input == "B"
        host = np.ones((2, 4), np.float32)
        with pytest.raises(InvalidInputError, match="input 'B' lies at 0x.*ordinary host memory") as caught:
            session.infer({"A": good, "B": ai.DevicePointer(host.ctypes.data, 32, (2, 4), "float32")})
        assert caught.value.input == "B"
        with pytest.raises(DeadlineExceededError, match="within the timeout of 0 s"):
            session.infer({"A": good, "B": good}, timeout=0)
        assert np.array_equal(session.infer({"A": good, "B": good})["S"], rows(2) * 2)


def test_memory_of_another_card_is_refused(model: Path) -> None:
    with (
        Simulator(SimulatorOptions(devices=2)),
        CardMemory(1) as other,
        ai.Session(model, device="sim:0") as session,
    ):
        held = other.hold(rows(2))
        with pytest.raises(InvalidInputError, match="memory of device 1; expected memory of device 0"):
            session.infer({"A": held, "B": rows(2)})
        with ai.Session(model, device="sim:1") as beside:
            assert np.array_equal(beside.infer({"A": held, "B": rows(2)})["S"], rows(2) * 2)


def test_a_session_on_several_cards_takes_none(model: Path) -> None:
    config = (model / "config.pbtxt").read_text()
    (model / "config.pbtxt").write_text(
        f"{config}instance_group [ {{ count: 1 kind: KIND_GPU gpus: [ 0, 1 ] }} ]\n"
    )
    with (
        Simulator(SimulatorOptions(devices=2)),
        CardMemory() as memory,
        ai.Session(model, device="sim") as session,
    ):
        held = memory.hold(rows(2))
        assert np.array_equal(session.infer({"A": rows(2), "B": rows(2)})["S"], rows(2) * 2)
        with pytest.raises(
            InvalidInputError, match="runs on sim:0,sim:1; open one on the pointer's own device"
        ):
            session.infer({"A": held, "B": rows(2)})


def test_the_cpu_takes_none(card: CardMemory, model: Path) -> None:
    held = card.hold(rows(2))
    with (
        ai.Session(model, device="cpu") as session,
        pytest.raises(InvalidInputError, match="input 'A'.*runs on the CPU.*device='npu'") as caught,
    ):
        session.infer({"A": held, "B": rows(2)})
    assert caught.value.input == "A"


def test_only_rows_are_padded_on_the_device(card: CardMemory, tmp_path: Path) -> None:
    folder = made.model_directory(
        tmp_path,
        "scale",
        made.scale(2.0, ("n", "m")),
        'platform: "ge"\nparameters { key: "gear_pad.x" value { string_value: "0.0" } }\n'
        'parameters { key: "gear_crop.y" value { string_value: "1" } }\n'
        'input [ { name: "x" data_type: TYPE_FP32 dims: [ -1, -1 ] } ]\n'
        'output [ { name: "y" data_type: TYPE_FP32 dims: [ -1, -1 ] } ]\n',
    )
    compile_model(
        folder / "1" / "model.onnx",
        folder / "1" / "model.om",
        gears=[Gear("dims", (2, 4)), Gear("dims", (2, 8))],
    )
    with ai.Session(folder, device="sim") as session:
        exact, narrow = rows(2), np.ones((2, 6), np.float32)
        assert np.array_equal(session.infer({"x": card.hold(exact)})["y"], exact * 2)
        assert session.infer({"x": narrow})["y"].shape[0] == 2
        with pytest.raises(
            InvalidInputError, match=r"DevicePointer of shape \[2, 6\], which no compiled size has"
        ):
            session.infer({"x": card.hold(narrow)})


@pytest.mark.parametrize(
    "machine", [SimulatorOptions(call_log=True, time=TimeModel(compute_fixed_us=150_000))], indirect=True
)
def test_after_a_timeout_the_memory_is_the_applications_again(
    machine: Simulator, card: CardMemory, model: Path
) -> None:
    held = card.hold(rows(4))
    with ai.Session(model, device="sim") as session:
        with pytest.raises(DeadlineExceededError):
            session.infer({"A": held, "B": held}, timeout=0.01)
        card.free(held.ptr)  # a copy that still read it would be a violation
        assert np.array_equal(session.infer({"A": rows(4), "B": rows(4)})["S"], rows(4) * 2)


@pytest.mark.parametrize(
    "machine",
    [SimulatorOptions(time=TimeModel(d2d_fixed_us=150_000, compute_fixed_us=150_000))],
    indirect=True,
)
def test_a_caller_that_leaves_a_workers_batch_finds_its_memory_read(
    machine: Simulator, card: CardMemory, model: Path
) -> None:
    held = card.hold(rows(4))
    with ai.Session(model, device="sim", slots=1) as session:
        busy = threading.Thread(target=session.infer, args=({"A": rows(4), "B": rows(4)},))
        busy.start()
        while busy.is_alive() and machine.stats().calls.get("aclmdlExecuteAsync", 0) < 1:
            pass  # the instance is taken: the next request waits for it on a worker
        with pytest.raises(DeadlineExceededError):
            session.infer({"A": held, "B": rows(4)}, timeout=0.2)
        card.free(held.ptr)
        busy.join()
        assert np.array_equal(session.infer({"A": rows(4), "B": rows(4)})["S"], rows(4) * 2)


def test_many_threads(card: CardMemory, model: Path) -> None:
    wrong: list[int] = []

    with ai.Session(model, device="sim", instances=2) as session:
        held = [card.hold(rows(1 + number, 10 * number)) for number in range(4)]

        def work(number: int) -> None:
            for _ in range(50):
                got = session.infer({"A": held[number], "B": rows(1 + number)})
                if not np.array_equal(got["S"], rows(1 + number, 10 * number) + rows(1 + number)):
                    wrong.append(number)

        threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert not wrong
