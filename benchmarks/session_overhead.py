"""What Session.infer costs over onnxruntime's own InferenceSession.run, with equal thread counts.

python benchmarks/session_overhead.py tiny            a model of 16 bytes in, 16 bytes out
python benchmarks/session_overhead.py MODEL.onnx      any model with one float32 input, batch 1
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import numpy as np
import onnxruntime as ort
from measure import machine, pair, row

import ascend_infer as ai

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


def main() -> None:
    what = sys.argv[1] if len(sys.argv) > 1 else "tiny"
    print(machine())
    if what == "tiny":
        import onnx_models

        with tempfile.TemporaryDirectory() as folder:
            path = onnx_models.write(onnx_models.identity(dims=(4,)), Path(folder) / "tiny.onnx")
            base, ours, _ = compare(path, (4,), threads=1, rounds=15, calls=5000)
        figure = f"+{(ours - base) * 1e6:.2f} us ({base * 1e6:.2f} -> {ours * 1e6:.2f})"
        row("Session.infer over run, 16-byte model", figure, "+5 us")
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
