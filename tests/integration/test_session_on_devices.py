"""Sessions whose instances are on several devices, on a simulated machine with two cards."""

from __future__ import annotations

import gc
import importlib.util
import logging
import os
import pickle
import threading
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import acl_models as acl
import numpy as np
import onnx_models as made
import pytest
from onnx import TensorProto, helper

import ascend_infer as ai
from ascend_infer import metrics
from ascend_infer.backends.base import DeviceTarget
from ascend_infer.device import DeviceChoice
from ascend_infer.errors import DeviceNotFoundError, DeviceOutOfMemoryError
from ascend_infer.loading import load
from ascend_infer.options import SessionOptions
from ascend_infer.simulator import Simulator, SimulatorOptions

if importlib.util.find_spec("onnxruntime") is None:
    pytest.skip("onnxruntime is not installed", allow_module_level=True)

#: As people write it for Triton's GE backend.
STORY = """
name: "resnet50_ge"
platform: "ge"                      # 注释
max_batch_size: 8
input  [ { name: "images" data_type: TYPE_FP32 dims: [3, 8, 8] } ]
output [ { name: "prob"   data_type: TYPE_FP32 dims: [3, 8, 8] } ]
instance_group [ { count: 2 kind: KIND_GPU gpus: [0] }, { count: 2 kind: KIND_GPU gpus: [1] } ]
dynamic_batching { preferred_batch_size: [4, 8] max_queue_delay_microseconds: 100 }
"""
PICTURE = np.random.default_rng(0).random((1, 3, 8, 8), np.float32)


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ASCEND_INFER_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def machine() -> Iterator[Simulator]:
    with Simulator(SimulatorOptions(devices=2)) as simulator:
        yield simulator
        gc.collect()
        acl.nothing_left(simulator)


@pytest.fixture
def resnet(tmp_path: Path) -> Path:
    dims = ("n", 3, 8, 8)
    model = made.model_of(
        [helper.make_node("Mul", ["images", "two"], ["prob"])],
        [made.value("images", TensorProto.FLOAT, dims)],
        [made.value("prob", TensorProto.FLOAT, dims)],
        {"two": np.full((1, 3, 8, 8), 2, np.float32)},
    )
    return made.model_directory(tmp_path, "resnet50_ge", model, STORY)


def with_groups(folder: Path, groups: str, head: str = 'platform: "ge"') -> Path:
    (folder / "config.pbtxt").write_text(f"{head} max_batch_size: 8 {groups}")
    return folder


def test_story_a_runs_on_both_cards(machine: Simulator, resnet: Path) -> None:
    with ai.Session(resnet, device="sim") as session:
        assert session.device == "sim:0,sim:1"
        assert session.details["instances"] == "2 on sim:0, 2 on sim:1"
        assert machine.stats().models == 4
        loaded = session._core
        assert loaded is not None
        assert Counter(item.device for item in loaded.model.executables()) == {"sim:0": 2, "sim:1": 2}
        for item in loaded.model.executables():
            [got] = item.execute({"images": PICTURE}, ["prob"])
            assert np.array_equal(got, PICTURE * 2)
        del got
        assert "sim:0,sim:1" in repr(session)
        assert "would pad 5 -> 8" in str(session.explain(images=(5, 3, 8, 8)))
        wrong: list[int] = []

        def work(number: int) -> None:
            for step in range(25):
                given = np.full((1 + step % 8, 3, 8, 8), number * 100 + step, np.float32)
                if not np.array_equal(session.infer(given)["prob"], given * 2):
                    wrong.append(number)

        threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert not wrong


def test_weights_are_on_each_card_once(machine: Simulator, resnet: Path) -> None:
    with ai.Session(resnet, device="sim") as session:
        assert list(session.memory_pools) == ["sim:0", "sim:1"]
        assert session.memory_pool is not None
        for pool in session.memory_pools.values():
            names = sorted(owner.name for owner in pool.owners())
            assert len([name for name in names if name.startswith("weights")]) == 1
            assert len([name for name in names if name.startswith("slots")]) == 2
        assert session.memory_pool.owners() == session.memory_pools["sim:0"].owners()


def test_one_card_by_its_number_takes_all(
    machine: Simulator, resnet: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.INFO, "ascend_infer"), ai.Session(resnet, device="sim:1") as session:
        assert session.device == "sim:1"
        assert session.details["instances"] == "4"
        assert [device.sets for device in machine.stats().devices] == [0, 1]
    assert "sim:1 was asked for, so all 4 are there" in caplog.text


def test_one_group_may_name_the_second_card(machine: Simulator, resnet: Path) -> None:
    folder = with_groups(resnet, "instance_group { count: 2 kind: KIND_GPU gpus: [1] }")
    with ai.Session(folder, device="sim") as session:
        assert session.device == "sim:1"
        assert np.array_equal(session.infer(PICTURE)["prob"], PICTURE * 2)


def test_no_group_is_one_instance_on_the_first_card(machine: Simulator, resnet: Path) -> None:
    with ai.Session(with_groups(resnet, ""), device="sim") as session:
        assert (session.device, session.details["instances"]) == ("sim:0", "1")


def test_a_group_without_gpus_is_on_every_card(machine: Simulator, resnet: Path) -> None:
    with ai.Session(with_groups(resnet, "instance_group { kind: KIND_GPU }"), device="sim") as session:
        assert session.details["instances"] == "1 on sim:0, 1 on sim:1"


def test_device_ids_of_the_ge_backend(machine: Simulator, resnet: Path) -> None:
    groups = 'instance_group { count: 3 } parameters { key: "device_ids" value: { string_value: "1,0" } }'
    with ai.Session(with_groups(resnet, groups, 'backend: "npu_ge"'), device="sim") as session:
        assert session.details["instances"] == "2 on sim:1, 2 on sim:0"
        assert session.device == "sim:1,sim:0"


def test_instances_are_spread_over_the_cards(machine: Simulator, resnet: Path) -> None:
    with ai.Session(resnet, device="sim", instances=3) as session:
        assert session.details["instances"] == "2 on sim:0, 1 on sim:1"


def test_a_card_that_is_not_there(resnet: Path) -> None:
    with Simulator() as simulator:
        with pytest.raises(DeviceNotFoundError, match="on sim:1, and there is 1 device"):
            ai.Session(resnet, device="sim")
        acl.nothing_left(simulator)
        with ai.Session(resnet, device="sim:0") as session:
            assert session.details["instances"] == "4"


def test_a_card_that_does_not_take_it_leaves_nothing_on_the_other(tmp_path: Path, resnet: Path) -> None:
    with ai.Session(resnet, device="sim:0"):
        pass  # compiled
    for plan, kind in (
        ("aclmdlLoadFromFileWithMem@3=507899", ai.AscendInferError),
        ("aclrtSetDevice@2=507899", ai.AscendInferError),
        ("aclmdlLoadFromFileWithMem@3=207001", MemoryError),
    ):
        with Simulator(SimulatorOptions(devices=2, faults=plan)) as simulator:
            with pytest.raises(kind):
                ai.Session(resnet, device="sim")
            acl.nothing_left(simulator)
            with ai.Session(resnet, device="sim") as session:
                assert np.array_equal(session.infer(PICTURE)["prob"], PICTURE * 2)


def test_a_card_without_room(resnet: Path) -> None:
    with Simulator(SimulatorOptions(devices=2, hbm_bytes=6 << 20)) as simulator:
        with pytest.raises(DeviceOutOfMemoryError, match="sim:0"):
            ai.Session(resnet, device="sim", instances=1024)
        acl.nothing_left(simulator)


def test_pickled_and_dropped(machine: Simulator, resnet: Path) -> None:
    with ai.Session(resnet, device="sim") as session:
        data = pickle.dumps(session)
    with pickle.loads(data) as again:
        assert again.device == "sim:0,sim:1"
        again.infer(PICTURE)
    dropped = ai.Session(resnet, device="sim")
    dropped.infer(PICTURE)
    with pytest.warns(ai.errors.UnclosedResourceWarning):
        del dropped
    # The reaper is a thread of its own, and nobody can join it.
    deadline = time.monotonic() + 30
    while machine.live_handles() and time.monotonic() < deadline:
        os.sched_yield()


def test_closing_goes_on_after_a_failure(resnet: Path) -> None:
    with Simulator(SimulatorOptions(devices=2)) as simulator:
        session = ai.Session(resnet, device="sim")
        simulator.set_faults("aclmdlUnload@1=507899")
        with pytest.raises(ai.AscendInferError):
            session.close()
        session.close()
        assert [device.sets for device in simulator.stats().devices] == [0, 0]


def test_auto_takes_the_cpu_for_kind_cpu(machine: Simulator, resnet: Path) -> None:
    folder = with_groups(resnet, "instance_group { count: 2 kind: KIND_CPU }", 'backend: "onnxruntime"')
    options = SessionOptions.checked(
        **dict.fromkeys(
            ("version", "instances", "threads", "max_batch_size", "providers", "graph_optimization")
        ),
        path=folder,
        device="auto",
        cast="no",
        allow_paths=(),
    )
    found = DeviceTarget("sim", 0, (machine.library,))
    for requested, device in (("auto", "cpu"), ("sim", "sim:0")):
        loaded = load(options, DeviceChoice(requested, found, "there is one"))
        try:
            assert loaded.model.device == device
            assert loaded.details["instances"] == "2"
            assert ("KIND_CPU" in loaded.details["chosen"]) == (requested == "auto")
        finally:
            loaded.scheduler.close()
            loaded.model.close()


def test_each_card_counts_what_it_ran(machine: Simulator, resnet: Path) -> None:
    with ai.Session(resnet, device="sim", batching=False) as session:
        sent = 0
        counters = session._opened().accounts.counters.values()
        while not all(counted.snapshot().successes for counted in counters):
            session.infer_many([PICTURE] * 8)
            sent += 8
            assert sent < 8000
        with pytest.raises(ai.errors.InvalidInputError):
            session.infer(PICTURE[:, :1])
        read = {
            (name, labels.get("gpu_uuid"), labels.get("reason")): value
            for family in metrics.Collector().collect()
            for name, labels, value, *_ in family.samples
            if labels.get("model") == "resnet50_ge" or family.name.startswith("nv_gpu")
        }
        cards = ("sim:0", "sim:1")
        ran = [read["nv_inference_request_success", card, None] for card in cards]
        assert all(ran)
        assert sum(ran) == sent
        assert all(("nv_gpu_memory_used_bytes", card, None) in read for card in cards)
        assert [read["nv_inference_request_failure", card, "OTHER"] for card in cards] == [1, 0]
        assert [read["ascend_slots", card, None] for card in cards] == [4, 4]
        [told] = session.statistics()["model_stats"]
        assert told["inference_stats"]["success"]["count"] == session.stats().since_load.requests == sent
        assert told["inference_stats"]["fail"]["count"] == 1
    assert "resnet50_ge" not in metrics.text()


def test_instances_have_one_name_everywhere(machine: Simulator, resnet: Path) -> None:
    with ai.Session(resnet, device="sim") as session:
        named = {item.name: item.device for item in session.instances}
        assert list(named) == [f"resnet50_ge_{number}" for number in range(4)]
        owners = {
            owner.name.partition(" of ")[2]: device
            for device, pool in session.memory_pools.items()
            for owner in pool.owners()
            if owner.name.startswith(("slots", "workspace"))
        }
        assert owners == named
        session.infer(PICTURE)
        [model] = session.statistics()["model_stats"]
        kinds = [(use["type"], use["id"]) for use in model["memory_usage"]]
        assert sorted(kinds) == [("CPU_PINNED", 0), ("GPU", 0), ("GPU", 1)]
