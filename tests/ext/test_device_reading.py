"""What metrics read of a device and its pools, on the simulated card."""

from __future__ import annotations

from collections.abc import Iterator

import acl_models as acl
import pytest

from ascend_infer.metrics.readings import read_device
from ascend_infer.metrics.registry import Registry
from ascend_infer.simulator import Simulator, SimulatorOptions


@pytest.fixture
def simulator() -> Iterator[Simulator]:
    with Simulator(SimulatorOptions(devices=1, hbm_bytes=64 << 20)) as running:
        yield running
        acl.nothing_left(running)


def test_a_device_and_its_pools(simulator: Simulator) -> None:
    with acl.open_device(simulator.library) as opened:
        block = opened.pool.allocate(1000, "weights of net")
        found = read_device(opened)
        assert found.memory_total_bytes == 64 << 20
        assert found.memory_used_bytes is not None
        assert found.memory_used_bytes >= 2 << 20  # the pool's first region
        assert found.utilization is not None
        assert found.pool is not None
        assert found.pool.stats.active_bytes == 1536
        assert [owner.name for owner in found.pool.owners] == ["weights of net"]
        assert found.pinned is not None
        assert found.pinned.stats.reserved_bytes == 0
        assert found.power_watts is None
        block.free()


def test_a_device_that_is_gone_is_left_out(simulator: Simulator) -> None:
    with acl.open_device(simulator.library) as opened:
        pass
    found = read_device(opened)
    assert found.memory_total_bytes is found.utilization is None
    registry = Registry()
    with registry.register("net", 1, devices={"sim:0": lambda: read_device(opened)}):
        assert registry.read().devices["sim:0"].memory_used_bytes is None
