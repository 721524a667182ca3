"""What the scheduler costs and keeps to: many callers, an event loop, streams, deadlines, memory.

    python benchmarks/scheduling.py threads     blocking callers, with and without the micro-batcher, beside onnxruntime
    python benchmarks/scheduling.py loop        one asyncio loop with 256 requests in flight
    python benchmarks/scheduling.py map         single rows through Session.map
    python benchmarks/scheduling.py idle        what an idle request pays for the micro-batcher
    python benchmarks/scheduling.py expiry      how late requests expire while the instance is busy
    python benchmarks/scheduling.py memory      growth over 10^6 requests; what 1,000 kept results hold

All on the CPU with a model of 16 bytes in, 16 bytes out, except expiry. Every result is checked. Beside the callers
stand those of a real Triton 2.51 in the same process, measured on a machine of this kind.
"""

from __future__ import annotations

import asyncio
import gc
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime as ort
from measure import machine, pair, row

import ascend_infer as ai

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "helpers"))

SECONDS = 2.0
#: Requests/s of real Triton (tritonserver 2.51, in process) at 8 and 32 callers.
TRITON = {8: 3_100, 32: 2_900}


def tiny(folder: str) -> Path:
    import onnx_models

    return onnx_models.write(onnx_models.identity(dims=("n", 4)), Path(folder) / "tiny.onnx")


def drive(call: Callable[[Any], float], callers: int) -> tuple[float, float]:
    """Return requests/s of so many threads, and the most over the least served of them."""
    counts = [0] * callers
    over = threading.Event()
    wrong: list[int] = []

    def work(me: int) -> None:
        x = {"x": np.full((1, 4), me, np.float32)}
        done = 0
        while not over.is_set():
            if call(x) != me:
                wrong.append(me)
            done += 1
        counts[me] = done

    threads = [threading.Thread(target=work, args=(me,)) for me in range(callers)]
    begin = time.perf_counter()
    for thread in threads:
        thread.start()
    over.wait(SECONDS)
    over.set()
    for thread in threads:
        thread.join()
    assert not wrong, f"{len(wrong)} wrong results"
    return sum(counts) / (time.perf_counter() - begin), max(counts) / max(1, min(counts))


def baton(callers: int) -> float:
    """Return how often a second so many threads wake each other in turn, and do nothing else."""
    locks = [threading.Lock() for _ in range(callers)]
    counts = [0] * callers
    over = threading.Event()

    def work(me: int) -> None:
        mine, next_one = locks[me], locks[(me + 1) % callers]
        while not over.is_set():
            mine.acquire()
            counts[me] += 1
            next_one.release()

    for lock in locks:
        lock.acquire()
    threads = [threading.Thread(target=work, args=(me,)) for me in range(callers)]
    for thread in threads:
        thread.start()
    begin = time.perf_counter()
    locks[0].release()
    over.wait(SECONDS)
    over.set()
    for thread in threads:
        thread.join()
    return sum(counts) / (time.perf_counter() - begin)


def threads() -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = tiny(folder)
        options = ort.SessionOptions()
        options.intra_op_num_threads = 1
        raw = ort.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
        with (
            ai.Session(path, threads=1) as direct,
            ai.Session(path, threads=1, batching=True, max_batch_size=32) as batching,
            ai.Session(
                path, threads=1, batching=ai.Batching(max_queue_delay_microseconds=1), max_batch_size=32
            ) as gathering,
        ):
            ways: dict[str, Callable[[Any], float]] = {
                "onnxruntime": lambda x: float(raw.run(None, x)[0][0, 0]),
                "direct": lambda x: float(direct.infer(x)["y"][0, 0]),
                "micro-batcher": lambda x: float(batching.infer(x)["y"][0, 0]),
                "gathered": lambda x: float(gathering.infer(x)["y"][0, 0]),
            }
            budgets = {8: "90,000 requests/s", 32: "75,000 requests/s"}
            for callers in (8, 32):
                found = {name: drive(way, callers) for name, way in ways.items()}
                base = found["onnxruntime"][0]
                row(
                    f"{callers} blocking callers through the micro-batcher, each result checked (real Triton: "
                    f"{TRITON[callers]:,})",
                    f"{found['micro-batcher'][0]:,.0f} requests/s; most over least served "
                    f"{found['micro-batcher'][1]:.2f}",
                    budgets[callers] + ("; 1.5" if callers == 32 else ""),
                )
                rate, fair = found["gathered"]
                floor = baton(callers)
                row(
                    f"the same with a delay of 1 us, so that each request is handed over and answered; over {callers} "
                    "threads that wake each other in turn with a lock each and do nothing else",
                    f"{rate:,.0f} requests/s in batches of {gathering.stats().since_last.mean_batch:.1f}; most over "
                    f"least served {fair:.2f}; {rate / floor:.2f}x ({floor:,.0f}/s)",
                    "",
                )
                row(
                    f"{callers} callers without batching over onnxruntime from as many threads",
                    f"{found['direct'][0] / base:.2f}x ({base:,.0f} -> {found['direct'][0]:,.0f} requests/s)",
                    "1.0x",
                )


def loop() -> None:
    async def run(session: ai.Session, flights: int, total: int) -> float:
        async def one(me: int) -> None:
            x = {"x": np.full((1, 4), me, np.float32)}
            for _ in range(total // flights):
                result = await session.ainfer(x)
                assert result["y"][0, 0] == me

        begin = time.perf_counter()
        await asyncio.gather(*[one(me) for me in range(flights)])
        return total / (time.perf_counter() - begin)

    with (
        tempfile.TemporaryDirectory() as folder,
        ai.Session(tiny(folder), threads=1, batching=True, max_batch_size=64) as session,
    ):
        asyncio.run(run(session, 256, 25_600))
        rate = max(asyncio.run(run(session, 256, 256_000)) for _ in range(3))
    row(
        "one asyncio loop, 256 in flight, each result checked",
        f"{rate:,.0f} requests/s",
        "150,000 requests/s",
    )


def stream() -> None:
    rows = [{"x": np.full((1, 4), value, np.float32)} for value in range(1000)]
    with (
        tempfile.TemporaryDirectory() as folder,
        ai.Session(tiny(folder), threads=1, batching=True, max_batch_size=64) as session,
    ):
        begin = time.perf_counter()
        for _ in range(500):
            for value, result in enumerate(session.map(rows)):
                assert result["y"][0, 0] == value
        rate = 500_000 / (time.perf_counter() - begin)
    row("`map` over single rows, each result checked", f"{rate:,.0f} rows/s", "200,000 rows/s")


def idle() -> None:
    x = {"x": np.ones((1, 4), np.float32)}
    with tempfile.TemporaryDirectory() as folder:
        path = tiny(folder)
        with (
            ai.Session(path, threads=1) as direct,
            ai.Session(path, threads=1, batching=True, max_batch_size=32) as batching,
        ):
            base, ours, _ = pair(lambda: direct.infer(x), lambda: batching.infer(x), 15, 5000)
            plain, timed, _ = pair(lambda: direct.infer(x), lambda: direct.infer(x, timeout=60), 15, 2000)
    row(
        "an idle request through the micro-batcher over one without, delay 0",
        f"{(ours - base) * 1e6:+.2f} us ({base * 1e6:.2f} -> {ours * 1e6:.2f})",
        "+10 us",
    )
    row(
        "a request with a timeout, which another thread runs, over one without",
        f"{(timed - plain) * 1e6:+.1f} us ({plain * 1e6:.1f} -> {timed * 1e6:.1f})",
        "",
    )


def expiry() -> None:
    import onnx_models

    late: list[float] = []
    bare: list[float] = []
    x = {"x": np.ones((1, 4), np.float32)}
    with tempfile.TemporaryDirectory() as folder:
        path = onnx_models.write(onnx_models.identity(dims=("n", 4)), Path(folder) / "tiny.onnx")
        from ascend_infer.simulator import Simulator, SimulatorOptions, TimeModel, compile_model

        compile_model(path, Path(folder) / "model.om", input_shapes={"x": (1, 4)})
        with (
            Simulator(SimulatorOptions(time=TimeModel(compute_fixed_us=1_000_000))),
            ai.Session(Path(folder) / "model.om", device="sim", slots=1) as session,
        ):
            occupant = session.submit(x)

            def wait(timeout: float) -> None:
                begin = time.perf_counter()
                try:
                    session.infer(x, timeout=timeout)
                except ai.errors.DeadlineExceededError:
                    late.append(time.perf_counter() - begin - timeout)

            def wait_bare(timeout: float) -> None:
                lock = threading.Lock()
                lock.acquire()
                begin = time.perf_counter()
                lock.acquire(timeout=timeout)
                bare.append(time.perf_counter() - begin - timeout)

            waits = [
                threading.Thread(target=target, args=(0.1 + 0.007 * n,))
                for n in range(100)
                for target in (wait, wait_bare)
            ]
            for thread in waits:
                thread.start()
            for thread in waits:
                thread.join()
            occupant.result()
    late.sort()
    bare.sort()
    assert len(late) == 100
    row(
        "100 requests expire while the instance is busy for 1 s: late by, p50 and p99 (a bare lock's wait beside each)",
        f"{late[50] * 1e3:.2f} ms, {late[98] * 1e3:.2f} ms ({bare[50] * 1e3:.2f} ms, {bare[98] * 1e3:.2f} ms)",
        "2 ms",
    )


def memory() -> None:
    def resident() -> int:
        with open("/proc/self/statm") as file:
            return int(file.read().split()[1]) * 4096

    with tempfile.TemporaryDirectory() as folder:
        import onnx_models

        path = tiny(folder)
        with ai.Session(path, threads=1, batching=True, max_batch_size=32) as session:
            rows = [{"x": np.full((1, 4), value, np.float32)} for value in range(1000)]

            def some() -> None:
                for row in rows[:100]:
                    session.infer(row)
                futures = [session.submit(row) for row in rows]
                for future in futures:
                    future.result()

            for _ in range(50):
                some()
            gc.collect()
            before = resident()
            for _ in range(910):
                some()
            gc.collect()
            grown = resident() - before
        row("memory over 1,000,000 requests", f"{grown / 1024:+,.0f} KiB", "flat")
        wide = onnx_models.write(onnx_models.identity(dims=("n", 4096)), Path(folder) / "wide.onnx")
        with ai.Session(wide, threads=1, batching=True, max_batch_size=32) as session:
            x = {"x": np.ones((1, 4096), np.float32)}
            results = [future.result() for future in [session.submit(x) for _ in range(1000)]]
            few = [
                futures[0].result() for futures in ([session.submit(x) for _ in range(32)] for _ in range(32))
            ]
        row("1,000 kept results of 16 KiB hold, over their own bytes", f"{held(results):.2f}x", "2x")
        row("one kept of each 32 that ran together", f"{held(few):.2f}x", "")


def held(results: list[ai.InferResult]) -> float:
    """Return the bytes of the arrays behind results over the bytes that these show."""
    blocks = {}
    for result in results:
        array = result["y"]
        while isinstance(array.base, np.ndarray):
            array = array.base
        blocks[id(array)] = array.nbytes
    return sum(blocks.values()) / sum(result["y"].nbytes for result in results)


WHAT = {"threads": threads, "loop": loop, "map": stream, "idle": idle, "expiry": expiry, "memory": memory}

if __name__ == "__main__":
    if len(sys.argv) != 2 or sys.argv[1] not in WHAT:
        sys.exit(str(__doc__))
    print(machine())
    WHAT[sys.argv[1]]()
