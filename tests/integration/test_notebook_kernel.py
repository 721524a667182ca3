"""Sessions in a real kernel: interrupted cells, cells that are run again and again, what the page shows."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import onnx_models as made
import pytest
from html_check import checked
from notebook_kernel import Kernel, needs_jupyter

pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")
needs_jupyter()

CONFIG = """
max_batch_size: 8
input [ { name: "x" data_type: TYPE_FP32 dims: [ 4 ] } ]
output [ { name: "y" data_type: TYPE_FP32 dims: [ 4 ] } ]
"""

#: What the kernel holds: the runtime's and our threads, and memory in MB, once garbage is gone.
HELD = """
import gc, os, sys
def threads():
    return len(os.listdir("/proc/self/task"))
def megabytes():
    return int(open("/proc/self/statm").read().split()[1]) * os.sysconf("SC_PAGE_SIZE") >> 20
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("notebook")
    made.model_directory(place, "scale", made.scale(2.0), CONFIG)
    made.write(made.looping(), place / "looping.onnx")
    return place


@pytest.fixture
def kernel(folder: Path) -> Iterator[Kernel]:
    with Kernel(folder, ASCEND_INFER_CACHE=str(folder / "cache"), ASCEND_INFER_DEVICE="cpu") as started:
        yield started


def test_an_interrupted_cell_leaves_the_session_usable(kernel: Kernel) -> None:
    kernel.run("""
import threading
import numpy as np
import ascend_infer as ai

LONG = {"times": np.array(10**9), "x": np.ones((192, 192), np.float32)}
SHORT = {"times": np.array(1), "x": np.ones((192, 192), np.float32)}
session = ai.Session("looping.onnx")

def tell_when_it_runs():
    # The cell says that it runs once its request is with an instance and not only on its way there.
    lane = session._core.scheduler._lanes[0]
    while (batch := lane.batch) is None or not batch.requests or not any(
        array.ndim == 0 and array > 1 for array in batch.requests[0].arrays or ()
    ):
        pass
    print("runs", flush=True)
""")
    for call in ("session.infer(LONG)", "list(session.map([LONG], timeout=3600))"):
        cell = f"threading.Thread(target=tell_when_it_runs).start()\n{call}"
        kernel.run(cell, interrupt_at="runs", fails="KeyboardInterrupt")
        assert kernel.text("session.infer(SHORT, timeout=60)['y'].shape") == "(192, 192)", call
    assert kernel.text("session.stats().pending") == "0"
    kernel.run("session.close()")


@pytest.mark.parametrize(
    ("device", "last"),
    [("cpu", "session.infer(x)"), ("cpu", "session"), ("sim", "session.infer(x)"), ("sim", "session")],
)
def test_a_cell_that_opens_a_session_can_be_run_50_times(kernel: Kernel, device: str, last: str) -> None:
    kernel.run(HELD + "import numpy as np\nimport ascend_infer as ai\nx = np.ones((2, 4), np.float32)")
    cell = f"""
session = ai.Session("scale", device={device!r})
session.infer(x)
{last}
"""
    for _ in range(3):
        outputs = kernel.run(cell)
    assert "text/html" in outputs[-1]["data"]
    kernel.run("import warnings; warnings.simplefilter('ignore', ai.errors.UnclosedResourceWarning)")
    kernel.run("from ascend_infer.lifetime import open_sessions\ngc.collect(); held = threads(), megabytes()")
    for _ in range(50):
        kernel.run(cell)
    # A dropped session's threads are told to end and end soon; the cell waits for them and the test for the cell.
    kernel.run("""
import time
gc.collect()
ends = time.monotonic() + 30
while threads() > held[0] and time.monotonic() < ends:
    os.sched_yield()
""")
    assert kernel.text("threads() - held[0]") == "0"
    # The session that the variable holds, and the one before where the kernel has not let go of its last result.
    assert int(kernel.text("len(open_sessions())")) <= 2
    grown = int(kernel.text("megabytes() - held[1]"))
    assert grown < 20, f"{grown} MB in 50 runs"
    kernel.run("session.close()")


def test_out_shows_a_session_and_does_not_keep_it(kernel: Kernel) -> None:
    kernel.run(
        "import weakref\nimport numpy as np\nimport ascend_infer as ai\nx = np.ones((2, 4), np.float32)"
    )
    kernel.run("session = ai.Session('scale')\nsession")
    assert (
        kernel.text("type(_).__name__, _.infer(x)['y'].shape, _(x)['y'].shape")
        == "('ShownSession', (2, 4), (2, 4))"
    )
    kernel.run("kept = Out[2]; session.close(); gone = weakref.ref(session); session = None")
    assert kernel.text("gone()") == ""  # nothing: None is not shown
    assert "<Session scale" in kernel.text("kept")
    kernel.run("kept.infer(x)", fails="ClosedError")
    assert kernel.text("_ is not None") == "True"  # the kernel still remembers what came last
    # Without a variable the history is all that holds it.
    kernel.run("ai.Session('scale')")
    assert kernel.text("type(_).__name__, _.infer(x)['y'].shape") == "('Session', (2, 4))"


SHOWN = {
    "session": "scale",
    "session.infer(x)": "first values",
    "session.memory_pool": "pinned host",
    "session.stats()": "requests/s",
    "session.explain(x=(5, 4))": "would pad 5 -> 8",
    "session.explain(x=(5, 3))": "refused",
    "compare(session, session, [x])": "bit for bit",
    "session.score(list(np.ones((20, 4), np.float32)), out='rows.jsonl', progress=False)": "rows/s",
    "om.read('scale.om')": "gears",
}


def test_what_the_page_shows(kernel: Kernel) -> None:
    kernel.run("""
import numpy as np
import ascend_infer as ai
from ascend_infer import om
from ascend_infer.comparison import compare
from ascend_infer.simulator import compile_model
from ascend_infer.types import Gear

x = {"x": np.full((2, 4), 1.5, np.float32)}
compile_model("scale/1/model.onnx", "scale.om", gears=[Gear("batch", (n,)) for n in (1, 8)])
session = ai.Session("scale", device="sim")
session.infer(x)
""")
    for expression, text in SHOWN.items():
        (shown,) = kernel.run(expression)
        assert shown["kind"] == "execute_result"
        found = checked(shown["data"]["text/html"])
        assert text in found or text in shown["data"]["text/plain"], (expression, found)
    (shown,) = kernel.run("session.plot_stats()")
    assert shown["data"]["image/png"]
    kernel.run("session.close()")
    assert "closed" in checked(kernel.run("session")[0]["data"]["text/html"])


def test_the_bar_of_scoring_is_a_widget(kernel: Kernel) -> None:
    pytest.importorskip("tqdm", reason="tqdm is not installed")
    kernel.run("import numpy as np\nimport ascend_infer as ai\nsession = ai.Session('scale')")
    kernel.run("rows = list(np.ones((3000, 4), np.float32))")
    score = "done = session.score(rows, out='scored.jsonl', resume=False, overwrite=True)"
    (bar,) = kernel.run(score)
    assert "application/vnd.jupyter.widget-view+json" in bar["data"]
    kernel.run("import ascend_infer.scoring.progress as progress\nprogress._has_widgets = lambda: False")
    text = "".join(out["text"] for out in kernel.run(score) if out["kind"] == "stream")
    assert "3000/3000" in text
    assert "Warning" not in text
    kernel.run("session.close()")
