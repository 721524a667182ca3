"""What applications' tests are made of: the checks of the fixtures' parts, without a pytest of their own."""

from __future__ import annotations

import ctypes
import importlib.util
import os
from pathlib import Path

import numpy as np
import onnx_models as made
import pytest

import ascend_infer as ai
from ascend_infer.errors import InvalidOptionError
from ascend_infer.simulator import Simulator, SimulatorOptions, TimeModel
from ascend_infer.testing import LeakCheck, SessionFactory, SimulatedNpu, live_threads, simulator_options
from ascend_infer.types import Gear

if importlib.util.find_spec("onnxruntime") is None:
    pytest.skip("onnxruntime is not installed", allow_module_level=True)

ONE = np.ones((1, 4), np.float32)


@pytest.fixture
def model(tmp_path: Path) -> Path:
    return made.write(made.scale(2.0), tmp_path / "scale.onnx")


def test_options_take_what_a_test_writes() -> None:
    options = simulator_options(
        hbm_bytes=64 << 20, time={"compute_item_us": 5}, faults=["device:0@slow:2", "aclrtMalloc@9=207001"]
    )
    assert options == SimulatorOptions(
        hbm_bytes=64 << 20,
        time=TimeModel(compute_item_us=5),
        faults="device:0@slow:2; aclrtMalloc@9=207001",
    )
    with pytest.raises(InvalidOptionError, match="no option 'faultz'; did you mean 'faults'"):
        simulator_options(faultz="")
    with pytest.raises(InvalidOptionError, match="TimeModel has no option 'zzz'; there are h2d_fixed_us"):
        simulator_options(time={"zzz": 1})


def test_an_open_session_is_a_leak_until_it_is_closed(model: Path) -> None:
    said = r"left behind:\n  <Session scale on cpu.* is open: close\(\) it"
    with pytest.raises(AssertionError, match=said), LeakCheck():
        session = ai.Session(model, device="cpu")
    check = LeakCheck()
    session.close()
    assert check.found() == []
    check.verify()


def test_a_block_that_raises_is_not_checked(model: Path) -> None:
    sessions = []
    with pytest.raises(ZeroDivisionError), LeakCheck():
        1 / len([sessions.append(ai.Session(model, device="cpu"))][1:])  # type: ignore[func-returns-value]
    sessions.pop().close()


def test_threads_are_counted(model: Path) -> None:
    before = LeakCheck()
    with ai.Session(model, device="cpu") as session:
        check = LeakCheck()
        # A deadline sends the run to a thread of the session.
        session.infer(ONE, timeout=60)
        assert live_threads() > 0
        assert any("of sessions run" in line for line in before._left())
        assert check._left() == []  # it was open before, and so they are its own
    assert check.found() == []


def test_arrays_that_show_pinned_memory(model: Path, simulated_npu: Simulator) -> None:
    wide = made.write(made.scale(3.0, ("n", 4096)), model.with_name("wide.onnx"))
    check = LeakCheck()
    with ai.Session(wide) as session:
        result = session.infer(np.ones((8, 4096), np.float32))
    lines = [line for line in check._left() if "pinned memory" in line]
    assert lines
    assert lines[0].endswith("are in use; arrays of results that are alive show it")
    del result, session
    assert check.found() == []


def test_the_environment_is_the_card_s_only_inside(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ASCEND_INFER_DEVICE", "cpu")
    monkeypatch.delenv("ASCEND_INFER_CACHE", raising=False)
    with SimulatedNpu(cache=tmp_path / "cache") as npu:
        with ai.Session(model) as session:
            assert session.device == "sim:0"
            assert session.infer(ONE)["y"].tolist() == [[2] * 4]
        assert npu.stats().devices[0].executions == 1
    assert os.environ["ASCEND_INFER_DEVICE"] == "cpu"
    assert "ASCEND_INFER_CACHE" not in os.environ
    assert list((tmp_path / "cache").rglob("model.om"))
    monkeypatch.setenv("ASCEND_INFER_CACHE", str(tmp_path / "own"))
    with SimulatedNpu(cache=tmp_path / "cache", default_device=False), ai.Session(model) as session:
        assert session.device == "cpu"
        assert os.environ["ASCEND_INFER_CACHE"] == str(tmp_path / "own")


def test_what_is_left_on_the_card_is_told_and_taken_away(model: Path, tmp_path: Path) -> None:
    npu = SimulatedNpu(cache=tmp_path / "cache")
    with pytest.raises(AssertionError, match="the simulated NPU: 1 models left"), npu:
        session = ai.Session(model)
    assert session.closed
    with SimulatedNpu(cache=tmp_path / "cache"), ai.Session(model) as session:
        assert session.infer(ONE)["y"].tolist() == [[2] * 4]


def reset_with_a_live_stream(path: str) -> None:
    library = ctypes.CDLL(path)
    library.aclInit(None)
    library.aclrtSetDevice(0)
    library.aclrtCreateStream(ctypes.byref(ctypes.c_void_p()))
    library.aclrtResetDevice(0)


def test_violations_are_told(tmp_path: Path) -> None:
    npu = SimulatedNpu(cache=tmp_path / "cache")
    with pytest.raises(AssertionError, match=r"reset with live streams \(1 times\)"), npu as simulator:
        reset_with_a_live_stream(simulator.library)


def test_sessions_close_with_their_factory(model: Path, tmp_path: Path) -> None:
    place = tmp_path / "place"
    place.mkdir()
    with SessionFactory(place) as factory:
        plain = factory(model, device="cpu")
        named = factory(model.read_bytes(), name="named", device="cpu")
        proto = factory(made.scale(3.0), config="max_batch_size: 2", device="cpu")
        assert [s.name for s in (plain, named, proto)] == ["scale", "named", "model"]
        assert proto.config.max_batch_size == 2
        named.close()
        with pytest.raises(InvalidOptionError, match="onnx: got list, expected the path"):
            factory([1])
    assert all(session.closed for session in (plain, named, proto))


def test_weights_beside_the_model_come_along(tmp_path: Path) -> None:
    import onnx

    proto = made.model_of(
        [onnx.helper.make_node("Mul", ["x", "w"], ["y"])],
        [made.value("x", onnx.TensorProto.FLOAT, ["n", 400])],
        [made.value("y", onnx.TensorProto.FLOAT, ["n", 400])],
        {"w": np.full(400, 5, np.float32)},
    )
    onnx.save(proto, tmp_path / "m.onnx", save_as_external_data=True, location="m.bin", size_threshold=0)
    place = tmp_path / "place"
    place.mkdir()
    with SessionFactory(place) as factory:
        session = factory(tmp_path / "m.onnx", config="max_batch_size: 2", device="cpu")
        assert session.infer(np.ones((1, 400), np.float32))["y"][0, 0] == 5


@pytest.mark.parametrize("gears", [(1, 4), (Gear("batch", (1,)), Gear("batch", (4,)))])
@pytest.mark.simulated_npu(devices=2)
def test_gears_of_the_card(
    session_from_onnx: SessionFactory, model: Path, gears: tuple[int | Gear, ...]
) -> None:
    session = session_from_onnx(model, gears=gears, config="max_batch_size: 8", device="sim:1")
    assert "would pad 3 -> 4" in str(session.explain(x=(3, 4)))


def test_nothing_left(
    session_from_onnx: SessionFactory, assert_no_leaks: type[LeakCheck], model: Path
) -> None:
    with assert_no_leaks():
        session_from_onnx(model, device="cpu").close()
