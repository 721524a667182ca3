"""Batches that a card does not finish: their instance leaves service until it does, and closing does not wait."""

from __future__ import annotations

import gc
import importlib.util
import logging
from collections.abc import Iterator
from pathlib import Path

import pytest
from held_model import LIMIT, until
from scale_model import CARD_CONFIG, ONE, card_scale

import ascend_infer as ai
from ascend_infer.errors import DeadlineExceededError, DeviceLostError, InstanceUnavailableError
from ascend_infer.simulator import Simulator, SimulatorOptions

if importlib.util.find_spec("onnxruntime") is None:
    pytest.skip("onnxruntime is not installed", allow_module_level=True)


@pytest.fixture
def machine() -> Iterator[Simulator]:
    with Simulator(SimulatorOptions(devices=2)) as simulator:
        yield simulator
        gc.collect()
        until(lambda: simulator.live_handles() == [])


@pytest.fixture
def scale(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("ASCEND_INFER_CACHE", str(tmp_path / "cache"))
    return card_scale(tmp_path)


def hang(machine: Simulator, session: ai.Session, seconds: float) -> None:
    """Have the next batch take so long, and leave it."""
    session.infer(ONE)
    ahead = machine.stats().calls["aclmdlExecuteAsync"] + 1
    machine.set_faults(f"aclmdlExecuteAsync@{ahead}=slow:{seconds}s")
    session._opened().scheduler._hangs._patience = 0.0
    with pytest.raises(DeadlineExceededError):
        session.infer(ONE, timeout=0.05)


def usable(session: ai.Session) -> int:
    return session._opened().scheduler.queue.usable


@pytest.mark.parametrize("slots", [1, 2])
def test_an_instance_whose_card_hangs_leaves_service_until_it_goes_on(
    machine: Simulator, scale: Path, slots: int, caplog: pytest.LogCaptureFixture
) -> None:
    with ai.Session(scale, device="sim", slots=slots) as session, caplog.at_level(logging.WARNING):
        hang(machine, session, 1.0)
        until(lambda: usable(session) == 0)
        with pytest.raises(InstanceUnavailableError, match="no instance is in service"):
            session.infer(ONE)
        page = [line for line in ai.metrics.text().splitlines() if line.startswith("ascend_instances{")]
        assert [(line.split('state="')[1].split('"')[0], line[-2:]) for line in sorted(page)] == [
            ("ready", " 0"),
            ("unavailable", " 1"),
        ]
        [instance] = session.instances
        assert (instance.state, instance.reason) == (
            "UNAVAILABLE",
            "a run that nobody waits for any more goes on",
        )
        stats = session.stats()
        assert stats.unavailable == {"scale_0": instance.reason}
        assert stats.since_load.failures == {"OTHER": 2}  # the one that was left, and the one refused
        until(lambda: usable(session) == slots)
        assert (session.instances[0].state, session.instances[0].reason) == ("READY", "")
        assert session.stats().unavailable == {}
        assert session.infer(ONE)["y"][0, 0] == 2
        assert "out of service until it ends" in caplog.text
        assert "in service again" in caplog.text


def test_another_instance_serves_meanwhile(machine: Simulator, scale: Path) -> None:
    group = "instance_group [ { count: 1 kind: KIND_GPU gpus: [0, 1] } ]\n"
    (scale / "config.pbtxt").write_text(CARD_CONFIG + group)
    with ai.Session(scale, device="sim", slots=1) as session:
        hang(machine, session, 1.0)
        until(lambda: usable(session) == 1)
        for _ in range(20):
            assert session.infer(ONE, timeout=LIMIT)["y"][0, 0] == 2
        until(lambda: usable(session) == 2)


def test_a_run_that_was_left_and_ended_takes_nothing_out_of_service(
    machine: Simulator, scale: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with ai.Session(scale, device="sim", slots=1) as session:
        hang(machine, session, 0.1)
        assert session.infer(ONE)["y"][0, 0] == 2  # behind the one that was left
        watch = session._opened().scheduler._hangs
        until(lambda: not watch._looked_at)
        assert usable(session) == 1
        assert watch.look(session._opened().scheduler._lanes[0]) == 0


def test_closing_does_not_wait_for_a_card_that_hangs(
    machine: Simulator, scale: Path, caplog: pytest.LogCaptureFixture
) -> None:
    session = ai.Session(scale, device="sim", slots=2)
    hang(machine, session, 3.0)
    session.close(timeout=0.0)
    assert "goes on with a run" in caplog.text
    assert machine.live_handles() != []  # given back when it ends: the fixture waits for that
    assert "scale" not in "".join(
        line for line in ai.metrics.text().splitlines() if line.startswith("ascend_instances")
    )


def test_what_a_block_raises_is_not_hidden_by_a_lost_card(
    machine: Simulator, scale: Path, caplog: pytest.LogCaptureFixture
) -> None:
    def loses_its_card() -> None:
        with ai.Session(scale, device="sim:1") as session:
            session.infer(ONE)
            machine.set_faults("device:1@lost")
            raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        loses_its_card()
    assert "that failed too" in caplog.text
    assert "nv_inference_count{" not in ai.metrics.text()


def test_a_lost_card_is_told_by_close_where_nothing_else_was_raised(machine: Simulator, scale: Path) -> None:
    session = ai.Session(scale, device="sim:1")
    session.infer(ONE)
    machine.set_faults("device:1@lost")
    with pytest.raises(DeviceLostError):
        session.close()
    session.close()
    assert "nv_inference_count{" not in ai.metrics.text()
