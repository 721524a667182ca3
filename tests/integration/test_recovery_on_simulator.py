"""Instances that a device fault ends: loaded anew while others serve; devices that are lost."""

from __future__ import annotations

import gc
import importlib.util
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from held_model import until
from scale_model import CARD_CONFIG, ONE, card_scale

import ascend_infer as ai
from ascend_infer.errors import AclError, AclInternalError, DeviceLostError, InstanceUnavailableError
from ascend_infer.simulator import Simulator, SimulatorOptions

if importlib.util.find_spec("onnxruntime") is None:
    pytest.skip("onnxruntime is not installed", allow_module_level=True)

LOADS = "aclmdlLoadFromFileWithMem"


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ASCEND_INFER_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def machine() -> Iterator[Simulator]:
    with Simulator(SimulatorOptions(devices=2)) as simulator:
        yield simulator
        gc.collect()
        assert simulator.live_handles() == []
        assert simulator.stats().violations == {}


@pytest.fixture
def scale(tmp_path: Path) -> Path:
    return card_scale(tmp_path)


def grouped(folder: Path, group: str) -> Path:
    (folder / "config.pbtxt").write_text(CARD_CONFIG + f"instance_group [ {group} ]\n")
    return folder


def next_call(machine: Simulator, name: str, ahead: int = 1) -> str:
    """Name a call of a fault plan, counted from now."""
    return f"{name}@{machine.stats().calls.get(name, 0) + ahead}"


def states(session: ai.Session) -> list[str]:
    return [instance.state for instance in session._opened().scheduler.instances]


@pytest.mark.parametrize("way", ["infer", "submit"])
def test_a_faulted_instance_is_loaded_anew_while_the_other_serves(
    machine: Simulator, scale: Path, way: str
) -> None:
    grouped(scale, "{ count: 2 kind: KIND_GPU gpus: [0] }")
    with ai.Session(scale, device="sim") as session:
        session.infer(ONE)
        loads = machine.stats().calls[LOADS]
        machine.set_faults(
            f"{next_call(machine, 'aclmdlExecuteAsync')}=async:507015; {next_call(machine, LOADS)}=slow:700ms"
        )
        with pytest.raises(AclInternalError) as caught:
            session.infer(ONE) if way == "infer" else session.submit(ONE).result()
        assert caught.value.code == 507015
        until(lambda: "RELOADING" in states(session))
        served = 0
        while "RELOADING" in states(session):
            result = session.infer(ONE) if way == "infer" else session.submit(ONE).result()
            assert np.array_equal(result["y"], 2 * ONE)
            served += result.timing.total_ns < 350_000_000
        assert served
        until(lambda: states(session) == ["READY", "READY"])
        assert machine.stats().calls[LOADS] == loads + 1
        # And without a request that had to wait for it, both serve.
        for _ in range(8):
            assert np.array_equal(session.submit(ONE).result()["y"], 2 * ONE)


def test_what_is_queued_waits_for_the_only_instance(machine: Simulator, scale: Path) -> None:
    with ai.Session(scale, device="sim", slots=1, batching=True) as session:
        session.infer(ONE)
        slow, faulty = (next_call(machine, "aclmdlExecuteAsync", ahead) for ahead in (1, 2))
        machine.set_faults(f"{slow}=slow:300ms; {faulty}=async:507015")
        first = session.submit(ONE)
        until(lambda: session._opened().scheduler.queue.running == 1)
        behind = [session.submit(ONE * i) for i in range(7)]
        first.result()
        # Four of them are the batch that the fault ends.
        for future in behind[:4]:
            with pytest.raises(AclInternalError):
                future.result()
        for i in range(4, 7):
            assert np.array_equal(behind[i].result()["y"], 2 * ONE * i)
        until(lambda: states(session) == ["READY"])


def test_an_instance_that_cannot_be_loaded_anew_leaves_the_work_to_the_other(
    machine: Simulator, scale: Path
) -> None:
    grouped(scale, "{ count: 2 kind: KIND_GPU gpus: [0] }")
    with ai.Session(scale, device="sim") as session:
        machine.set_faults(f"{next_call(machine, 'aclmdlExecuteAsync')}=async:507015; {LOADS}@*=507899")
        with pytest.raises(AclInternalError):
            session.infer(ONE)
        until(lambda: "UNAVAILABLE" in states(session))
        for _ in range(6):
            assert np.array_equal(session.infer(ONE)["y"], 2 * ONE)
        [reason] = [i.reason for i in session._opened().scheduler.instances if i.reason]
        assert "507899" in reason
        machine.set_faults("")


def test_the_only_instance_is_tried_again_by_each_request(machine: Simulator, scale: Path) -> None:
    with ai.Session(scale, device="sim") as session:
        machine.set_faults(f"{next_call(machine, 'aclmdlExecuteAsync')}=async:507015; {LOADS}@*=507899")
        with pytest.raises(AclInternalError):
            session.infer(ONE)
        with pytest.raises(AclError) as caught:
            session.submit(ONE).result()
        assert caught.value.code == 507899
        machine.set_faults("")
        until(lambda: np.array_equal(attempt(session), 2 * ONE))


def attempt(session: ai.Session) -> object:
    try:
        return session.submit(ONE).result()["y"]
    except AclError:
        return None


@pytest.mark.parametrize("way", ["infer", "submit"])
def test_a_lost_device_leaves_the_work_to_the_others(machine: Simulator, scale: Path, way: str) -> None:
    grouped(scale, "{ count: 2 kind: KIND_GPU gpus: [0, 1] }")
    with ai.Session(scale, device="sim") as session:

        def call() -> ai.InferResult:
            return session.infer(ONE) if way == "infer" else session.submit(ONE).result()

        def failed() -> bool:
            try:
                assert np.array_equal(call()["y"], 2 * ONE)
            except DeviceLostError:
                return True
            return False

        call()
        instances = session._opened().scheduler.instances
        lost = [instance for instance in instances if instance.device == "sim:0"]
        machine.set_faults("device:0@lost")
        # Both devices take turns; who is on the lost one hears of it.
        futures = [session.submit(ONE) for _ in range(16)]
        failures = sum(future.exception() is not None for future in futures)
        if not failures:
            until(failed)
        until(lambda: all(instance.state == "UNAVAILABLE" for instance in lost))
        assert all("device sim:0 is lost" in instance.reason for instance in lost)
        for _ in range(8):
            assert np.array_equal(call()["y"], 2 * ONE)
        ready, unavailable, *_ = session._opened().scheduler.occupation()
        assert (ready, unavailable) == (2, 2)
        assert {item.device for item in session.instances if item.state == "UNAVAILABLE"} == {"sim:0"}
        assert all("sim:0 is lost" in reason for reason in session.stats().unavailable.values())

        machine.set_faults("device:0@lost; device:1@lost")
        until(failed)
        until(lambda: ready_count(session) == 0)
        with pytest.raises(InstanceUnavailableError, match=r"device sim:0 is lost: .*; device sim:1 is lost"):
            call()


def ready_count(session: ai.Session) -> int:
    return states(session).count("READY")
