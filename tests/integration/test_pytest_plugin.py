"""The pytest plugin as an application's tests meet it: pytest in a process of its own, the package as installed."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from pathlib import Path

import onnx_models as made
import pytest
from installed_plugin import PLUGIN, install, run_pytest

if importlib.util.find_spec("onnxruntime") is None:
    pytest.skip("onnxruntime is not installed", allow_module_level=True)

HEAD = """
import ctypes, gc, os
import numpy as np
import pytest
import ascend_infer as ai
from ascend_infer.errors import DeviceOutOfMemoryError, DeviceLostError, AclError

ONE = np.ones((1, 4), np.float32)
MODEL = os.path.join(os.path.dirname(__file__), "scale.onnx")
"""


@pytest.fixture
def place(tmp_path: Path) -> Path:
    folder = tmp_path / "app"
    made.write(made.scale(2.0), folder / "scale.onnx")
    return folder


def run(place: Path, tests: str, *options: str) -> str:
    (place / "test_app.py").write_text(HEAD + tests)
    done = run_pytest(place, "-W", "error", "--strict-markers", *options)
    return done.stdout + done.stderr


def test_tests_of_others_are_left_alone(place: Path) -> None:
    """Loading it imports the package's front and the plugin, nothing more, and starts nothing."""
    (place / "test_theirs.py").write_text(
        """
import json, sys, threading

def test_theirs(request):
    with open("seen.json", "w") as file:
        json.dump([sorted(sys.modules), request.fixturenames, threading.active_count()], file)
"""
    )
    site = install(place.parent / "site")
    seen = []
    for options in ((), ("-p", f"no:{PLUGIN}")):
        done = run_pytest(place, "-W", "error", *options, site=site)
        assert "1 passed" in done.stdout, done.stdout + done.stderr
        modules, *rest = json.loads((place / "seen.json").read_text())
        seen.append((set(modules), rest))
    (with_it, facts), (without, facts_without) = seen
    assert with_it - without == {"ascend_infer", "ascend_infer._version", PLUGIN}
    assert facts == facts_without == [["request"], 1]


@pytest.mark.parametrize("order", ["by itself", "named again", "without autoload", "imported before"])
def test_every_way_of_loading_it_loads_it_once(place: Path, order: str) -> None:
    (place / "test_app.py").write_text("def test_it(assert_no_leaks): pass\n")
    site = install(place.parent / "site")
    environment = {}
    if order == "named again":
        (place / "conftest.py").write_text(f"pytest_plugins = [{PLUGIN!r}]\n")
    if order == "without autoload":
        environment["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    if order == "imported before":
        code = "import sys, ascend_infer.errors, pytest; sys.exit(pytest.main(sys.argv[1:]))"
        done = subprocess.run(
            [sys.executable, "-c", code, "-q", "-W", "error", "-p", "no:cacheprovider", str(place)],
            capture_output=True,
            text=True,
            check=False,
            env={"PYTHONPATH": str(site)},
        )
    else:
        options = () if order == "by itself" else ("-p", PLUGIN)
        done = run_pytest(place, "-W", "error", *options, site=site, **environment)
    assert "1 passed" in done.stdout, done.stdout + done.stderr


def test_sessions_run_on_the_simulated_card(place: Path) -> None:
    out = run(
        place,
        """
def application():
    with ai.Session(MODEL) as session:
        return session.device, session.infer(ONE)["y"].tolist()

def memory_of_second_card(npu):
    with ai.Session(MODEL, device="sim:1"):
        return npu.stats().devices[1].total_bytes

def test_auto_is_the_card(simulated_npu, assert_no_leaks):
    assert application() == ("sim:0", [[2.0] * 4])
    assert simulated_npu.stats().devices[0].executions == 1

def test_and_afterwards_it_is_not():
    assert "ASCEND_INFER_DEVICE" not in os.environ
    assert "ASCEND_INFER_CACHE" not in os.environ

@pytest.mark.simulated_npu(devices=2, hbm_bytes=1 << 30)
class TestMarks:
    def test_of_the_class(self, simulated_npu):
        assert memory_of_second_card(simulated_npu) == 1 << 30

    @pytest.mark.simulated_npu(hbm_bytes=2 << 30)
    def test_its_own_come_over_them(self, simulated_npu):
        assert memory_of_second_card(simulated_npu) == 2 << 30

    def test_the_mark_alone_is_enough(self):
        assert application()[0] == "sim:0"

@pytest.mark.simulated_npu(time={"compute_fixed_us": 3_600_000_000}, virtual_time=True)
def test_an_hour_passes_at_once(simulated_npu):
    begin = simulated_npu.now_ns
    application()
    assert simulated_npu.now_ns - begin >= 3600 * 10**9

@pytest.mark.parametrize("devices", [1, 3])
def test_options_that_the_test_computes(simulated_npu_factory, devices):
    for count in (devices, devices + 1):
        simulated_npu_factory(devices=count)
        ai.Session(MODEL, device=f"sim:{count - 1}").close()
        with pytest.raises(ai.errors.DeviceNotFoundError):
            ai.Session(MODEL, device=f"sim:{count}")
""",
    )
    assert "8 passed" in out, out


def test_small_memory_and_faults_are_what_the_application_meets(place: Path) -> None:
    out = run(
        place,
        """
@pytest.mark.simulated_npu(hbm_bytes=2 << 20)
def test_no_room(session_from_onnx):
    with pytest.raises(DeviceOutOfMemoryError, match="HBM exhausted on sim:0"):
        session_from_onnx(MODEL.replace("scale", "wide"), gears=(1024,), instances=4)

@pytest.mark.simulated_npu(faults=["aclmdlExecuteAsync@2=async:507015", "device:0@slow:2"])
def test_a_fault_ends_one_request(session_from_onnx):
    session = session_from_onnx(MODEL, gears=(1, 4))
    session.infer(ONE)
    with pytest.raises(AclError, match="507015"):
        session.infer(ONE)
    assert session.infer(ONE)["y"].tolist() == [[2.0] * 4]
""",
    )
    assert "2 passed" in out, out


def test_models_come_from_files_bytes_and_protos(place: Path) -> None:
    out = run(
        place,
        """
CONFIG = 'max_batch_size: 4 input [ { name: "x" data_type: TYPE_FP32 dims: [ 4 ] } ]'

def test_on_the_cpu(session_from_onnx):
    import onnx
    with open(MODEL, "rb") as file:
        data = file.read()
    sessions = [
        session_from_onnx(MODEL, device="cpu"),
        session_from_onnx(data, device="cpu", name="bytes"),
        session_from_onnx(onnx.load(MODEL), device="cpu", config=CONFIG),
    ]
    assert [session.name for session in sessions] == ["scale", "bytes", "model"]
    for session in sessions:
        assert session.infer(ONE)["y"].tolist() == [[2.0] * 4]
    assert sessions[2].config.max_batch_size == 4

# The session asks for no card by name and the fixtures stand in the wrong order.
def test_closed_before_the_card_is_checked(session_from_onnx, simulated_npu):
    session = session_from_onnx(MODEL, gears=(1, 4), config=CONFIG)
    assert "would pad 3 -> 4" in str(session.explain(x=(3, 4)))
    assert session.infer(np.ones((3, 4), np.float32))["y"].shape == (3, 4)

def test_what_is_no_model(session_from_onnx):
    with pytest.raises(ai.errors.InvalidOptionError, match="onnx: got int, expected the path"):
        session_from_onnx(3)
""",
    )
    assert "3 passed" in out, out


def test_what_others_share_is_not_a_tests_own(place: Path) -> None:
    out = run(
        place,
        """
@pytest.fixture(scope="module")
def session():
    with ai.Session(MODEL) as session:
        yield session

def test_the_first_that_uses_it(assert_no_leaks, session):
    assert session.device == "cpu"
    session.infer(ONE)

def test_its_threads_are_its_own(session, assert_no_leaks):
    session.submit(ONE).result()
    with assert_no_leaks():
        session.submit(ONE).result()

def test_on_a_card_too(session, simulated_npu):
    assert session.infer(ONE)["y"].tolist() == [[2.0] * 4]
    with ai.Session(MODEL) as own:
        assert own.device == "sim:0"
""",
    )
    assert "3 passed" in out, out


def test_what_is_left_behind_fails_the_test_that_left_it(place: Path) -> None:
    out = run(
        place,
        """
KEPT = []

def test_an_open_session(assert_no_leaks):
    KEPT.append(ai.Session(MODEL, device="cpu"))

def test_not_again(assert_no_leaks):
    KEPT.pop().close()

def test_a_session_on_the_card(assert_no_leaks, simulated_npu):
    KEPT.append(ai.Session(MODEL))

def test_the_card_s_next_user(assert_no_leaks, simulated_npu):
    assert KEPT.pop().closed
    with ai.Session(MODEL) as session:
        KEPT.append(session.infer(np.ones((8, 4), np.float32)))

def wide(rows):
    with ai.Session(MODEL.replace("scale", "wide")) as session:
        return session.infer(np.ones((rows, 4096), np.float32))

def test_keeps_a_result(simulated_npu):
    KEPT[:] = [wide(8)]

def test_is_not_its_victim(simulated_npu):
    assert wide(8)["y"][0, 0] == 3
    KEPT.clear()

def test_a_block(assert_no_leaks):
    with pytest.raises(AssertionError, match="is open: close"):
        with assert_no_leaks():
            session = ai.Session(MODEL, device="cpu")
    with assert_no_leaks():
        session.close()

def test_a_result_that_is_kept(simulated_npu, assert_no_leaks):
    with pytest.raises(AssertionError, match="pinned memory are in use; arrays of results"):
        with assert_no_leaks():
            result = wide(8)
    del result

def test_memory_of_acl_calls(simulated_npu):
    library = ctypes.CDLL(simulated_npu.library)
    library.aclInit(None); library.aclrtSetDevice(0)
    library.aclrtMalloc(ctypes.byref(ctypes.c_void_p()), ctypes.c_size_t(8), 0)

# Its traceback holds the session: one failure, not two.
def test_that_fails_by_itself(assert_no_leaks, simulated_npu):
    session = ai.Session(MODEL)
    raise RuntimeError("its own")
""",
    )
    assert "1 failed, 9 passed, 4 errors" in out, out
    assert "ERROR test_app.py::test_an_open_session - Failed: left behind:" in out
    assert "ERROR test_app.py::test_a_session_on_the_card" in out
    assert "ERROR test_app.py::test_keeps_a_result - Failed: the simulated NPU" in out
    assert "the simulated NPU: 1 pinned blocks left" in out
    assert "is open: close() it, or use it by `with`" in out
    assert "the simulated NPU: 1 device allocations left" in out


@pytest.fixture(autouse=True)
def wide(place: Path) -> None:
    made.write(made.scale(3.0, ("n", 4096)), place / "wide.onnx")


@pytest.mark.parametrize(
    ("mark", "said"),
    [
        ("hbm_byte=3", "no option 'hbm_byte'; did you mean 'hbm_bytes'?"),
        ("time={'compute_us': 3}", "TimeModel has no option 'compute_us'"),
        ("faults='aclrtMalloc@x'", "simulator options"),
        ("64 << 20", "takes options by name, got 67108864"),
    ],
)
def test_wrong_options_are_named(place: Path, mark: str, said: str) -> None:
    out = run(place, f"@pytest.mark.simulated_npu({mark})\ndef test_it():\n    pass\n")
    assert "1 error" in out, out
    assert said in out
