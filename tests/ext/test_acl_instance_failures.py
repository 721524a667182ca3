"""Instances when things go wrong: batches that are let go, faults, failures of one batch among others, closing."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import acl_models as acl
import numpy as np
import onnx_models as made
import pytest

from ascend_infer import _native
from ascend_infer.acl_codes import acl_codes, device_fault
from ascend_infer.errors import (
    AclError,
    AclInternalError,
    AclTimeoutError,
    ClosedError,
    RequestCancelledError,
)
from ascend_infer.simulator import Simulator, SimulatorOptions


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
def static(device: acl.OpenDevice, tmp_path: Path) -> Iterator[_native.AclInstance]:
    path = acl.compiled(tmp_path, made.scale(2.0, (2, 4)))
    with device.instance(path) as instance:
        yield instance


def calls(simulator: Simulator, since: int = 0) -> list[str]:
    return [line.split()[2] for line in simulator.call_log()[since:]]


def test_a_batch_can_be_let_go_and_the_next_one_works(
    static: _native.AclInstance, device: acl.OpenDevice, simulator: Simulator
) -> None:
    given = np.ones((2, 4), np.float32)
    idle = device.pinned.stats().active_blocks
    simulator.set_faults("aclmdlExecuteAsync@1=slow:300ms")
    asked: list[int] = []

    def go_on() -> bool:
        asked.append(1)
        return False

    with pytest.raises(RequestCancelledError):
        static.run([given], -1, acl.wanted((0, (2, 4)), leased=True), go_on)
    assert asked
    # The device still writes into that batch's memory: nobody else has got it.
    assert device.pinned.stats().active_blocks == idle + 1
    for factor in (3, 4, 5):
        [got] = static.run([given * factor], -1, acl.wanted((0, (2, 4))))
        assert got[0, 0] == 2 * factor


def test_what_a_poll_raises_arrives(static: _native.AclInstance, simulator: Simulator) -> None:
    simulator.set_faults("aclmdlExecuteAsync@1=slow:200ms")

    def go_on() -> bool:
        raise LookupError("asked")

    with pytest.raises(LookupError, match="asked"):
        static.run([np.ones((2, 4), np.float32)], -1, acl.wanted((0, (2, 4))), go_on)


def test_a_device_fault_retires_the_instance(static: _native.AclInstance, simulator: Simulator) -> None:
    simulator.set_faults("aclmdlExecuteAsync@2=async:507015")
    given = np.ones((2, 4), np.float32)
    static.run([given], -1, acl.wanted((0, (2, 4))))
    with pytest.raises(AclInternalError) as caught:
        static.run([given], -1, acl.wanted((0, (2, 4))))
    assert caught.value.code == 507015
    assert static.retired
    since = len(simulator.call_log())
    with pytest.raises(AclInternalError, match="507015"):
        static.run([given], -1, acl.wanted((0, (2, 4))))
    assert "aclmdlExecuteAsync" not in calls(simulator, since)


def test_another_failure_leaves_it_running(static: _native.AclInstance, simulator: Simulator) -> None:
    simulator.set_faults("aclmdlExecuteAsync@1=145000; aclmdlExecuteAsync@2=async:507023")
    given = np.ones((2, 4), np.float32)
    for code in (145000, 507023):
        with pytest.raises(AclError) as caught:
            static.run([given], -1, acl.wanted((0, (2, 4))))
        assert caught.value.code == code
        assert not static.retired
    assert static.run([given], -1, acl.wanted((0, (2, 4))))[0][0, 0] == 2


def test_which_codes_retire_is_said_once() -> None:
    for code in acl_codes():
        assert _native._retires_instance(code) == device_fault(code), code


def test_each_failure_reaches_its_own_batch(tmp_path: Path) -> None:
    """Every third run fails; whoever runs it hears of it, and nobody else."""
    path = acl.compiled(tmp_path, made.scale(2.0, (1, 4)))
    with (
        Simulator(
            SimulatorOptions(
                faults="; ".join(f"aclmdlExecuteAsync@{3 * i}=async:507023" for i in range(1, 31))
            )
        ) as simulator,
        acl.open_device(simulator.library) as opened,
        opened.instance(path, slots=3) as instance,
    ):
        wrong: list[object] = []
        failed: list[int] = []

        def work(number: int) -> None:
            for step in range(30):
                value = np.full((1, 4), number * 100 + step, np.float32)
                try:
                    [got] = instance.run([value], -1, acl.wanted((0, (1, 4))))
                    if not np.array_equal(got, value * 2):
                        wrong.append((value[0, 0], got))
                except AclError as error:
                    failed.append(error.code or 0)

        threads = [threading.Thread(target=work, args=(number,)) for number in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert wrong == []
        assert failed == [507023] * 30


def test_closing_waits_for_what_runs(static: _native.AclInstance, simulator: Simulator) -> None:
    simulator.set_faults("aclmdlExecuteAsync@1=slow:200ms")
    results: list[Any] = []
    given = np.ones((2, 4), np.float32)
    begun = threading.Event()

    def work() -> None:
        begun.set()
        try:
            results.extend(static.run([given], -1, acl.wanted((0, (2, 4)))))
        except ClosedError as error:  # close came first
            results.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    assert begun.wait(30)
    static.close()
    thread.join()
    assert len(results) == 1
    with pytest.raises(ClosedError):
        static.run([given], -1, acl.wanted((0, (2, 4))))
    static.close()


def test_closing_can_be_bounded(static: _native.AclInstance, simulator: Simulator) -> None:
    simulator.set_faults("aclmdlExecuteAsync@1=slow:400ms")
    with pytest.raises(RequestCancelledError):
        static.run([np.ones((2, 4), np.float32)], -1, acl.wanted((0, (2, 4))), lambda: False)
    with pytest.raises(AclTimeoutError):
        static.close(1)
    assert not static.closed
    static.close()
    assert static.closed
