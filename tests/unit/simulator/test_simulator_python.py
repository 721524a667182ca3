"""The simulator's Python side, without a model."""

from __future__ import annotations

import ctypes
import json
import os
import subprocess
import sys
from pathlib import Path

import onnx_models as made
import pytest

from ascend_infer import simulator
from ascend_infer.errors import ClosedError, InvalidOptionError, LibraryNotFoundError, MissingDependencyError
from ascend_infer.om import write_simulator_model
from ascend_infer.simulator import Simulator, SimulatorOptions, SimulatorStats, TimeModel
from ascend_infer.simulator import library as library_module
from ascend_infer.simulator.aipp_file import read_aipp_file
from ascend_infer.types import DataType, TensorSpec


def acl(simulator: Simulator) -> ctypes.CDLL:
    return ctypes.CDLL(simulator.library, mode=os.RTLD_LOCAL)


@pytest.fixture(autouse=True)
def needs_the_library() -> None:
    try:
        simulator.library_path()
    except LibraryNotFoundError as error:
        pytest.skip(f"needs the compiled simulator: {error}")


def test_options_are_the_librarys_own() -> None:
    options = SimulatorOptions(devices=2, time=TimeModel(h2d_gbps=3.5), faults="aclrtMalloc@1=207001")
    values = json.loads(options.to_json())
    assert values["h2d_gbps"] == 3.5
    assert "time" not in values
    with Simulator(options) as running:  # the library takes every one of them
        assert running.stats().initialized == 0


def test_a_run_is_counted_and_cleaned_up() -> None:
    with Simulator(SimulatorOptions(devices=2, call_log=True)) as running:
        library = acl(running)
        assert library.aclInit(None) == 0
        assert library.aclrtSetDevice(1) == 0
        memory = ctypes.c_void_p()
        assert library.aclrtMalloc(ctypes.byref(memory), ctypes.c_size_t(100), 0) == 0
        stats = running.stats()
        assert stats.devices[1].allocations == 1
        assert stats.devices[1].used_bytes == 4096
        assert stats.calls["aclrtMalloc"] == 1
        assert stats.handles == {"context": 1}
        assert running.live_handles()[0].startswith("context 0x")
        assert running.call_log()[-1].endswith("aclrtMalloc 0")
    with Simulator() as again:
        assert again.stats().calls == {}
        assert again.stats().devices == ()


def test_one_at_a_time_and_not_after_its_end() -> None:
    running = Simulator()
    with running, pytest.raises(RuntimeError, match="already"), Simulator():
        pass
    with pytest.raises(ClosedError):
        running.stats()
    running.close()


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (
            SimulatorOptions(devices=-1),
            '"devices" cannot have this value; expected a whole number from 0 to 64',
        ),
        (SimulatorOptions(hbm_bytes=5), f"expected a whole number from {2 << 20} to {1 << 40}"),
        (SimulatorOptions(soc="x"), "expected a name such as Ascend310P3"),
        (SimulatorOptions(time=TimeModel(load_ms=-1)), "expected a number, 0 or more"),
        (SimulatorOptions(faults="nonsense"), "nonsense"),
    ],
)
def test_an_option_that_cannot_be_says_what_can(options: SimulatorOptions, expected: str) -> None:
    with pytest.raises(InvalidOptionError) as caught, Simulator(options):
        pass
    assert expected in str(caught.value)
    with Simulator():  # the attempt left nothing behind
        pass


def test_faults_and_time() -> None:
    with Simulator(SimulatorOptions(virtual_time=True)) as running:
        library = acl(running)
        running.set_faults("aclrtSetDevice@2=507033")
        with pytest.raises(InvalidOptionError, match="names no function"):
            running.set_faults("nothing@1=1")
        assert library.aclInit(None) == 0
        assert [library.aclrtSetDevice(0) for _ in range(3)] == [0, 507033, 0]
        before = running.now_ns
        running.advance(5_000)
        assert running.now_ns == before + 5_000


def test_children_during_a_copy_are_reported() -> None:
    with Simulator(SimulatorOptions(lateness_us=10_000_000)) as running:
        library = acl(running)
        library.aclInit(None)
        library.aclrtSetDevice(0)
        memory, pinned = ctypes.c_void_p(), ctypes.c_void_p()
        library.aclrtMalloc(ctypes.byref(memory), ctypes.c_size_t(64), 0)
        library.aclrtMallocHost(ctypes.byref(pinned), ctypes.c_size_t(64))
        subprocess.run([sys.executable, "-c", ""], check=True)
        assert running.stats().violations == {}
        size = ctypes.c_size_t(64)
        assert library.aclrtMemcpyAsync(memory, size, pinned, size, 1, None) == 0
        assert running.stats().copies_in_flight == 1
        subprocess.run([sys.executable, "-c", ""], check=True)
        assert any("while an asynchronous copy" in what for what in running.stats().violations)
        assert library.aclrtSynchronizeStream(None) == 0


def test_a_fault_names_the_pointer_and_reaches_the_handler_that_was_there() -> None:
    code = """
import ctypes, faulthandler, sys
faulthandler.enable()
from ascend_infer.simulator import Simulator
with Simulator() as running:
    library = ctypes.CDLL(running.library)
    library.aclInit(None); library.aclrtSetDevice(0)
    memory = ctypes.c_void_p()
    library.aclrtMalloc(ctypes.byref(memory), ctypes.c_size_t(64), 0)
    ctypes.string_at(memory, 8)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode < 0
    assert "aclsim: the CPU touched device memory" in done.stderr
    assert "byte 0 of the allocation of 64 bytes" in done.stderr
    assert "Fatal Python error" in done.stderr


def test_without_library_or_onnxruntime(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(library_module, "_NAME", "libnothing.so")
    with pytest.raises(LibraryNotFoundError, match="pip install"):
        simulator.library_path()
    monkeypatch.delenv("ACLSIM_ONNXRUNTIME", raising=False)
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(MissingDependencyError, match="onnxruntime is missing"):
        simulator.onnxruntime_path()
    monkeypatch.setenv("ACLSIM_ONNXRUNTIME", str(tmp_path / "ort.so"))
    assert simulator.onnxruntime_path() == tmp_path / "ort.so"


def test_a_file_whose_network_has_other_tensors_is_refused(tmp_path: Path) -> None:
    pytest.importorskip("onnxruntime")
    network = made.add_sub((1, 4)).SerializeToString()
    tensors = {name: TensorSpec(name, DataType.FP32, (1, 4)) for name in "ABSD"}
    for inputs, outputs, words in (("A", "SD", "1 inputs, the ONNX model 2"), ("AB", "S", "1 outputs")):
        path = tmp_path / "net.om"
        write_simulator_model(
            path, onnx=network, inputs=[tensors[n] for n in inputs], outputs=[tensors[n] for n in outputs]
        )
        with Simulator() as running:
            library = acl(running)
            assert library.aclInit(None) == 0
            assert library.aclrtSetDevice(0) == 0
            model = ctypes.c_uint32()
            assert library.aclmdlLoadFromFile(str(path).encode(), ctypes.byref(model)) == 545002
            library.aclGetRecentErrMsg.restype = ctypes.c_char_p
            assert words in library.aclGetRecentErrMsg().decode()


def test_stats_read_the_report() -> None:
    text = json.dumps(
        {
            "initialized": 1, "soc": "x", "models": 2, "pinned_blocks": 0, "pinned_bytes": 0, "pinned_peak_bytes": 0,
            "copies_in_flight": 0, "handles": {}, "devices": [], "violations": {}, "calls": {"aclInit": 1},
            "failures": {},
        }
    )  # fmt: skip
    assert SimulatorStats.from_json(text).calls["aclInit"] == 1


AIPP = """
# of ATC's guide
aipp_op {
    aipp_mode : static
    related_input_rank : 0
    input_format : YUV420SP_U8; src_image_size_w : 256
    src_image_size_h : 256
    crop : true
    load_start_pos_w : 16
    load_start_pos_h : 16
    crop_size_w : 224
    crop_size_h : 224
    csc_switch : true
    matrix_r0c0 : 298
    matrix_r0c2 : 409
    input_bias_0 : 16
    mean_chn_0 : 104
    var_reci_chn_0 : 0.0171247538316637
}
"""


def test_aipp_files(tmp_path: Path) -> None:
    path = tmp_path / "aipp.cfg"
    path.write_text(AIPP)
    aipp = read_aipp_file(path, ["images"])["images"]
    assert aipp.format_name == "YUV420SP_U8"
    assert aipp.crop == (16, 16, 224, 224)
    assert aipp.src_image_size == (256, 256)
    assert aipp.matrix[0] == (298, 0, 409)
    assert aipp.mean[0] == 104
    assert aipp.var_reci[0] == 0.0171247538316637
    assert aipp.padding is None


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "no aipp_op"),
        ("aipp_op {", "expected"),
        ("aipp_op { aipp_mode: }", "expected|no value|static"),
        ("aipp_op { aipp_mode: dynamic }", "static AIPP only"),
        ("aipp_op { aipp_mode: static input_format: RGB }", "one of"),
        ("aipp_op { aipp_mode: static input_format: RGB888_U8 resize: true }", "resize"),
        ("aipp_op { aipp_mode: static input_format: RGB888_U8 csc_switch: maybe }", "neither true nor false"),
        ("aipp_op { aipp_mode: static input_format: RGB888_U8 mean_chn_0: x }", "no number"),
        ('aipp_op { related_input_name: "y" }', "no input 'y'"),
        ("aipp_op { related_input_rank: 3 }", "has 1 inputs"),
        ("aipp_op { @ }", "line 1"),
        (AIPP + AIPP, "twice"),
    ],
)
def test_aipp_files_that_cannot_be(tmp_path: Path, text: str, words: str) -> None:
    path = tmp_path / "aipp.cfg"
    path.write_text(text)
    with pytest.raises(InvalidOptionError, match=words):
        read_aipp_file(path, ["x"])


def test_a_missing_aipp_file(tmp_path: Path) -> None:
    with pytest.raises(InvalidOptionError, match="cannot be read"):
        read_aipp_file(tmp_path / "none.cfg", ["x"])
