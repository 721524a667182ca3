"""The micro-batcher at saturation: its share of back-to-back full batches, on the simulator's modelled times.

    python benchmarks/saturation.py

A batch of up to 8 rows takes 2 ms to compute. Back to back: full batches, one behind the other through the same
instance by hand, as many threads as it has slots. The batcher gets single rows, from blocking callers, futures and an
event loop; every result is checked. With policies: three priorities, each with a queue policy that has a timeout and a
limit.
"""

from __future__ import annotations

import asyncio
import statistics
import sys
import tempfile
import time
from collections import deque
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from acl_overhead import load, tiny
from measure import in_threads, row

import ascend_infer as ai
from ascend_infer.simulator import Simulator, SimulatorOptions, TimeModel, compile_model
from ascend_infer.types import Gear

BATCH = 8
ROWS = 3072
ROUNDS = 5
BUDGET = "0.97"
INPUTS = [np.full((1, 4), i, np.float32) for i in range(64)]
POLICY = ai.QueuePolicy(default_timeout_microseconds=10_000_000, max_queue_size=100_000)
POLICIES = ai.Batching(
    preferred_batch_size=[BATCH],
    max_queue_delay_microseconds=5000,
    priority_levels=3,
    default_priority_level=2,
    default_queue_policy=POLICY,
    priority_queue_policy={1: POLICY, 3: POLICY},
)
PLAIN = ai.Batching(preferred_batch_size=[BATCH], max_queue_delay_microseconds=5000)


def check(number: int, result: Any) -> None:
    assert result["y"][0, 0] == number % 64
    assert result["y"].shape == (1, 4)


def back_to_back(run: Any) -> float:
    """Return the rows a second of full batches that are always there."""
    given = np.ones((BATCH, 4), np.float32)
    each = ROWS // BATCH // run.slots

    def work() -> None:
        for _ in range(each):
            run.execute({"x": given}, ["y"])

    return each * run.slots * BATCH / in_threads([work] * run.slots)


def blocking(session: ai.Session, levels: int, callers: int = 48) -> float:
    each = ROWS // callers

    def work(caller: int) -> None:
        level = caller % levels + 1 if levels else 0
        for i in range(each):
            check(i, session.infer({"x": INPUTS[i % 64]}, priority=level))

    return each * callers / in_threads([partial(work, caller) for caller in range(callers)])


def futures(session: ai.Session, levels: int) -> float:
    under_way: deque[tuple[int, Any]] = deque()
    begin = time.perf_counter()
    for i in range(ROWS):
        level = i % levels + 1 if levels else 0
        under_way.append((i, session.submit({"x": INPUTS[i % 64]}, priority=level)))
        if len(under_way) > 256:
            number, future = under_way.popleft()
            check(number, future.result())
    for number, future in under_way:
        check(number, future.result())
    return ROWS / (time.perf_counter() - begin)


def event_loop(session: ai.Session, levels: int) -> float:
    async def worker(number: int) -> None:
        level = number % levels + 1 if levels else 0
        for i in range(ROWS // 256):
            check(i, await session.ainfer({"x": INPUTS[i % 64]}, priority=level))

    async def run() -> float:
        begin = time.perf_counter()
        await asyncio.gather(*(worker(number) for number in range(256)))
        return ROWS // 256 * 256 / (time.perf_counter() - begin)

    return asyncio.run(run())


def main() -> int:
    ways = {"48 blocking callers": blocking, "256 futures": futures, "256 awaited": event_loop}
    kinds = (("", PLAIN, 0), (", three priorities and queue policies", POLICIES, 3))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        path = folder / "model.om"
        compile_model(tiny(folder, rows=None), path, gears=[Gear("batch", (BATCH,))])
        with Simulator(SimulatorOptions(time=TimeModel(compute_fixed_us=2000), threads=1)) as simulator:
            model = load(path, simulator, batched=True)
            [run] = model.executables()
            for what, batching, levels in kinds:
                for way, measure in ways.items():
                    with ai.Session(path, device="sim", batching=batching, max_batch_size=BATCH) as session:
                        pairs = [(back_to_back(run), measure(session, levels)) for _ in range(ROUNDS)]
                        [stats] = session.statistics()["model_stats"]
                    sizes = {b["batch_size"]: b["compute_infer"]["count"] for b in stats["batch_stats"]}
                    full = sizes.get(BATCH, 0) * BATCH / sum(size * count for size, count in sizes.items())
                    row(
                        f"micro-batcher over back-to-back full batches of 2 ms, simulator, {way}{what} "
                        f"({full:.0%} of the rows in full batches)",
                        f"{statistics.median(ours / base for base, ours in pairs):.3f} (best round "
                        f"{max(ours for _, ours in pairs):.0f}, by hand {max(base for base, _ in pairs):.0f} rows/s)",
                        BUDGET,
                    )
            model.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
