"""The ACL side and the process around it: its end, its forks, its children, other users of ACL. Each in a child."""

from __future__ import annotations

from pathlib import Path

import acl_models as acl
import onnx_models as made
import pytest
from child import run_child

HEAD = """
import atexit, ctypes, gc, os, sys, threading, warnings
from pathlib import Path
import acl_models as acl
import numpy as np
from ascend_infer.simulator import Simulator, SimulatorOptions, library_path, onnxruntime_path

os.environ["ACLSIM_ONNXRUNTIME"] = str(onnxruntime_path())
library = str(library_path())
path = Path(sys.argv[1])
given = np.ones((2, 4), np.float32)

class Plain:
    library = library

def load(**options):
    return acl.load(path, Plain, **options)

def infer(model):
    [got] = model.executables()[0].execute({"x": given}, ["y"])
    return got

def report(handles=True):
    dll = ctypes.CDLL(library)
    dll.aclsim_live_handles.restype = ctypes.c_size_t
    dll.aclsim_live_handles.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
    buffer = ctypes.create_string_buffer(100000)
    dll.aclsim_live_handles(buffer, 100000)
    return buffer.value.decode().split()
"""


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return acl.compiled(tmp_path_factory.mktemp("models"), made.scale(2.0, (2, 4)))


def child(path: Path, code: str, **how: object) -> str:
    return run_child(HEAD + code, path, **how)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "code",
    [
        "model = load(); infer(model); model.close()",
        "model = load(); infer(model)",  # never closed
        "model = load(); kept = infer(model); del model; gc.collect()",
        "model = load(); kept = infer(model); model.close()",
        "model = load(); run = model.executables()[0]; del model; run.execute({'x': given}, ['y'])",
        "a, b = load(), load(); infer(a); b.close(); infer(a)",
        "load(); load(); gc.collect()",
        "model = load(); sys.modules['kept'] = model; infer(model)",
        "model = load(); cycle = [model]; cycle.append(cycle); infer(model); del model, cycle",
        "model = load(); infer(model); sys.exit(0)",
    ],
)
def test_any_order_of_destruction(path: Path, code: str) -> None:
    child(path, "\nwarnings.simplefilter('ignore', ResourceWarning)\n" + code, options=("-X", "dev"))


def test_what_was_never_closed_is_closed_at_exit(path: Path) -> None:
    told = child(
        path,
        """
atexit.register(lambda: print(len(report())))  # runs last: it was registered first
model = load()
infer(model)
print(len(report()) > 0)
""",
    )
    assert told.split() == ["True", "0"]


@pytest.mark.parametrize("daemon", [True, False], ids=["daemon", "thread"])
def test_the_end_while_batches_run(path: Path, daemon: bool) -> None:
    told = child(
        path,
        f"""
from ascend_infer.errors import AscendInferError
model = load(slots=2)
begun = threading.Semaphore(0)

def work():
    try:
        for step in range(10**9):
            infer(model)
            if step == 3:
                begun.release()
            if not {daemon} and step == 200:
                return
    except AscendInferError:
        pass

for _ in range(3):
    threading.Thread(target=work, daemon={daemon}).start()
for _ in range(3):
    begun.acquire()
print("end")
""",
    )
    assert told.split() == ["end"]


def test_the_end_while_a_batch_hangs(path: Path) -> None:
    told = child(
        path,
        """
os.environ["ACLSIM_CONFIG"] = '{"faults": "aclmdlExecuteAsync@1=slow:60s"}'
model = load()
thread = threading.Thread(target=lambda: infer(model), daemon=True)
thread.start()
while model.executables()[0].instance.batches == 0:
    pass
print("end")
""",
        limit=30.0,
    )
    assert told.split() == ["end"]


def test_the_end_while_a_device_is_being_opened(path: Path) -> None:
    told = child(
        path,
        """
os.environ["ACLSIM_CONFIG"] = '{"faults": "aclrtSetDevice@1=slow:60s"}'
from ascend_infer.backends import acl_device
thread = threading.Thread(target=load, daemon=True)
thread.start()
while not acl_device._registered or acl_device._lock.acquire(blocking=False):
    pass
print("end")
""",
        limit=40.0,
    )
    assert told.split() == ["end"]


def test_use_after_the_end_is_refused(path: Path) -> None:
    told = child(
        path,
        """
from ascend_infer import _native
from ascend_infer.errors import ClosedError
model = load()
infer(model)
_native.set_exiting()
try:
    infer(model)
except ClosedError:
    print("closed")
os._exit(0) if sys.stdout.flush() else None
""",
    )
    assert told.split() == ["closed"]


def test_a_fork_is_refused_with_the_word_spawn(path: Path) -> None:
    told = child(
        path,
        """
from ascend_infer import _native
from ascend_infer.errors import ForkError
model = load()
kept = infer(model)
library_object = _native.open_acl_library(library, global_symbols=False)
pid = os.fork()
if pid == 0:
    seen = []
    for use in (lambda: infer(model), lambda: load(), library_object.device_count, model.close):
        try:
            use()
            seen.append("ran")
        except ForkError as error:
            seen.append("spawn" in str(error))
    del model, kept
    gc.collect()
    print(seen[:3], flush=True)
    os._exit(0)
assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
assert infer(model).tolist() == kept.tolist()
model.close()
print(len(report()))
""",
    )
    assert told.splitlines() == ["[True, True, True]", "0"]


def test_a_fork_before_anything_was_opened_is_free(path: Path) -> None:
    told = child(
        path,
        """
from ascend_infer import _native
_native.open_acl_library(library, global_symbols=False)
pid = os.fork()
model = load()
print(infer(model)[0, 0], flush=True)
model.close()
if pid == 0:
    os._exit(0)
assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
""",
    )
    assert told.count("2.0") == 2  # two processes write: lines may mix


def test_a_forked_child_ends_in_peace(path: Path) -> None:
    child(
        path,
        """
model = load()
infer(model)
pid = os.fork()
if pid == 0:
    atexit._run_exitfuncs()
    del model
    gc.collect()
    os._exit(0)  # as multiprocessing's children; onnxruntime's own end waits for threads that are not there
assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
model.close()
""",
    )


def test_a_spawned_child_has_a_device_of_its_own(path: Path, tmp_path: Path) -> None:
    script = tmp_path / "spawning.py"
    script.write_text(
        HEAD
        + """
import multiprocessing

def work(queue):
    model = load()
    queue.put(float(infer(model)[0, 0]))
    model.close()

if __name__ == "__main__":
    model = load()
    infer(model)
    context = multiprocessing.get_context("spawn")
    queue = context.SimpleQueue()
    process = context.Process(target=work, args=(queue,))
    process.start()
    print(queue.get())
    process.join()
    model.close()
"""
    )
    told = run_child(
        f"import sys, runpy; sys.argv[0] = {str(script)!r}; runpy.run_path(sys.argv[0], run_name='__main__')",
        path,
    )
    assert told.split() == ["2.0"]


@pytest.mark.parametrize("when", ["before", "after"])
def test_a_host_that_uses_acl_itself(path: Path, when: str) -> None:
    told = child(
        path,
        f"""
dll = ctypes.CDLL(library)
def host():
    print(dll.aclInit(None) in (0, 100002), dll.aclrtSetDevice(0))
if {when!r} == "before":
    host()
model = load()
if {when!r} == "after":
    host()
print(infer(model)[0, 0])
model.close()
# The host's own things go on after us.
pointer = ctypes.c_void_p()
print(dll.aclrtMalloc(ctypes.byref(pointer), ctypes.c_size_t(64), 0), dll.aclrtFree(pointer))
print(dll.aclrtResetDevice(0))
again = load()
print(infer(again)[0, 0])
""",
    )
    assert told.split() == ["True", "0", "2.0", "0", "0", "0", "2.0"]


def test_children_start_between_copies(path: Path) -> None:
    told = child(
        path,
        """
from ascend_infer import _native
model = load(slots=2)
stop = threading.Event()
def work():
    while not stop.is_set():
        infer(model)
threads = [threading.Thread(target=work) for _ in range(2)]
[thread.start() for thread in threads]
dll = ctypes.CDLL(library)
clean = 0
for _ in range(20):
    assert _native.pause_work(10000)
    clean += dll.aclsim_note_spawn(b"test") == 0
    _native.resume_work()
stop.set()
[thread.join() for thread in threads]
print(clean)
model.close()
""",
    )
    assert told.split() == ["20"]


def test_ctrl_c_during_a_batch(path: Path) -> None:
    told = child(
        path,
        """
import signal, time
os.environ["ACLSIM_CONFIG"] = '{"faults": "aclmdlExecuteAsync@1=slow:3s"}'
model = load()
seen = threading.Event()
def interrupt():
    while model.executables()[0].instance.batches == 0:
        pass
    os.kill(os.getpid(), signal.SIGINT)
threading.Thread(target=interrupt).start()
begin = time.monotonic()
try:
    infer(model)
except KeyboardInterrupt:
    print("interrupted", time.monotonic() - begin < 3)  # before its end
print(infer(model)[0, 0])
model.close()
print(len(report()))
""",
    )
    assert told.split() == ["interrupted", "True", "2.0", "0"]
