"""Signals, forks, spawned workers and the end of the interpreter, each in a process of its own."""

from __future__ import annotations

from pathlib import Path

import onnx_models as made
import pytest
from child import run_child

pytest.importorskip("onnxruntime")

LONG = """
import numpy as np
LONG = {"times": np.array(10**9), "x": np.ones((192, 192), np.float32)}
SHORT = {"times": np.array(1), "x": np.ones((192, 192), np.float32)}

def is_long(batch):
    # Whether a batch that runs is not the short one before, on its way out.
    requests = batch.requests if batch is not None else None
    arrays = requests[0].arrays if requests else None
    return bool(arrays) and any(array.ndim == 0 and array > 1 for array in arrays)
"""


@pytest.fixture(scope="module")
def looping(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return made.write(made.looping(), tmp_path_factory.mktemp("models") / "looping.onnx")


@pytest.fixture(scope="module")
def scale(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return made.write(made.scale(2.0), tmp_path_factory.mktemp("models") / "scale.onnx")


def test_ctrl_c_ends_a_long_run_and_the_session_goes_on(looping: Path) -> None:
    out = run_child(
        LONG
        + """
import os, signal, sys, threading, time
import ascend_infer as ai

session = ai.Session(sys.argv[1])
session.infer(SHORT)
for round in range(3):
    def press():
        # Once the worker is inside the run, as Ctrl-C would be.
        while not is_long(session._core.scheduler._lanes[0].batch):
            time.sleep(0.001)
        os.kill(os.getpid(), signal.SIGINT)
    thread = threading.Thread(target=press)
    thread.start()
    try:
        # A shape it has not run yet is as unknown as the first run of all.
        session._core.scheduler._durations.clear()
        session.infer(LONG)
    except KeyboardInterrupt:
        print("left")  # days before it would have ended
    thread.join()
    print(session.infer(SHORT)["y"].shape)
session.close()
""",
        looping,
    )
    assert out == "left\n(192, 192)\n" * 3


def test_a_run_known_to_be_long_can_be_left_too(looping: Path) -> None:
    out = run_child(
        LONG
        + """
import os, signal, sys, threading, time
import ascend_infer as ai

with ai.Session(sys.argv[1]) as session:
    scheduler = session._core.scheduler
    scheduler._durations[((), (192, 192))] = 10**9
    threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT)).start()
    try:
        session.infer(LONG)
    except KeyboardInterrupt:
        print("left")
    print(session.infer(SHORT)["y"].shape)
""",
        looping,
    )
    assert out == "left\n(192, 192)\n"


@pytest.mark.parametrize("shapes", ["known", "new"])
def test_signals_at_any_moment_never_block_a_later_request(scale: Path, shapes: str) -> None:
    out = run_child(
        """
import os, random, signal, sys, threading
import numpy as np
import ascend_infer as ai

x = {"x": np.ones((1, 4), np.float32)}
new = sys.argv[2] == "new"  # shapes it has not run yet go to the session's thread
with ai.Session(sys.argv[1]) as session:
    session.infer(x)
    caught = 0
    for _ in range(1000):
        try:
            signal.setitimer(signal.ITIMER_REAL, random.uniform(1e-6, 3e-4))
            while True:
                if new:
                    session._core.scheduler._durations.clear()
                assert session.infer(x)["y"][0, 0] == 2
        except KeyboardInterrupt:
            caught += 1
    # Another thread would wait for ever if an interrupted request had kept the instance.
    done = []
    thread = threading.Thread(target=lambda: done.append(session.infer(x, timeout=20)), daemon=True)
    thread.start()
    thread.join(30)
    print(caught, len(done))
    print(session._core.scheduler.close())
""".replace("x = {", "signal.signal(signal.SIGALRM, signal.default_int_handler)\nx = {", 1),
        scale,
        shapes,
    )
    assert out == "1000 1\nTrue\n"


FORKED = """
import os, sys, warnings
import numpy as np
import ascend_infer as ai
warnings.simplefilter("ignore", DeprecationWarning)  # Python 3.12 warns of every fork with threads

x = {"x": np.ones((1, 4), np.float32)}
session = ai.Session(sys.argv[1])
session.infer(x)
"""


def test_a_forked_child_is_refused_with_the_way_out(scale: Path) -> None:
    out = run_child(
        FORKED
        + """
child = os.fork()
if child == 0:
    for use in (lambda: session.infer(x), lambda: session.inputs):
        try:
            use()
        except ai.errors.ForkError as error:
            print("spawn" in str(error), flush=True)
    session.close()
    fresh = ai.Session(sys.argv[1])
    print(fresh.infer(x)["y"][0, 0], flush=True)
    fresh.close()
    del session
    os._exit(0)
os.waitpid(child, 0)
print(session.infer(x)["y"][0, 0])
session.close()
""",
        scale,
    )
    assert out == "True\nTrue\n2.0\n2.0\n"


def test_a_forked_child_waits_for_none_of_its_parents_threads(scale: Path) -> None:
    out = run_child(
        FORKED
        + """
session.submit(x).result()
from ascend_infer.scheduling.lane_thread import live_threads
assert live_threads() > 0
child = os.fork()
if child == 0:
    print(live_threads(), flush=True)
    os._exit(0)
os.waitpid(child, 0)
session.close()
""",
        scale,
    )
    assert out == "0\n"


def test_spawned_workers_open_it_again(scale: Path, tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        """
import multiprocessing, sys
from concurrent.futures import ProcessPoolExecutor
import numpy as np
import ascend_infer as ai

def work(session, value):
    return float(session.infer({"x": np.full((1, 4), value, np.float32)})["y"][0, 0])

if __name__ == "__main__":
    with ai.Session(sys.argv[1]) as session:
        context = multiprocessing.get_context("spawn")
        with ProcessPoolExecutor(2, mp_context=context) as pool:
            print(list(pool.map(work, [session] * 4, range(4))))
"""
    )
    import subprocess
    import sys

    done = subprocess.run(
        [sys.executable, script, scale], capture_output=True, text=True, timeout=120, check=False
    )
    assert done.stdout == "[0.0, 2.0, 4.0, 6.0]\n", done.stderr


ENDINGS = {
    "closed": "session.close()",
    "unclosed": "",
    "deleted module": "import ascend_infer; sys.modules.pop('ascend_infer.session')",
    "in a cycle": "cycle = [session]; cycle.append(cycle); del session",
    "exception": "sys.exit(0)",
    "kept by a module": "import math; math.session = session",
    "unfinished run": (
        "import threading\n"
        "session._core.scheduler._durations.clear()\n"
        "def work():\n"
        "    try: session.infer(LONG, timeout=60)\n"
        "    except ai.errors.RequestCancelledError: pass  # told to stop when the interpreter ends\n"
        "threading.Thread(target=work, daemon=True).start()\n"
        "import time\n"
        "while not is_long(session._core.scheduler._lanes[0].batch): time.sleep(0.001)"
    ),
}


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("options", [(), ("-X", "dev")], ids=["", "dev"])
def test_every_end_of_the_interpreter_is_quiet(looping: Path, ending: str, options: tuple[str, ...]) -> None:
    code = f"""
{LONG}
import sys
import ascend_infer as ai
session = ai.Session(sys.argv[1])
session.infer(SHORT)
print("ran", flush=True)
{ENDINGS[ending]}
"""
    assert run_child(code, looping, options=options) == "ran\n"


def test_a_dropped_session_is_said_under_dev_mode(looping: Path) -> None:
    out = run_child(
        """
import gc, sys, warnings
import ascend_infer as ai
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    session = ai.Session(sys.argv[1])
    del session
    gc.collect()
print([w.category.__name__ for w in caught])
""",
        looping,
        options=("-X", "dev"),
    )
    assert out == "['UnclosedResourceWarning']\n"


def test_importing_is_light(scale: Path) -> None:
    out = run_child(
        """
import sys, threading
before = set(sys.modules)
import ascend_infer
for name in ("onnxruntime", "google.protobuf", "PIL", "ml_dtypes", "asyncio", "multiprocessing", "numpy"):
    print(name, name in sys.modules)
print(threading.active_count())
"""
    )
    assert out.endswith("1\n")
    assert "True" not in out


def test_naming_a_session_brings_no_models_in() -> None:
    """What opens one comes with the first: the parser of configurations takes as long to import as numpy."""
    out = run_child(
        """
import sys, threading
from ascend_infer import Batching, Session
heavy = ("onnxruntime", "google.protobuf", "PIL", "asyncio")
for name in (*heavy, "ascend_infer.config", "ascend_infer.scheduling.scheduler"):
    print(name, name in sys.modules)
print(threading.active_count())
"""
    )
    assert out.endswith("1\n")
    assert "True" not in out
