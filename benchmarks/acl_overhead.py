"""What the acl backend and Session cost over a C++ loop of the same ACL calls, and what slots bring.

    python benchmarks/acl_overhead.py tiny
    python benchmarks/acl_overhead.py MODEL.onnx
    python benchmarks/acl_overhead.py slots

All on the simulator, whose own time is in both. Needs g++; for a model one input and one output, its open dimensions
taken as 1.
"""

from __future__ import annotations

import ctypes
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from measure import in_threads, pair, row

import ascend_infer as ai
from ascend_infer import backends, onnx_file
from ascend_infer.backends.base import BackendOptions, DeviceTarget, LoadRequest
from ascend_infer.simulator import Simulator, SimulatorOptions, TimeModel, compile_model

HERE = Path(__file__).parent


def tiny(folder: Path, rows: int | None = 1) -> Path:
    """Write the identity of four floats a row, protobuf by hand: this needs no onnx package. None: any rows."""
    dims = b"".join(
        _field(1, _field(2, b"n") if size is None else b"\x08" + bytes([size])) for size in (rows, 4)
    )
    tensor = _field(2, _field(1, b"\x08\x01" + _field(2, dims)))
    node = _field(1, b"x") + _field(2, b"y") + _field(4, b"Identity")
    graph = (
        _field(1, node)
        + _field(2, b"g")
        + _field(11, _field(1, b"x") + tensor)
        + _field(12, _field(1, b"y") + tensor)
    )
    path = folder / "tiny.onnx"
    path.write_bytes(b"\x08\x08" + _field(7, graph) + _field(8, b"\x10\x11"))
    return path


def _field(number: int, content: bytes) -> bytes:
    return bytes([number << 3 | 2, len(content)]) + content


def compiled(onnx: Path, folder: Path) -> tuple[Path, Any]:
    spec = onnx_file.read(onnx).spec
    shapes = {t.name: tuple(max(1, d) for d in t.shape) for t in spec.inputs}
    path = folder / "model.om"
    compile_model(onnx, path, input_shapes=shapes)
    [(name, shape)] = shapes.items()
    return path, {name: np.ones(shape, spec.inputs[0].dtype.numpy)}


def load(path: Path, simulator: Simulator, **options: Any) -> Any:
    target = DeviceTarget("sim", 0, (simulator.library,))
    return backends.create("acl").load(LoadRequest("net", path, BackendOptions(**options), target))


def overhead(onnx: Path, what: str, rounds: int, calls: int, budget: str, absolute: bool) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        path, feed = compiled(onnx, folder)
        with Simulator(SimulatorOptions(lateness_us=0, threads=1)) as simulator:
            library = folder / "loop.so"
            command = ["g++", "-std=c++17", "-O2", "-shared", "-fPIC", HERE / "acl_loop.cpp", "-o", library]
            subprocess.run([*command, simulator.library], check=True)
            loop = ctypes.CDLL(str(library))
            model = load(path, simulator)
            [run] = model.executables()
            [given], outputs = feed.values(), [tensor.name for tensor in model.spec.outputs][:1]
            [result] = run.execute(feed, outputs)
            target = np.empty_like(result)
            sizes = (ctypes.c_size_t(given.nbytes), ctypes.c_size_t(target.nbytes))
            loop.loop_open(str(path).encode(), *sizes)
            arguments = (ctypes.c_void_p(given.ctypes.data), ctypes.c_void_p(target.ctypes.data), 1)
            session = ai.Session(path, device="sim")
            ways = {
                "backend": lambda: run.execute(feed, outputs),
                "Session.infer": lambda: session.infer(feed),
            }
            for kind, call in ways.items():
                base, ours, ratio = pair(lambda: loop.loop_run(*arguments), call, rounds, calls)
                assert np.array_equal(target, result)
                busy = work_of(call, calls) - work_of(lambda: loop.loop_run(*arguments), calls)
                difference = (
                    f"{(ours - base) * 1e6:+.1f} us ({base * 1e6:.1f} -> {ours * 1e6:.1f}); of that "
                    f"{busy * 1e6:.1f} us are work of the calling thread"
                )
                row(
                    f"{kind} over a C++ loop of the same ACL calls, simulator, {what}",
                    difference if absolute else f"{ratio:.3f}x",
                    budget,
                )
            session.close()
            model.close()


def work_of(call: Callable[[], object], calls: int) -> float:
    """Return the CPU seconds that a call takes of its own thread, waiting left out; the least of some rounds."""
    found = []
    for _ in range(5):
        begin = time.thread_time()
        for _ in range(calls):
            call()
        found.append((time.thread_time() - begin) / calls)
    return min(found)


def through_threads(session: Any, feed: Any, requests: int) -> None:
    def work() -> None:
        for _ in range(requests // 8):
            session.infer(feed)

    in_threads([work] * 8)


WAYS: dict[str, Callable[[Any, Any, int], object]] = {
    "Session.infer from 8 threads": through_threads,
    "Session.submit": lambda session, feed, requests: [
        future.result() for future in [session.submit(feed) for _ in range(requests)]
    ],
    "Session.map": lambda session, feed, requests: list(session.map(feed for _ in range(requests))),
}


def by_hand(run: Any, feed: Any, requests: int) -> None:
    def work() -> None:
        for _ in range(requests // run.slots):
            run.execute(feed, ["y"])

    in_threads([work] * run.slots)


def slots(requests: int = 120, rounds: int = 5) -> None:
    """Compare one, two and three slots in turn, all loaded at once."""
    step = TimeModel(h2d_fixed_us=3000, compute_fixed_us=3000, d2h_fixed_us=3000)
    with tempfile.TemporaryDirectory() as name, Simulator(SimulatorOptions(time=step)) as simulator:
        path, feed = compiled(tiny(Path(name)), Path(name))
        models = [load(path, simulator, slots=count) for count in (1, 2, 3)]
        sessions = [ai.Session(path, device="sim", slots=count) for count in (1, 2, 3)]
        ways: dict[str, list[Callable[[], object]]] = {
            "": [partial(by_hand, model.executables()[0], feed, requests) for model in models]
        }
        for way, call in WAYS.items():
            ways[f" through {way}"] = [partial(call, session, feed, requests) for session in sessions]
        for way, calls in ways.items():
            times = [[seconds(call) for call in calls] for _ in range(rounds)]
            for number, budget in ((1, "1.9x"), (2, "2.7x")):
                row(
                    f"{number + 1} slots over one{way}, copy in = compute = copy out",
                    f"{statistics.median(found[0] / found[number] for found in times):.2f}x",
                    budget,
                )
        for opened in (*sessions, *models):
            opened.close()


def seconds(call: Callable[[], object]) -> float:
    begin = time.perf_counter()
    call()
    return time.perf_counter() - begin


def main(words: list[str]) -> int:
    if words == ["slots"]:
        slots()
    elif words == ["tiny"]:
        with tempfile.TemporaryDirectory() as name:
            overhead(tiny(Path(name)), "16 bytes", 9, 1500, "+6 us", True)
    elif len(words) == 1:
        overhead(Path(words[0]), Path(words[0]).stem, 7, 10, "1.03x", False)
    else:
        print(__doc__)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
