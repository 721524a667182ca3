"""Whether ``ascend-infer perf`` says what onnxruntime alone does: one caller, the same threads, round by round.

python benchmarks/perf_agreement.py model_repository/efficientnet_lite0/1/model.onnx
"""

from __future__ import annotations

import statistics
import sys
import time
from pathlib import Path

import numpy as np
import onnxruntime as ort
from measure import machine, row

import ascend_infer as ai
from ascend_infer.perf import Levels, Settings, sweep

ROUNDS, CALLS = 20, 150


def main() -> None:
    path = Path(sys.argv[1])
    print(machine())
    with ai.Session(path, device="cpu") as session:
        options = ort.SessionOptions()
        options.intra_op_num_threads = int(session.details["threads"])
        raw = ort.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
        [tensor] = session.inputs
        shape = tuple(1 if dim == -1 else dim for dim in tensor.shape)
        feed = {tensor.name: np.random.default_rng(0).random(shape).astype(tensor.dtype.numpy)}

        def by_hand() -> tuple[float, float]:
            times = []
            begin = time.perf_counter()
            for _ in range(CALLS):
                called = time.perf_counter()
                raw.run(None, feed)
                times.append(time.perf_counter() - called)
            return CALLS / (time.perf_counter() - begin), statistics.median(times)

        def by_perf() -> tuple[float, float]:
            [found] = sweep(session, [feed], Levels("concurrency"), Settings(request_count=CALLS))
            return found.throughput, found.latencies.percentiles[50] / 1e9

        rates, latencies, speeds = [], [], []
        for number in range(ROUNDS + 1):
            # Each is first in every other round: a machine that slows down does so for both.
            ways = (by_hand, by_perf) if number % 2 else (by_perf, by_hand)
            found = {way: way() for way in ways}
            if number:  # the first round warms up
                rates.append(found[by_perf][0] / found[by_hand][0])
                latencies.append(found[by_perf][1] / found[by_hand][1])
                speeds.append(found[by_hand][0])
    row(
        f"perf over onnxruntime by hand, {path.stem} batch 1, 1 caller",
        f"throughput {statistics.median(rates):.3f}x, p50 {statistics.median(latencies):.3f}x "
        f"({statistics.median(speeds):.1f} runs/s)",
        "0.97x to 1.03x",
    )


if __name__ == "__main__":
    main()
