"""An application that uses pyACL itself before, during and after sessions. Each in a child; our `acl` plays CANN's."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import acl_models as made_acl
import onnx_models as made
import pytest
from child import run_child

if importlib.util.find_spec("onnxruntime") is None:
    pytest.skip("onnxruntime is not installed", allow_module_level=True)

HEAD = """
import sys, threading
import numpy as np
import ascend_infer as ai
from ascend_infer.compat.acl import install
from ascend_infer.errors import AscendInferError
install("sim")
import acl

path, host_path = sys.argv[1:]
given = np.arange(8, dtype=np.float32).reshape(2, 4)

def right(session):
    return np.array_equal(session.infer(given)["y"], given * 2)

class Host:
    '''The application: a context, a stream and a model of its own.'''

    def __init__(self):
        assert acl.init() in (0, 100002)
        assert acl.rt.set_device(0) == 0
        self.context, ret = acl.rt.create_context(0)
        assert ret == 0
        self.stream, ret = acl.rt.create_stream()
        assert ret == 0
        self.model, ret = acl.mdl.load_from_file(host_path)
        assert ret == 0
        self.device, ret = acl.rt.malloc(32, 0)
        assert ret == 0
        self.result, ret = acl.rt.malloc(32, 0)
        assert ret == 0
        self.datasets = []
        for address in (self.device, self.result):
            dataset = acl.mdl.create_dataset()
            acl.mdl.add_dataset_buffer(dataset, acl.create_data_buffer(address, 32))
            self.datasets.append(dataset)

    def right(self):
        data = given.tobytes()
        assert acl.rt.memcpy(self.device, 32, acl.util.bytes_to_ptr(data), 32, 1) == 0
        assert acl.mdl.execute_async(self.model, *self.datasets, self.stream) == 0
        assert acl.rt.synchronize_stream(self.stream) == 0
        host, ret = acl.rt.malloc_host(32)
        assert acl.rt.memcpy(host, 32, self.result, 32, 2) == 0
        got = np.frombuffer(acl.util.ptr_to_bytes(host, 32), np.float32)
        assert acl.rt.free_host(host) == 0
        assert acl.rt.get_context() == (self.context, 0)  # nobody has changed it
        return np.array_equal(got, given.reshape(-1) * 3)

    def release(self):
        for dataset in self.datasets:
            buffer = acl.mdl.get_dataset_buffer(dataset, 0)
            assert acl.destroy_data_buffer(buffer) == 0
            assert acl.mdl.destroy_dataset(dataset) == 0
        assert [acl.rt.free(self.device), acl.rt.free(self.result), acl.mdl.unload(self.model)] == [0, 0, 0]
        assert [acl.rt.destroy_stream(self.stream), acl.rt.destroy_context(self.context)] == [0, 0]
        assert acl.rt.reset_device(0) == 0

def left():
    from ascend_infer.simulator.control import _open, _text
    dll = _open(ai_library())
    return _text(dll.aclsim_live_handles).split()

def ai_library():
    from ascend_infer.simulator import library_path
    return str(library_path())
"""


@pytest.fixture(scope="module")
def paths(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    folder = tmp_path_factory.mktemp("models")
    ours = made_acl.compiled(folder, made.scale(2.0), "ours", gears=made_acl.batch_gears(1, 2, 4))
    return ours, made_acl.compiled(folder, made.scale(3.0, (2, 4)), "theirs")


def child(paths: tuple[Path, Path], code: str) -> list[str]:
    return run_child(HEAD + code, *paths).split()


def test_before_during_and_after(paths: tuple[Path, Path]) -> None:
    told = child(
        paths,
        """
host = Host()
print(host.right())
with ai.Session(path, device="sim") as session:
    for _ in range(3):
        print(right(session) and host.right())
print(host.right())
host.release()
print(acl.finalize(), left())
""",
    )
    assert told == ["True"] * 5 + ["0", "[]"]


def test_the_application_comes_second(paths: tuple[Path, Path]) -> None:
    told = child(
        paths,
        """
session = ai.Session(path, device="sim")
print(right(session))
print(acl.init())  # not the first: a success, as CANN says it
host = Host()
print(host.right() and right(session))
session.close()
print(host.right())
with ai.Session(path, device="sim") as again:
    print(right(again) and host.right())
host.release()
print(acl.finalize(), left())
""",
    )
    assert told == ["True", "100002", "True", "True", "True", "0", "[]"]


def test_the_application_ends_acl_for_everyone(paths: tuple[Path, Path]) -> None:
    told = child(
        paths,
        """
host = Host()
session = ai.Session(path, device="sim")
print(right(session))
host.release()
print(acl.finalize())
with ai.Session(path, device="sim") as second:  # loads: ACL is initialised once more
    print(right(second), right(session))
host = Host()
print(host.right() and right(session))
session.close()
print(host.right())
host.release()
print(acl.finalize())
with ai.Session(path, device="sim") as last:
    print(right(last))
print(acl.finalize(), left())
""",
    )
    assert told == ["True", "0", "True", "True", "True", "True", "0", "True", "100037", "[]"]


def test_a_counted_end_takes_nothing_from_sessions(paths: tuple[Path, Path]) -> None:
    told = child(
        paths,
        """
assert acl.init() == 0
with ai.Session(path, device="sim") as session:
    print(*acl.finalize_reference())
    with ai.Session(path, device="sim") as second:
        print(right(session) and right(second))
print(acl.finalize())
""",
    )
    assert told == ["1", "0", "True", "100037"]


def test_threads_of_both(paths: tuple[Path, Path]) -> None:
    told = child(
        paths,
        """
host = Host()
wrong = []

def ours(session):
    try:
        for _ in range(60):
            if not right(session):
                wrong.append("ours")
    except BaseException as error:
        wrong.append(repr(error))

def theirs():
    try:
        acl.rt.set_context(host.context)
        for _ in range(60):
            if not host.right():
                wrong.append("theirs")
    except BaseException as error:
        wrong.append(repr(error))

with ai.Session(path, device="sim", instances=2) as session:
    threads = [threading.Thread(target=ours, args=(session,)) for _ in range(3)]
    threads.append(threading.Thread(target=theirs))
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
print(wrong)
print(host.right())
host.release()
print(acl.finalize(), left())
""",
    )
    assert told == ["[]", "True", "0", "[]"]


def test_threads_with_and_without_a_context(paths: tuple[Path, Path]) -> None:
    told = child(
        paths,
        """
assert acl.init() == 0
found = []
with ai.Session(path, device="sim") as session:
    def work():
        found.append(acl.rt.get_device()[1])
        found.append(right(session))
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    print(*found)
    print(acl.rt.set_device(0), right(session), acl.rt.reset_device(0), right(session))
print(acl.finalize(), left())
""",
    )
    assert told == ["107002", "True", "0", "True", "0", "True", "0", "[]"]


def test_its_memory_is_the_sessions_input(paths: tuple[Path, Path]) -> None:
    told = child(
        paths,
        """
host = Host()
with ai.Session(path, device="sim") as session:
    print(host.right())  # leaves `given` in its input and three times that in its result
    first = ai.DevicePointer(host.device, 32, (2, 4), "float32")
    second = ai.DevicePointer(host.result, 32, (2, 4), "float32")
    print(np.array_equal(session.infer(first)["y"], given * 2))
    print(np.array_equal(session.infer(second)["y"], given * 6))
    print(host.right())
host.release()
print(acl.finalize(), left())
""",
    )
    assert told == ["True"] * 4 + ["0", "[]"]


def test_a_device_that_is_taken_by_force_is_lost_and_said_to_be_reset(paths: tuple[Path, Path]) -> None:
    told = child(
        paths,
        """
import logging
from ascend_infer.errors import DeviceLostError
logging.disable()  # that the instances leave service is logged
assert acl.init() == 0 and acl.rt.set_device(0) == 0
session = ai.Session(path, device="sim")
print(right(session), acl.rt.reset_device_force(0))

def failure(action):
    try:
        action()
    except AscendInferError as error:
        return error

first = failure(lambda: right(session))
print(type(first).__name__, "was reset under the sessions" in str(first), "wrong call" in str(first))
for _ in range(1000):
    error = failure(lambda: right(session))
    if not isinstance(error, DeviceLostError):
        break
print(type(error).__name__, "was reset under the sessions" in str(error))
second = failure(lambda: ai.Session(path, device="sim"))
print(type(second).__name__, "was reset under the sessions" in str(second))
session.close()
""",
    )
    assert told == [
        *("True", "0", "DeviceLostError", "True", "False"),
        *("InstanceUnavailableError", "True", "DeviceLostError", "True"),
    ]
