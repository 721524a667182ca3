"""pyACL's names: what they take and give, on the simulator."""

from __future__ import annotations

import ctypes
import sys
import threading
import types
from pathlib import Path
from typing import Any

import acl_models as made_acl
import numpy as np
import onnx_models as made
import pytest
from child import run_child

from ascend_infer.compat import acl as compat
from ascend_infer.compat.acl import constants, install, names, open_face, structs, uninstall
from ascend_infer.errors import DeviceNotFoundError, InvalidOptionError, SymbolNotFoundError
from ascend_infer.simulator import Simulator
from ascend_infer.types import Gear

H2D, D2H = constants.ACL_MEMCPY_HOST_TO_DEVICE, constants.ACL_MEMCPY_DEVICE_TO_HOST


def test_every_name_is_bound_to_the_function_that_it_says(acl: Any) -> None:
    assert len(names.C_NAMES) == sum(len(table) for _, table in names.TABLES.values())
    for full in names.C_NAMES:
        function: Any = acl
        for part in full.split(".")[1:]:
            function = getattr(function, part)
        assert callable(function), full
    for module, (_, table) in names.TABLES.items():
        holder = acl if module == "acl" else getattr(acl, module.split(".")[1])
        assert set(table) <= set(dir(holder))
    assert {"bytes_to_ptr", "ptr_to_bytes"} <= set(dir(acl.util))


def test_names_that_are_not_covered_say_so(acl: Any) -> None:
    for holder, name in ((acl, "op"), (acl.rt, "launch_kernel"), (acl.mdl, "init_dump"), (compat, "media")):
        with pytest.raises(AttributeError, match="not among the functions of"):
            getattr(holder, name)
        assert not hasattr(holder, name)


def test_the_structs_are_as_long_as_the_c_ones() -> None:
    sizes = {name: ctypes.sizeof(kind) for name, (kind, _, _) in structs.READERS.items()}
    assert sizes == {
        "aclmdlIODims": 1160,
        "aclmdlBatch": 1032,
        "aclmdlHW": 2056,
        "aclmdlIODimsRange": 2056,
        "aclrtUtilizationInfo": 24,
        "aclCANNPackageVersion": 512,
    }


def test_what_comes_back(acl: Any) -> None:
    assert acl.init() == constants_of_repeat()
    assert acl.finalize_reference() == (1, 0)
    assert acl.rt.get_device() == (0, 0)
    assert acl.rt.get_device_count() == (1, 0)
    assert acl.rt.get_run_mode() == (constants.ACL_HOST, 0)
    assert acl.rt.set_device(7) == 107001
    assert isinstance(acl.get_recent_err_msg(), str)
    assert acl.get_version()[3] == 0
    assert acl.get_cann_version(0)[0]["major_version"] == "9"
    assert acl.get_version_str("runtime")[1] in (0, 100003)
    assert acl.data_type_size(constants.ACL_FLOAT) == 4
    assert acl.float16_to_float(acl.float_to_float16(1.5)) == 1.5
    free, total, ret = acl.rt.get_mem_info(constants.ACL_HBM_MEM)
    assert 0 < free <= total
    assert ret == 0
    assert set(acl.rt.get_device_utilization_rate(0)[0]) >= {"cube_utilization", "memory_utilization"}
    found, count, ret = acl.get_cann_attribute_list()
    assert (len(found), ret) == (count, 0)
    assert acl.rt.malloc(0, 0)[1] != 0
    assert acl.rt.free(0) != 0


def constants_of_repeat() -> int:
    return 100002


def test_memory_there_and_back(acl: Any) -> None:
    data = bytes(range(256))
    device, ret = acl.rt.malloc(256, constants.ACL_MEM_MALLOC_NORMAL_ONLY)
    host, also = acl.rt.malloc_host(256)
    assert (ret, also) == (0, 0)
    assert acl.rt.memcpy(device, 256, acl.util.bytes_to_ptr(data), 256, H2D) == 0
    assert acl.rt.memset(device, 256, 7, 16) == 0
    stream, ret = acl.rt.create_stream()
    assert acl.rt.memcpy_async(host, 256, device, 256, D2H, stream) == 0
    assert acl.rt.synchronize_stream(stream) == 0
    assert acl.rt.stream_query(stream) == (constants.ACL_STREAM_STATUS_COMPLETE, 0)
    assert acl.util.ptr_to_bytes(host, 256) == bytes([7]) * 16 + data[16:]
    assert acl.rt.memcpy(np.uint64(host), np.int64(256), device, 256, D2H) == 0
    assert [acl.rt.destroy_stream(stream), acl.rt.free(device), acl.rt.free_host(host)] == [0, 0, 0]


@pytest.mark.parametrize(
    ("name", "arguments", "kind"),
    [
        ("rt.set_device", ("0",), TypeError),
        ("rt.set_device", (), TypeError),
        ("rt.set_device", (0, 1), TypeError),
        ("rt.free", (1.5,), TypeError),
        ("rt.free", (None,), TypeError),
        ("rt.malloc", (b"1", 0), TypeError),
        ("mdl.load_from_file", (3,), TypeError),
        ("mdl.load_from_file", ("a\0b",), ValueError),
        ("init", (3,), TypeError),
        ("create_tensor_desc", (0, (1, 2), 2), TypeError),
        ("create_tensor_desc", (0, ["a"], 2), TypeError),
        ("create_tensor_desc", ("0", [1], 2), TypeError),
        ("mdl.set_input_dynamic_dims", (1, 1, 1, [4]), TypeError),
        ("mdl.set_input_dynamic_dims", (1, 1, 1, {"dims": [1], "dimCount": 2}), ValueError),
        ("mdl.set_config_opt", (1, 2, 3), TypeError),
        ("rt.launch_callback", (3, None, 0, 0), TypeError),
        ("rt.set_exception_info_callback", (3,), TypeError),
        ("util.bytes_to_ptr", (bytearray(3),), ValueError),
        ("util.start_thread", (3, None), TypeError),
    ],
)
def test_wrong_arguments_raise_and_reach_nothing(
    acl: Any, simulator: Simulator, name: str, arguments: tuple[Any, ...], kind: type[Exception]
) -> None:
    function: Any = acl
    for part in name.split("."):
        function = getattr(function, part)
    mark = len(simulator.call_log())
    with pytest.raises(kind):
        function(*arguments)
    assert len(simulator.call_log()) == mark


def test_events_and_the_inverted_status(acl: Any) -> None:
    stream, _ = acl.rt.create_stream()
    flags = constants.ACL_EVENT_SYNC | constants.ACL_EVENT_TIME_LINE
    (first, _), (second, _) = (acl.rt.create_event_with_flag(flags) for _ in range(2))
    assert [acl.rt.record_event(event, stream) for event in (first, second)] == [0, 0]
    assert acl.rt.synchronize_event(second) == 0
    assert acl.rt.query_event_status(second) == (constants.ACL_EVENT_RECORDED_STATUS_COMPLETE, 0)
    elapsed, ret = acl.rt.event_elapsed_time(first, second)
    assert ret == 0
    assert elapsed >= 0
    assert [acl.rt.destroy_event(event) for event in (first, second)] == [0, 0]
    assert acl.rt.destroy_stream(stream) == 0


def test_callbacks_come_on_the_thread_that_serves_them(acl: Any) -> None:
    stop = threading.Event()
    seen: list[tuple[str, int]] = []

    def serve(context: int) -> None:
        acl.rt.set_context(context)
        while not stop.is_set():
            acl.rt.process_report(50)

    def called(arguments: list[str]) -> None:
        seen.append((arguments[0], threading.get_ident()))

    def fails(arguments: list[str]) -> None:
        raise RuntimeError(arguments[0])

    context, _ = acl.rt.get_context()
    stream, _ = acl.rt.create_stream()
    thread, ret = acl.util.start_thread(serve, context)
    assert ret == 0
    assert acl.rt.subscribe_report(thread, stream) == 0
    assert acl.rt.launch_callback(called, ["one"], 1, stream) == 0
    assert acl.rt.synchronize_stream(stream) == 0
    assert acl.rt.unsubscribe_report(thread, stream) == 0
    stop.set()
    assert acl.util.stop_thread(thread) == 0
    assert seen == [("one", thread)]
    assert acl.rt.launch_callback(fails, ["two"], 1, stream) != 0  # nobody serves it
    assert acl.rt.destroy_stream(stream) == 0
    assert acl.util.stop_thread(thread) != 0


def test_a_thread_that_fails_is_told_of_when_it_is_stopped(
    acl: Any, capfd: pytest.CaptureFixture[str]
) -> None:
    thread, _ = acl.util.start_thread(lambda: 1 / 0, None)
    with pytest.raises(RuntimeError, match="ZeroDivisionError"):
        acl.util.stop_thread(thread)
    assert "ZeroDivisionError" in capfd.readouterr().err


def test_gears(acl: Any, tmp_path: Path) -> None:
    for gears, open_dims in (
        ([Gear("batch", (1,)), Gear("batch", (4,))], ("n", 4)),
        ([Gear("hw", (2, 3)), Gear("hw", (4, 6))], (1, 1, "h", "w")),
        ([Gear("dims", (2, 3)), Gear("dims", (4, 6))], ("n", "m")),
    ):
        path = made_acl.compiled(tmp_path, made.scale(2.0, open_dims), gears=gears)
        model, ret = acl.mdl.load_from_file(str(path))
        assert ret == 0
        desc = acl.mdl.create_desc()
        assert acl.mdl.get_desc(desc, model) == 0
        assert acl.mdl.get_num_inputs(desc) == 2
        assert acl.mdl.get_input_name_by_index(desc, 0) == "x"
        assert acl.mdl.get_input_index_by_name(desc, "ascend_mbatch_shape_data") == (1, 0)
        kind = gears[0].kind
        if kind == "batch":
            assert acl.mdl.get_dynamic_batch(desc) == ({"batchCount": 2, "batch": [1, 4]}, 0)
        elif kind == "hw":
            assert acl.mdl.get_dynamic_hw(desc, -1) == ({"hwCount": 2, "hw": [[2, 3], [4, 6]]}, 0)
        else:
            assert acl.mdl.get_input_dynamic_gear_count(desc, -1) == (2, 0)
            found, ret = acl.mdl.get_input_dynamic_dims(desc, -1, 2)
            assert ret == 0
            assert [gear["dims"][:2] for gear in found] == [[2, 3], [4, 6]]
            assert acl.mdl.get_input_dynamic_dims(desc, -1, 5000) == (None, 100000)
            assert acl.mdl.set_input_dynamic_dims(model, 0, 1, found[0]) != 0  # there is no dataset 0
        dims, ret = acl.mdl.get_input_dims(desc, 0)
        assert (dims["dimCount"], ret) == (len(open_dims), 0)
        assert acl.mdl.get_input_dims(desc, 9)[0] == {}
        assert acl.mdl.destroy_desc(desc) == 0
        assert acl.mdl.unload(model) == 0


def test_configured_loads_and_descriptions_of_tensors(acl: Any, tmp_path: Path) -> None:
    path = made_acl.compiled(tmp_path, made.scale(2.0, (2, 4)))
    handle = acl.mdl.create_config_handle()
    assert (
        acl.mdl.set_config_opt(handle, constants.ACL_MDL_LOAD_TYPE_SIZET, constants.ACL_MDL_LOAD_FROM_FILE)
        == 0
    )
    assert acl.mdl.set_config_opt(handle, constants.ACL_MDL_PATH_PTR, str(path)) == 0
    assert acl.mdl.set_config_opt(handle, constants.ACL_MDL_PRIORITY_INT32, 0) == 0
    model, ret = acl.mdl.load_with_config(handle)
    assert ret == 0
    assert acl.mdl.destroy_config_handle(handle) == 0
    assert acl.mdl.unload(model) == 0
    desc = acl.create_tensor_desc(constants.ACL_FLOAT, [2, 3], constants.ACL_FORMAT_ND)
    assert acl.get_tensor_desc_num_dims(desc) == 2
    assert [acl.get_tensor_desc_dim_v2(desc, axis) for axis in (0, 1)] == [(2, 0), (3, 0)]
    assert acl.set_tensor_shape_range(desc, [[1, 4], [3, 3]]) == 0
    assert acl.get_tensor_desc_dim_range(desc, 0, 2) == ([1, 4], 0)
    assert acl.destroy_tensor_desc(desc) is None


def test_only_waiting_calls_let_other_threads_run(acl: Any, simulator: Simulator) -> None:
    # A call that holds the GIL ends before this thread's flag can be seen by the other one.
    for name, runs in (("synchronize_stream", True), ("free", False)):
        assert (f"acl.rt.{name}" in names.RELEASES_GIL) is runs
        kind = type(acl.rt).__getattr__(acl.rt, name)
        cell = next(
            c.cell_contents for c in kind.__closure__ if isinstance(c.cell_contents, ctypes._CFuncPtr)
        )  # type: ignore[attr-defined]
        holds = cell._flags_ & 4  # FUNCFLAG_PYTHONAPI of ctypes
        assert bool(holds) is not runs


def test_import_acl_after_install(simulator: Simulator) -> None:
    assert "acl" not in sys.modules
    face = install("sim")
    try:
        import acl  # type: ignore[import-not-found]
        import acl.mdl  # type: ignore[import-not-found]
        from acl.rt import malloc  # type: ignore[import-not-found]

        assert acl is face is install("sim")
        assert malloc is acl.rt.malloc
        assert acl.mdl.execute.__name__ == "acl.mdl.execute"
    finally:
        uninstall()
    assert not [name for name in sys.modules if name == "acl" or name.startswith("acl.")]
    uninstall()


def test_another_acl_is_not_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    there = types.ModuleType("acl")
    there.__file__ = "/usr/local/Ascend/python/site-packages/acl.so"
    monkeypatch.setitem(sys.modules, "acl", there)
    with pytest.raises(InvalidOptionError, match=r"imported already, from /usr/local/.*acl\.so"):
        install("sim")
    uninstall()
    assert sys.modules["acl"] is there


def test_which_library(monkeypatch: pytest.MonkeyPatch, simulator: Simulator) -> None:
    with pytest.raises(InvalidOptionError, match="'cpu'"):
        open_face("cpu")
    monkeypatch.setenv("ASCEND_INFER_DEVICE", "sim:1")
    assert compat.rt is open_face("sim").rt  # type: ignore[attr-defined]
    monkeypatch.delenv("ASCEND_INFER_DEVICE")
    monkeypatch.setenv("ASCEND_INFER_ACL_LIBRARY", "/nowhere/libascendcl.so")
    with pytest.raises(DeviceNotFoundError, match=r"(?s)/nowhere/libascendcl.*ASCEND_INFER_DEVICE=sim"):
        open_face()


def test_a_function_that_the_library_lacks_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    from ascend_infer.compat.acl import face

    class Old:
        path = "libascendcl.so"
        symbols = (("aclFinalizeReference", False, "8.5", False),)

        def address(self, name: str) -> int:
            return 0

    old: Any = face.Face(Old())  # type: ignore[arg-type]
    with pytest.raises(SymbolNotFoundError, match=r"acl\.finalize_reference.*from 8\.5 on"):
        old.finalize_reference()


def test_importing_it_loads_nothing() -> None:
    told = run_child(
        """
        import sys
        from ascend_infer.compat import acl
        print("ascend_infer._native" in sys.modules, "numpy" in sys.modules, "acl" in sys.modules)
        print("malloc" in dir(acl), "rt" in dir(acl), "init" in dir(acl))
        """
    )
    assert told.split() == ["False", "False", "False", "False", "True", "True"]
