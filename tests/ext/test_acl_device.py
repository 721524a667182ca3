"""Devices: opened and given back, the caller's own context left alone, pools over their memory."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable, Iterator
from typing import Any

import acl_models as acl
import numpy as np
import onnx_models as made
import pytest

from ascend_infer import _native
from ascend_infer.errors import (
    AclError,
    AclResourceError,
    ClosedError,
    CopyError,
    DeviceOutOfMemoryError,
    HostOutOfMemoryError,
    InvalidOptionError,
)
from ascend_infer.simulator import Simulator, SimulatorOptions


@pytest.fixture
def simulator() -> Iterator[Simulator]:
    with Simulator(SimulatorOptions(devices=2, hbm_bytes=64 << 20)) as running:
        yield running
        acl.nothing_left(running)


class Host:
    """A program that uses ACL by itself, as torch_npu would."""

    def __init__(self, library: str) -> None:
        self.c = ctypes.CDLL(library)

    def context(self) -> int | None:
        found = ctypes.c_void_p()
        return found.value if self.c.aclrtGetCurrentContext(ctypes.byref(found)) == 0 else None

    def call(self, name: str, *arguments: Any) -> None:
        assert getattr(self.c, name)(*arguments) == 0, name


def test_what_a_device_says_of_itself(simulator: Simulator) -> None:
    with acl.open_device(simulator.library, index=1) as opened:
        device = opened.device
        assert opened.library.device_count() == 2
        assert (device.index, device.soc_name, device.unified) == (1, "Ascend310P3", False)
        free, total, kind = device.memory()
        assert (total, kind) == (64 << 20, "HBM")
        assert 0 < free <= total
        utilization = device.utilization()
        assert utilization is not None
        assert 0 <= utilization <= 1
        assert device.library == opened.library
        device.synchronise()
        with pytest.raises(CopyError):
            device.__reduce__()
        assert "1" in repr(device)


def test_devices_that_are_not_there(simulator: Simulator) -> None:
    library = _native.open_acl_library(simulator.library, global_symbols=False)
    for index in (2, -1, 10**6):
        with pytest.raises(InvalidOptionError, match="counts 2"):
            _native.open_acl_device(library, index)


def test_closing_is_idempotent_and_ends_use(simulator: Simulator) -> None:
    opened = acl.OpenDevice(simulator.library)
    opened.close()
    opened.device.close()
    assert opened.device.closed
    uses: list[Callable[[], object]] = [
        opened.device.memory,
        opened.device.synchronise,
        lambda: opened.pool.allocate(1),
        lambda: opened.device.model_sizes("x.om"),
    ]
    for use in uses:
        with pytest.raises(ClosedError):
            use()


def test_acl_is_given_back_with_the_last_device(simulator: Simulator) -> None:
    with acl.open_device(simulator.library), acl.open_device(simulator.library, index=1):
        assert simulator.stats().initialized == 1
    assert simulator.stats().initialized == 0


def test_the_hosts_own_context_stays(simulator: Simulator, tmp_path: Any) -> None:
    path = acl.compiled(tmp_path, made.scale(2.0, (1, 4)))
    host = Host(simulator.library)
    host.call("aclInit", None)
    own = ctypes.c_void_p()
    host.call("aclrtCreateContext", ctypes.byref(own), 1)
    assert host.context() == own.value
    seen = []
    with acl.open_device(simulator.library) as opened:
        seen.append(host.context())
        opened.device.memory()
        seen.append(host.context())
        with opened.instance(path) as instance:
            seen.append(host.context())
            instance.run([np.ones((1, 4), np.float32)], -1, acl.wanted((0, (1, 4))))
            seen.append(host.context())
        seen.append(host.context())
    seen.append(host.context())
    assert seen == [own.value] * len(seen)
    # We went, the host's ACL did not.
    assert simulator.stats().initialized == 1
    host.call("aclrtDestroyContext", own)
    host.call("aclFinalize")


def test_a_host_that_comes_later_and_leaves_first(simulator: Simulator, tmp_path: Any) -> None:
    path = acl.compiled(tmp_path, made.scale(2.0, (1, 4)))
    host = Host(simulator.library)
    with acl.open_device(simulator.library) as opened, opened.instance(path) as instance:
        assert host.c.aclInit(None) == 100002
        host.call("aclrtSetDevice", 0)
        host.call("aclrtResetDevice", 0)
        assert host.c.aclFinalizeReference(ctypes.byref(ctypes.c_uint64())) == 0
        [got] = instance.run([np.ones((1, 4), np.float32)], -1, acl.wanted((0, (1, 4))))
        assert got.tolist() == [[2.0] * 4]


def test_any_thread_may_use_a_device(simulator: Simulator, tmp_path: Any) -> None:
    path = acl.compiled(tmp_path, made.scale(2.0, (1, 4)))
    results: list[float] = []
    with acl.open_device(simulator.library) as opened, opened.instance(path) as instance:

        def work() -> None:
            [got] = instance.run([np.full((1, 4), 3, np.float32)], -1, acl.wanted((0, (1, 4))))
            results.append(float(got[0, 0]))

        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert results == [6.0] * 4


def test_pools_take_their_memory_from_the_device(simulator: Simulator) -> None:
    with acl.open_device(simulator.library) as opened:
        free = opened.device.memory()[0]
        block = opened.pool.allocate(3 << 20, "weights of net")
        assert opened.device.memory()[0] <= free - (3 << 20)
        assert not opened.pool.host_accessible
        assert opened.pinned.host_accessible
        pinned = opened.pinned.allocate(100)
        memoryview(pinned)[0] = 7
        opened.pool.allocate(1 << 20).free()
        before = simulator.stats().calls["aclrtMalloc"]
        for _ in range(50):
            opened.pool.allocate(1 << 20).free()
        assert simulator.stats().calls["aclrtMalloc"] == before
        with pytest.raises(DeviceOutOfMemoryError, match="weights of net") as caught:
            opened.pool.allocate(1 << 30)
        assert caught.value.needed == 1 << 30
        block.free()
        pinned.free()


def test_pinned_memory_that_is_short_is_the_hosts(simulator: Simulator) -> None:
    simulator.set_faults("aclrtMallocHost@*=207001")
    with acl.open_device(simulator.library) as opened, pytest.raises(HostOutOfMemoryError):
        opened.pinned.allocate(100)


def test_another_failure_of_the_allocator_is_told_as_it_is(simulator: Simulator) -> None:
    simulator.set_faults("aclrtMalloc@*=207006")
    with acl.open_device(simulator.library) as opened, pytest.raises(AclError) as caught:
        opened.pool.allocate(100)
    assert (caught.value.code, caught.value.function) == (207006, "aclrtMalloc")


@pytest.mark.parametrize("function", ["aclInit", "aclrtGetDeviceCount", "aclrtSetDevice", "aclrtGetRunMode"])
def test_a_device_that_does_not_open_leaves_nothing(simulator: Simulator, function: str) -> None:
    library = _native.open_acl_library(simulator.library, global_symbols=False)
    simulator.set_faults(f"{function}@*=207005")
    with pytest.raises(AclResourceError) as caught:
        _native.open_acl_device(library, 0)
    assert caught.value.function == function
    assert simulator.stats().initialized == 0
    simulator.set_faults("")
    with acl.open_device(simulator.library) as opened:
        opened.device.memory()


def test_a_chip_without_hbm_counts_its_ddr(simulator: Simulator) -> None:
    with acl.open_device(simulator.library) as opened:
        simulator.set_faults("aclrtGetMemInfo@1=107000")
        free, total, kind = opened.device.memory()
        assert kind == "DDR"
        assert free <= total
