"""A device's memory pool made by the user and shared by sessions, on the simulator."""

from __future__ import annotations

import copy
import gc
import importlib.util
import pickle
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import acl_models as acl
import numpy as np
import onnx_models as made
import pytest
from onnx import TensorProto, helper

import ascend_infer as ai
from ascend_infer.errors import (
    AclError,
    ClosedError,
    CopyError,
    DeviceNotFoundError,
    DeviceOutOfMemoryError,
    InvalidOptionError,
    PoolLimitError,
    UnclosedResourceWarning,
)
from ascend_infer.simulator import Simulator, SimulatorOptions

if importlib.util.find_spec("onnxruntime") is None:
    pytest.skip("onnxruntime is not installed", allow_module_level=True)

MIB = 1 << 20
ONE = np.ones((1, 256), np.float32)
CONFIG = 'platform: "ge" max_batch_size: 8 dynamic_batching { preferred_batch_size: [ 4, 8 ] } '
BOTH = "instance_group { kind: KIND_GPU gpus: [ 0, 1 ] }"


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ASCEND_INFER_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def machine() -> Iterator[Simulator]:
    with Simulator(SimulatorOptions(devices=2, hbm_bytes=256 * MIB)) as simulator:
        yield simulator
        gc.collect()
        acl.nothing_left(simulator)


def network(root: Path, name: str, factor: float, config: str = CONFIG) -> Path:
    """A matrix product with a quarter of a MiB of weights."""
    model = made.model_of(
        [helper.make_node("MatMul", ["x", "w"], ["y"])],
        [made.value("x", TensorProto.FLOAT, ("n", 256))],
        [made.value("y", TensorProto.FLOAT, ("n", 256))],
        {"w": (np.eye(256) * factor).astype(np.float32)},
    )
    return made.model_directory(root, name, model, config)


@pytest.fixture
def double(tmp_path: Path) -> Path:
    return network(tmp_path, "double", 2)


@pytest.fixture
def triple(tmp_path: Path) -> Path:
    return network(tmp_path, "triple", 3)


def test_two_sessions_share_one_fixed_pool(machine: Simulator, double: Path, triple: Path) -> None:
    with ai.MemoryPool("sim:0", 16 * MIB, growable=False) as pool:
        assert (pool.device, pool.growable, pool.closed) == ("sim:0", False, False)
        # Whole pages of the device.
        size = pool.stats().reserved_bytes
        assert 16 * MIB <= size <= 18 * MIB
        with (
            ai.Session(double, device="sim", memory_pool=pool) as two,
            ai.Session(triple, device="sim", memory_pool=pool) as three,
        ):
            calls = machine.stats().calls["aclrtMalloc"]
            assert two.infer(ONE)["y"][0, 0] == 2
            assert three.infer(ONE)["y"][0, 0] == 3
            owners = {owner.name for owner in pool.owners()}
            assert {"weights of double", "weights of triple", "slots of double_0"} <= owners
            assert two.memory_pool is not None
            assert two.memory_pool.stats() == pool.stats()
            assert pool.stats().reserved_bytes == size
        assert pool.owners() == ()
        assert pool.stats().reserved_bytes == size
        # The memory is there for the next one, and the device was asked once.
        with ai.Session(double, device="sim", memory_pool=pool) as again:
            again.infer(ONE)
        assert machine.stats().calls["aclrtMalloc"] == calls == 1
    assert pool.closed


def test_what_does_not_fit_is_refused_beforehand(machine: Simulator, double: Path, triple: Path) -> None:
    with ai.Session(double, device="sim") as session:
        assert session.memory_pool is not None
        needed = session.memory_pool.stats().active_bytes
        [weights] = [o.active_bytes for o in session.memory_pool.owners() if o.name.startswith("weights")]
    with ai.MemoryPool("sim:0", 2 * MIB, growable=False) as pool:
        size = pool.stats().reserved_bytes
        # As many instances as there is room for, and not one more.
        most = (size - weights) // (needed - weights)
        with ai.Session(double, device="sim", memory_pool=pool, instances=most) as session:
            session.infer(np.ones((8, 256), np.float32))
            assert pool.stats().active_bytes == weights + most * (needed - weights)
        loads = machine.stats().calls["aclmdlLoadFromFileWithMem"]
        with pytest.raises(PoolLimitError, match="memory pool of sim:0 is too small.*make the pool larger"):
            ai.Session(double, device="sim", memory_pool=pool, instances=most + 1)
        assert machine.stats().calls["aclmdlLoadFromFileWithMem"] == loads
        assert pool.stats().active_bytes == 0
        # Half of them leave no room for another model; the one that is there goes on.
        with ai.Session(double, device="sim", memory_pool=pool, instances=most - 2) as session:
            with pytest.raises(PoolLimitError, match="held by weights of double: 262") as caught:
                ai.Session(triple, device="sim", memory_pool=pool)
            assert (caught.value.requested, caught.value.limit) == (needed, size)
            assert caught.value.holders == tuple((o.name, o.active_bytes) for o in pool.owners()[:5])
            # Of the same file one copy of the weights serves all.
            ai.Session(double, device="sim", memory_pool=pool).close()
            assert session.infer(ONE)["y"][0, 0] == 2


def test_a_limit_bounds_a_growable_pool(machine: Simulator, double: Path) -> None:
    with ai.MemoryPool("sim:0", MIB, limit_bytes=5 * MIB) as pool:
        at_once = pool.stats().reserved_bytes
        assert MIB <= at_once < 2 * MIB
        with ai.Session(double, device="sim", memory_pool=pool, instances=40) as session:
            session.infer(ONE)
            assert at_once < pool.stats().reserved_bytes <= 5 * MIB
            assert pool.stats().limit_bytes == 5 * MIB
            with pytest.raises(PoolLimitError, match="of its 5,242,880 bytes"):
                ai.Session(double, device="sim", memory_pool=pool, instances=1000)
        # What was taken at once stays.
        pool.trim()
        assert pool.stats().reserved_bytes == at_once


def test_a_device_without_room_for_it(machine: Simulator) -> None:
    with pytest.raises(DeviceOutOfMemoryError) as caught:
        ai.MemoryPool("sim:0", 1 << 40)
    assert caught.value.needed == 1 << 40
    acl.nothing_left(machine)


def test_pinned_memory_too(machine: Simulator, double: Path) -> None:
    with ai.MemoryPool("sim:0", 16 * MIB, pinned_bytes=MIB, pinned_growable=False) as pool:
        assert MIB <= pool.stats(pinned=True).reserved_bytes <= 2 * MIB
        with ai.Session(double, device="sim", memory_pool=pool) as session:
            session.infer(ONE)
            assert "staging of double_0" in {owner.name for owner in pool.owners(pinned=True)}
            with pytest.raises(PoolLimitError, match="pinned memory for device 0"):
                ai.Session(double, device="sim", memory_pool=pool, slots=200)
            assert session.infer(ONE)["y"][0, 0] == 2
        assert pool.trim(pinned=True) == 0


def test_a_session_that_states_nothing_uses_it_too(machine: Simulator, double: Path) -> None:
    with ai.MemoryPool("sim:0", 16 * MIB) as pool, ai.Session(double, device="sim") as session:
        session.infer(ONE)
        assert pool.stats().active_bytes > 0
        with pytest.raises(InvalidOptionError, match=r"pool_bytes: got 8388608.*open with 16777216"):
            ai.Session(double, device="sim", pool_bytes=8 * MIB)
        ai.Session(double, device="sim", pool_bytes=16 * MIB).close()


def test_the_pool_of_a_session_may_be_given_to_another(machine: Simulator, double: Path) -> None:
    with ai.Session(double, device="sim") as first:
        with ai.Session(double, device="sim", memory_pool=first.memory_pool) as second:
            assert second.infer(ONE)["y"][0, 0] == 2
        pool = first.memory_pool
        assert pool is not None
        pool.close()
        assert not pool.closed
        assert first.infer(ONE)["y"][0, 0] == 2
    assert pool.closed
    with pytest.raises(ClosedError, match="memory pool of sim:0 is closed"):
        ai.Session(double, device="sim", memory_pool=pool)


def test_a_pool_beside_a_session_of_other_sizes(machine: Simulator, double: Path) -> None:
    with ai.Session(double, device="sim", pool_bytes=8 * MIB) as session:
        for made_otherwise in (
            lambda: ai.MemoryPool("sim:0", 16 * MIB),
            lambda: ai.MemoryPool("sim:0", 8 * MIB, growable=False),
            lambda: ai.MemoryPool("sim:0", 8 * MIB, pinned_bytes=MIB),
        ):
            with pytest.raises(InvalidOptionError, match="open with 8388608 bytes, pinned no size stated"):
                made_otherwise()
        # Of the same size it is the same pool, and the other card has its own.
        with ai.MemoryPool("sim:0", 8 * MIB) as same, ai.MemoryPool("sim:1", 16 * MIB) as other:
            assert same.stats().active_bytes > 0
            assert other.stats().active_bytes == 0
        assert session.infer(ONE)["y"][0, 0] == 2
    with ai.MemoryPool("sim:0", 16 * MIB) as pool:
        assert 16 * MIB <= pool.stats().reserved_bytes <= 18 * MIB


def test_results_that_lie_in_the_old_pools(machine: Simulator, tmp_path: Path) -> None:
    model = made.scale(2.0, ("n", 4096))
    folder = made.model_directory(tmp_path, "wide", model, CONFIG)
    with ai.Session(folder, device="sim") as session:
        kept = session.infer(np.ones((2, 4096), np.float32))["y"]
    with pytest.raises(InvalidOptionError, match="results of a closed session"):
        ai.MemoryPool("sim:0", 16 * MIB)
    assert kept[0, 0] == 2
    del kept
    ai.MemoryPool("sim:0", 16 * MIB).close()


def test_a_pool_closed_before_its_sessions(machine: Simulator, double: Path) -> None:
    pool = ai.MemoryPool("sim:0", 16 * MIB, growable=False)
    session = ai.Session(double, device="sim", memory_pool=pool)
    pool.close()
    pool.close()
    assert pool.closed
    assert session.infer(ONE)["y"][0, 0] == 2
    assert pool.stats().active_bytes > 0
    with pytest.raises(ClosedError, match="memory pool of sim:0 is closed"):
        ai.Session(double, device="sim", memory_pool=pool)
    # Who states nothing shares what is there.
    with ai.Session(double, device="sim") as other:
        assert other.infer(ONE)["y"][0, 0] == 2
    session.close()
    assert machine.stats().devices[0].allocations == 0
    assert pool.stats().reserved_bytes == 0


def test_one_pool_for_each_device(machine: Simulator, tmp_path: Path) -> None:
    folder = network(tmp_path, "both", 2, CONFIG + BOTH)
    with ai.MemoryPool("sim:0", 8 * MIB) as first, ai.MemoryPool("sim:1", 16 * MIB) as second:
        with ai.Session(folder, device="sim", memory_pool=[second, first]) as session:
            assert {device: pool.stats() for device, pool in session.memory_pools.items()} == {
                "sim:0": first.stats(),
                "sim:1": second.stats(),
            }
            assert session.infer(ONE)["y"][0, 0] == 2
        for given in (first, [first, first], [first, second, second]):
            with pytest.raises(InvalidOptionError, match="one pool for each device"):
                ai.Session(folder, device="sim", memory_pool=given)
        with pytest.raises(InvalidOptionError, match=r"a pool of sim:1, and the model runs on sim:0"):
            ai.Session(folder, device="sim:0", memory_pool=second)
        with pytest.raises(InvalidOptionError, match="the model runs on cpu"):
            ai.Session(folder, device="cpu", memory_pool=first)


def test_a_pool_given_in_place_of_the_configurations(machine: Simulator, tmp_path: Path) -> None:
    stated = 'parameters { key: "memory_pool_bytes" value: { string_value: "4194304" } }'
    folder = network(tmp_path, "stated", 2, CONFIG + stated)
    with ai.Session(folder, device="sim") as session:
        assert session.memory_pool is not None
        assert session.memory_pool.stats().reserved_bytes >= 4 * MIB
    with ai.MemoryPool("sim:0", 16 * MIB) as pool:
        with pytest.raises(InvalidOptionError, match="pool_bytes: got 4194304"):
            ai.Session(folder, device="sim")
        ai.Session(folder, device="sim", memory_pool=pool).close()


@pytest.mark.parametrize(
    ("make", "option"),
    [
        (lambda: ai.MemoryPool("cpu", MIB), "device"),
        (lambda: ai.MemoryPool("gpu", MIB), "device"),
        (lambda: ai.MemoryPool("sim", 0), "nbytes"),
        (lambda: ai.MemoryPool("sim", "2G"), "nbytes"),  # type: ignore[arg-type]
        (lambda: ai.MemoryPool("sim", True), "nbytes"),
        (lambda: ai.MemoryPool("sim", None), "nbytes"),  # type: ignore[arg-type]
        (lambda: ai.MemoryPool("sim", MIB, limit_bytes=-1), "limit_bytes"),
        (lambda: ai.MemoryPool("sim", MIB, growable=False, limit_bytes=MIB), "limit_bytes"),
        (lambda: ai.MemoryPool("sim", MIB, pinned_growable=False), "pinned_growable"),
        (lambda: ai.MemoryPool("sim", MIB, pinned_bytes=1.5), "pinned_bytes"),  # type: ignore[arg-type]
    ],
)
def test_options_that_cannot_be(machine: Simulator, make: Any, option: str) -> None:
    with pytest.raises(InvalidOptionError) as caught:
        make()
    assert caught.value.option == option


def test_too_many_bytes(machine: Simulator) -> None:
    with pytest.raises(InvalidOptionError, match=f"nbytes: got {2**62}, expected .* from 1 to {2**62 - 1}$"):
        ai.MemoryPool("sim", 2**62)


def test_a_limit_below_the_size(machine: Simulator) -> None:
    with pytest.raises(InvalidOptionError, match="more than limit_bytes"):
        ai.MemoryPool("sim", 2 * MIB, limit_bytes=MIB)
    acl.nothing_left(machine)


def test_a_device_that_is_not_there(machine: Simulator) -> None:
    with pytest.raises(DeviceNotFoundError, match="has 2 devices"):
        ai.MemoryPool("sim:2", MIB)


@pytest.mark.parametrize("given", [3, "pool", [None], {"sim:0": None}])
def test_what_is_no_pool(machine: Simulator, double: Path, given: Any) -> None:
    with pytest.raises(InvalidOptionError, match="memory_pool"):
        ai.Session(double, device="sim", memory_pool=given)


def test_a_pool_and_sizes(machine: Simulator, double: Path) -> None:
    with ai.MemoryPool("sim", MIB) as pool:
        for sizes in ({"pool_bytes": MIB}, {"pinned_pool_bytes": MIB}):
            with pytest.raises(InvalidOptionError, match="no pool_bytes or pinned_pool_bytes beside it"):
                ai.Session(double, device="sim", memory_pool=pool, **sizes)


def test_neither_copied_nor_pickled(machine: Simulator, double: Path) -> None:
    with (
        ai.MemoryPool("sim", 16 * MIB) as pool,
        ai.Session(double, device="sim", memory_pool=pool) as session,
    ):
        for thing in (pool, session):
            with pytest.raises(CopyError, match="this process"):
                pickle.dumps(thing)
        with pytest.raises(CopyError):
            copy.copy(pool)


def test_what_it_shows(machine: Simulator, double: Path) -> None:
    with ai.MemoryPool("sim", 15 * MIB, growable=False) as pool:
        assert repr(pool) == "<MemoryPool of sim:0: 0 bytes of 16.0 MiB in use, fixed>"
        with ai.Session(double, device="sim", memory_pool=pool) as session:
            assert session.memory_pool is not None
            for shown in (pool._repr_html_(), session.memory_pool._repr_html_()):
                assert "MemoryPool of sim:0" in shown
                assert "<td style='text-align:left'>weights of double</td>" in shown
                assert "256.5 KiB" in shown
                assert "16.0 MiB" in shown
        pool.start_recording()
        ai.Session(double, device="sim", memory_pool=pool).close()
        history = pool.stop_recording().split("\n")
        number, size = history[0].removeprefix("+ ").split()
        assert (number, int(size) >= 256 * 256 * 4) == ("1", True)
        assert "- 1" in history
    assert repr(pool).endswith("closed>")


def test_a_dropped_pool_is_given_back_with_a_warning(machine: Simulator, double: Path) -> None:
    pool = ai.MemoryPool("sim", 16 * MIB)
    with pytest.warns(UnclosedResourceWarning, match="memory pool of sim:0"):
        del pool
    with ai.MemoryPool("sim", 8 * MIB):
        pass


def test_a_session_opened_while_another_thread_closes_the_pool(machine: Simulator, double: Path) -> None:
    ai.Session(double, device="sim").close()  # compiled
    outcomes: list[str] = []
    for _ in range(10):
        pool = ai.MemoryPool("sim", 16 * MIB, growable=False)
        closer = threading.Thread(target=pool.close)
        closer.start()
        try:
            with ai.Session(double, device="sim", memory_pool=pool) as session:
                assert session.infer(ONE)["y"][0, 0] == 2
                assert pool.stats().reserved_bytes >= 16 * MIB
                outcomes.append("open")
        except ClosedError:
            outcomes.append("closed")
        closer.join()
    assert len(outcomes) == 10


@pytest.mark.parametrize("function", ["aclrtSetDevice", "aclrtMalloc", "aclrtMallocHost"])
def test_a_pool_that_cannot_be_opened_leaves_nothing(function: str) -> None:
    with Simulator(SimulatorOptions(faults=f"{function}@1=507899")) as simulator:
        with pytest.raises(AclError) as caught:
            ai.MemoryPool("sim", MIB, pinned_bytes=MIB)
        assert caught.value.function == function
        acl.nothing_left(simulator)
        ai.MemoryPool("sim", MIB, pinned_bytes=MIB).close()
        acl.nothing_left(simulator)
