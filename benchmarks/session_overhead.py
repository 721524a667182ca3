"""What Session.infer costs over onnxruntime's own InferenceSession.run, with equal thread counts.

python benchmarks/session_overhead.py tiny            a model of 16 bytes in, 16 bytes out
python benchmarks/session_overhead.py threads         the same from 1, 8 and 32 threads at once, as requests a second
python benchmarks/session_overhead.py MODEL.onnx      any model with one float32 input, batch 1
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import threading
import time
from pathlib import Path

import numpy as np
import onnxruntime as ort
from measure import Call, machine, pair, row

import ascend_infer as ai
from ascend_infer.backends import create
from ascend_infer.backends.base import BackendOptions, LoadRequest

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "helpers"))


def compare(
    path: Path, shape: tuple[int, ...], threads: int, rounds: int, calls: int
) -> tuple[float, float, float]:
    options = ort.SessionOptions()
    options.intra_op_num_threads = threads
    raw = ort.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    name = raw.get_inputs()[0].name
    feed = {name: np.random.default_rng(0).standard_normal(shape).astype(np.float32)}
    with ai.Session(path, threads=threads) as session:
        assert np.array_equal(session.run(None, feed)[0], raw.run(None, feed)[0])
        return pair(lambda: raw.run(None, feed), lambda: session.infer(feed), rounds, calls)


def crowd(call: Call, threads: int, calls: int) -> float:
    """Return the requests a second of as many threads, each making its share of the calls."""
    gate = threading.Barrier(threads + 1)

    def work() -> None:
        gate.wait()
        for _ in range(calls // threads):
            call()

    workers = [threading.Thread(target=work) for _ in range(threads)]
    for worker in workers:
        worker.start()
    gate.wait()
    begin = time.perf_counter()
    for worker in workers:
        worker.join()
    return calls // threads * threads / (time.perf_counter() - begin)


def compare_threads(path: Path, rounds: int, calls: int) -> None:
    options = ort.SessionOptions()
    options.intra_op_num_threads = 1
    raw = ort.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    name = raw.get_inputs()[0].name
    feed = {name: np.zeros(4, np.float32)}
    request = LoadRequest("tiny", path, BackendOptions(threads=1))
    [executable] = create("onnx").load(request).executables()
    wanted = (raw.get_outputs()[0].name,)
    with ai.Session(path, threads=1) as session:
        ways = {
            "Session.infer": lambda: session.infer(feed),
            "the backend's execute": lambda: executable.execute(feed, wanted),
        }
        for threads in (1, 8, 32):
            for what, ours in ways.items():
                rates: tuple[list[float], list[float]] = ([], [])
                for call in (lambda: raw.run(None, feed), ours):
                    crowd(call, threads, calls // 10)
                for _ in range(rounds):
                    rates[0].append(crowd(lambda: raw.run(None, feed), threads, calls))
                    rates[1].append(crowd(ours, threads, calls))
                ratio = statistics.median(b / a for a, b in zip(*rates, strict=True))
                figure = f"{ratio:.2f}x ({max(rates[0]):,.0f} -> {max(rates[1]):,.0f}/s)"
                row(
                    f"{what} over run, 16-byte model, {threads} threads",
                    figure,
                    "1.0x" if threads > 1 else "",
                )


def main() -> None:
    what = sys.argv[1] if len(sys.argv) > 1 else "tiny"
    print(machine())
    if what in ("tiny", "threads"):
        import onnx_models

        with tempfile.TemporaryDirectory() as folder:
            path = onnx_models.write(onnx_models.identity(dims=(4,)), Path(folder) / "tiny.onnx")
            if what == "threads":
                compare_threads(path, rounds=7, calls=40_000)
                return
            base, ours, _ = compare(path, (4,), threads=1, rounds=15, calls=5000)
        figure = f"{(ours - base) * 1e6:+.2f} us ({base * 1e6:.2f} -> {ours * 1e6:.2f})"
        row("Session.infer over run, 16-byte model", figure, "+2 us")
    else:
        path = Path(what)
        with ai.Session(path) as session:
            shape = tuple(1 if dim == -1 else dim for dim in session.inputs[0].shape)
            threads = int(session.details["threads"])
        base, ours, ratio = compare(path, shape, threads, rounds=25, calls=10)
        figure = f"{ratio:.3f}x ({base * 1e3:.2f} -> {ours * 1e3:.2f} ms, {threads} threads)"
        row(f"Session.infer over run, {path.stem} batch 1", figure, "1.02x")


if __name__ == "__main__":
    main()
