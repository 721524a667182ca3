"""Sessions on the simulated card: the path that a real one takes."""

from __future__ import annotations

import gc
import importlib.util
import os
import pickle
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import onnx_models as made
import pytest
from child import run_child

import ascend_infer as ai
from ascend_infer.errors import (
    DeadlineExceededError,
    DeviceNotFoundError,
    InvalidInputError,
    InvalidOptionError,
    ModelLoadError,
    UnclosedResourceWarning,
)
from ascend_infer.simulator import Simulator, SimulatorOptions, TimeModel, compile_model
from ascend_infer.types import Gear

if importlib.util.find_spec("onnxruntime") is None:
    pytest.skip("onnxruntime is not installed", allow_module_level=True)

CONFIG = """
platform: "ge"
max_batch_size: 8
input [ { name: "x" data_type: TYPE_FP32 dims: [ 4 ] } ]
output [ { name: "y" data_type: TYPE_FP32 dims: [ 4 ] label_filename: "labels.txt" } ]
instance_group [ { count: 1 kind: KIND_GPU gpus: [ 0 ] } ]
"""
ONE = np.ones((1, 4), np.float32)


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "cache"
    monkeypatch.setenv("ASCEND_INFER_CACHE", str(folder))
    return folder


@pytest.fixture
def machine() -> Iterator[Simulator]:
    """A simulated machine that must not have been misused, and on which nothing stays."""
    with Simulator(SimulatorOptions(call_log=True)) as simulator:
        yield simulator
        gc.collect()
        assert simulator.stats().violations == {}
        assert simulator.live_handles() == []


@pytest.fixture
def scale(tmp_path: Path) -> Path:
    folder = made.model_directory(tmp_path, "scale", made.scale(2.0), CONFIG)
    (folder / "labels.txt").write_text("ant\nbee\ncat\ndog\n")
    return folder


def test_a_directory_with_only_an_onnx_model_is_compiled_once(
    machine: Simulator, scale: Path, cache: Path
) -> None:
    for _ in range(2):
        with ai.Session(scale, device="sim") as session:
            assert session.device == "sim:0"
            assert session.details["shapes"] == "batch, 4 compiled"
            assert session.infer({"x": ONE})["y"].tolist() == [[2] * 4]
    assert len(list(cache.glob("compiled/*/model.om"))) == 1


def test_any_number_of_rows_gives_the_rows_that_the_cpu_gives(machine: Simulator, scale: Path) -> None:
    with ai.Session(scale, device="sim") as card, ai.Session(scale, device="cpu") as host:
        for rows in range(1, 9):
            given = np.random.default_rng(rows).standard_normal((rows, 4)).astype(np.float32)
            got = card.infer({"x": given})
            assert np.array_equal(got["y"], host.infer({"x": given})["y"])
            assert got.top_k(k=1)[0][0].label is not None
        with pytest.raises(InvalidInputError, match="max_batch_size 8"):
            card.infer({"x": np.ones((9, 4), np.float32)})


def test_explain_says_which_size_and_how_much_padding(machine: Simulator, scale: Path) -> None:
    with ai.Session(scale, device="sim") as session:
        assert "would pad 5 -> 8, 37 % waste" in str(session.explain(x=(5, 4)))
        assert "as it is" in str(session.explain(x=(4, 4)))
        with pytest.raises(InvalidInputError, match="no input 'z'"):
            session.explain(z=(1, 4))
        with pytest.raises(InvalidInputError, match="'x' is missing"):
            session.explain()
        assert "as it is" in str(session.explain(x=[np.int64(4), 4]))
        for shape in (3, None, "44", np.ones((1, 4)), (1.5, 4), ("1", 4), (-1, 4)):
            with pytest.raises(InvalidInputError, match=r"input 'x': got .*explain\(x=\(1, 4\)\)") as caught:
                session.explain(x=shape)
            assert caught.value.input == "x"
    with ai.Session(scale, device="cpu") as session:
        assert session.memory_pool is None
        with pytest.raises(InvalidInputError, match="any size runs"):
            session.explain(x=(5, 4))


def test_a_bare_compiled_model(machine: Simulator, scale: Path, cache: Path) -> None:
    with ai.Session(scale, device="sim"):
        pass
    [compiled] = cache.glob("compiled/*/model.om")
    with ai.Session(compiled, device="sim") as session:
        assert [str(spec) for spec in session.inputs] == ["x: FP32[-1, 4]"]
        assert session.infer({"x": np.ones((3, 4), np.float32)})["y"].shape == (3, 4)
    with pytest.raises(ModelLoadError, match="no model.onnx beside it"):
        ai.Session(compiled, device="cpu")


def test_a_directory_with_only_a_compiled_model_of_gears(machine: Simulator, tmp_path: Path) -> None:
    version = tmp_path / "net" / "1"
    version.mkdir(parents=True)
    source = made.write(made.scale(2.0), tmp_path / "net.onnx")
    compile_model(source, version / "model.om", gears=[Gear("batch", (size,)) for size in (1, 2)])
    three = np.ones((3, 4), np.float32)
    with ai.Session(tmp_path / "net", device="sim") as session:
        assert session.config.max_batch_size == 2
        with pytest.raises(InvalidInputError, match="the model's largest gear is 2") as caught:
            session.infer({"x": three})
        assert "Triton" not in str(caught.value)
    with ai.Session(tmp_path / "net", device="sim", max_batch_size=8) as session:
        assert session.config.max_batch_size == 8
        assert session.infer({"x": three})["y"].tolist() == [[2] * 4] * 3
        with pytest.raises(InvalidInputError, match="at most max_batch_size 8"):
            session.infer({"x": np.ones((9, 4), np.float32)})


def test_one_gather_one_copy_in_one_run_one_copy_out(machine: Simulator, scale: Path) -> None:
    with ai.Session(scale, device="sim") as session:
        for _ in range(3):
            session.infer({"x": ONE})
        before = machine.stats()
        mark = len(machine.call_log())
        session.infer({"x": ONE})
        calls = [line.split()[2] for line in machine.call_log()[mark:]]
        after = machine.stats()
    assert calls.count("aclrtMemcpyAsync") == 2
    assert calls.count("aclmdlExecuteAsync") == 1
    assert not [name for name in calls if "Malloc" in name or "Free" in name]
    assert after.calls.get("aclrtMalloc", 0) == before.calls.get("aclrtMalloc", 0)


def test_out_arrays_single_samples_and_other_types(machine: Simulator, scale: Path) -> None:
    with ai.Session(scale, device="sim") as session:
        out = np.zeros((2, 4), np.float32)
        assert session.infer(np.ones((2, 4), np.float32), out=out)["y"] is out
        assert out.tolist() == [[2] * 4] * 2
        assert session.infer(ONE[0], batched=False)["y"].shape == (4,)
        assert session.infer(ONE.astype(">f4"))["y"].tolist() == [[2] * 4]
        with pytest.raises(InvalidInputError, match="float64"):
            session.infer(ONE.astype(np.float64))


def test_results_outlive_their_session(machine: Simulator, tmp_path: Path) -> None:
    folder = made.model_directory(
        tmp_path,
        "wide",
        made.scale(2.0, dims=("n", 4096)),
        CONFIG.replace("[ 4 ]", "[ 4096 ]").replace('label_filename: "labels.txt"', ""),
    )
    with ai.Session(folder, device="sim") as session:
        kept = [session.infer(np.full((2, 4096), value, np.float32))["y"] for value in range(6)]
    assert [array[0, 0] for array in kept] == [0, 2, 4, 6, 8, 10]
    # They lie in the device's pinned memory: it is given back with the next session, once they are gone.
    del kept
    ai.Session(folder, device="sim").close()


def test_instances_share_one_copy_of_the_weights(machine: Simulator, scale: Path) -> None:
    with ai.Session(scale, device="sim", instances=3) as session:
        assert session.memory_pool is not None
        owners = [owner.name for owner in session.memory_pool.owners()]
        assert len([name for name in owners if name.startswith("weights")]) == 1
        assert session.infer(ONE)["y"].tolist() == [[2] * 4]


def test_a_deadline_is_kept(scale: Path) -> None:
    slow = SimulatorOptions(time=TimeModel(compute_fixed_us=400_000))
    with Simulator(slow), ai.Session(scale, device="sim") as session:
        with pytest.raises(DeadlineExceededError):
            session.infer(ONE, timeout=0.05)
        assert session.infer(ONE, timeout=60)["y"].tolist() == [[2] * 4]


def test_devices_are_counted(machine: Simulator, scale: Path) -> None:
    with pytest.raises(DeviceNotFoundError, match="has 1 device"):
        ai.Session(scale, device="sim:1")


def test_two_devices(scale: Path) -> None:
    with (
        Simulator(SimulatorOptions(devices=2)),
        ai.Session(scale, device="sim:0") as one,
        ai.Session(scale, device="sim:1") as two,
    ):
        assert (one.device, two.device) == ("sim:0", "sim:1")
        assert one.infer(ONE)["y"].tolist() == two.infer(ONE)["y"].tolist()


def test_a_pool_that_another_session_opened_otherwise(machine: Simulator, scale: Path) -> None:
    with ai.Session(scale, device="sim", pool_bytes=64 << 20):
        ai.Session(scale, device="sim").close()
        with pytest.raises(InvalidOptionError, match="pool_bytes"):
            ai.Session(scale, device="sim", pool_bytes=32 << 20)
    text = (scale / "config.pbtxt").read_text()
    (scale / "config.pbtxt").write_text(
        text + 'parameters { key: "memory_pool_bytes" value: { string_value: "some" } }'
    )
    with pytest.raises(ModelLoadError, match="model 'scale': .*memory_pool_bytes"):
        ai.Session(scale, device="sim")


def test_a_load_that_fails_leaves_nothing(scale: Path) -> None:
    with ai.Session(scale, device="sim"):
        pass  # compiled
    plan = SimulatorOptions(faults="aclmdlLoadFromFileWithMem@1=207001")
    with Simulator(plan) as machine:
        with pytest.raises(ai.AscendInferError):
            ai.Session(scale, device="sim")
        assert machine.live_handles() == []
        with ai.Session(scale, device="sim") as session:
            assert session.infer(ONE)["y"].tolist() == [[2] * 4]


def test_a_dropped_session_is_given_back_by_itself(machine: Simulator, scale: Path) -> None:
    session = ai.Session(scale, device="sim")
    session.infer(ONE)
    with pytest.warns(UnclosedResourceWarning):
        del session
    # The reaper is a thread of its own; the next session's opening waits for the device's lock.
    with ai.Session(scale, device="sim") as again:
        again.infer(ONE)


@pytest.mark.parametrize("device", ["cpu", "sim"])
def test_a_dropped_session_answers_what_it_was_asked(machine: Simulator, scale: Path, device: str) -> None:
    session = ai.Session(scale, device=device)
    futures = [session.submit(value * ONE) for value in range(100)]
    with pytest.warns(UnclosedResourceWarning):
        del session
    assert [future.result(60)["y"][0, 0] for future in futures] == [2 * value for value in range(100)]
    deadline = time.monotonic() + 60
    while machine.live_handles():  # a thread of its own gives the device back
        assert time.monotonic() < deadline
        os.sched_yield()


def test_pickled_sessions_open_on_the_same_device(machine: Simulator, scale: Path) -> None:
    with ai.Session(scale, device="sim") as session:
        data = pickle.dumps(session)
    with pickle.loads(data) as again:
        assert again.device == "sim:0"
        assert again.infer(ONE)["y"].tolist() == [[2] * 4]


@pytest.mark.parametrize("ending", ["", "session.close()", "del session"])
def test_the_interpreter_ends_quietly(scale: Path, cache: Path, ending: str) -> None:
    code = f"""
import sys, warnings
import numpy as np
import ascend_infer as ai
warnings.simplefilter("ignore", ai.errors.UnclosedResourceWarning)
session = ai.Session(sys.argv[1], device="sim")
print(session.infer(np.ones((1, 4), np.float32))["y"][0, 0], flush=True)
{ending}
"""
    assert run_child(code, scale) == "2.0\n"


def test_ctrl_c_leaves_a_long_run(scale: Path, cache: Path) -> None:
    out = run_child(
        """
import os, signal, sys, threading, time
import numpy as np
import ascend_infer as ai
from ascend_infer.simulator import Simulator, SimulatorOptions, TimeModel, compile_model
from ascend_infer.types import Gear

one = np.ones((1, 4), np.float32)
with Simulator(SimulatorOptions(time=TimeModel(compute_fixed_us=1_500_000))):
    with ai.Session(sys.argv[1], device="sim") as session:
        threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
        begin = time.perf_counter()
        try:
            session.infer(one)
        except KeyboardInterrupt:
            print("left before its end", time.perf_counter() - begin < 1.5)
        print(session.infer(one)["y"][0, 0])
""",
        scale,
    )
    assert out == "left before its end True\n2.0\n"


def value_of(details: Any, key: str) -> str:
    return str(details[key])


def test_details_say_what_runs(machine: Simulator, scale: Path) -> None:
    with ai.Session(scale, device="sim", slots=3) as session:
        assert value_of(session.details, "slots") == "3"
        assert "sim" in value_of(session.details, "runtime")
        assert "batches up to 8" in session._repr_html_()
