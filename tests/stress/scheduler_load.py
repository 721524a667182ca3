"""Many requests from threads, event loops and maps over sessions that are closed and opened again meanwhile.

    python tests/stress/scheduler_load.py [REQUESTS [SEED]]

Each request carries its own number and its answer is checked against it; each has to end exactly once, with its answer
or with an error that something here caused. Prints how they ended and the process's memory; exits 1 when one is lost,
doubled or mixed up.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import random
import sys
import tempfile
import threading
import time
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1] / "helpers"))
import onnx_models as made

import ascend_infer as ai
from ascend_infer import Batching, QueuePolicy
from ascend_infer.errors import (
    ClosedError,
    DeadlineExceededError,
    QueueFullError,
    RequestCancelledError,
)

#: How a request may end here besides with its answer.
EXPECTED = (
    ClosedError,
    DeadlineExceededError,
    QueueFullError,
    RequestCancelledError,
    concurrent.futures.CancelledError,
    asyncio.CancelledError,
)
BATCHINGS = (
    False,
    Batching(),
    Batching(
        max_queue_delay_microseconds=200,
        priority_levels=3,
        default_priority_level=2,
        default_queue_policy=QueuePolicy("DELAY", 2_000, True, 64),
    ),
    Batching(preserve_ordering=True),
)


class Load:
    def __init__(self, model: Path, wanted: int, seed: int) -> None:
        self.model = model
        self.wanted = wanted
        self.seed = seed
        self.sent = 0
        self.ends: Counter[str] = Counter()
        self.wrong: list[str] = []
        self.lock = threading.Lock()
        self.sessions = [self.opened(kind) for kind in range(len(BATCHINGS))]

    def opened(self, kind: int) -> ai.Session:
        return ai.Session(self.model, device="cpu", instances=2, max_batch_size=8, batching=BATCHINGS[kind])

    def numbers(self, count: int) -> range:
        """Take the next numbers; empty when enough were sent."""
        with self.lock:
            first = self.sent
            self.sent = min(self.wanted, first + count)
            return range(first, self.sent)

    def ended(self, ends: Counter[str]) -> None:
        with self.lock:
            self.ends.update(ends)

    def check(self, number: int, rows: int, result: Any) -> str:
        y = result["y"]
        if y.shape != (rows, 4) or not (y == 2.0 * number).all():
            self.wrong.append(f"request {number} of {rows} rows got {y.ravel()[:4]} of shape {y.shape}")
        return "answered"

    def inputs(self, number: int, rows: int) -> dict[str, Any]:
        return {"x": np.full((rows, 4), number, np.float32)}

    def options(self, chance: random.Random) -> dict[str, Any]:
        found: dict[str, Any] = {}
        if chance.random() < 0.05:
            found["timeout"] = chance.uniform(1e-4, 5e-3)
        if chance.random() < 0.1:
            found["outputs"] = ["y"]
        if chance.random() < 0.2:
            found["priority"] = chance.randint(1, 3)
        return found

    def blocking(self, name: int) -> None:
        chance = random.Random(self.seed * 1000 + name)
        ends: Counter[str] = Counter()
        while numbers := self.numbers(50):
            for number in numbers:
                rows = chance.randint(1, 3)
                try:
                    session = chance.choice(self.sessions)
                    result = session.infer(self.inputs(number, rows), **self.options(chance))
                    ends[self.check(number, rows, result)] += 1
                except EXPECTED as error:
                    ends[type(error).__name__] += 1
        self.ended(ends)

    def futures(self, name: int) -> None:
        chance = random.Random(self.seed * 1000 + name)
        ends: Counter[str] = Counter()
        waiting: set[int] = set()  # only of those under way: what is kept of each would look like a leak

        def called(number: int) -> None:
            if number not in waiting:
                self.wrong.append(f"request {number}: called back twice")
            waiting.discard(number)

        while numbers := self.numbers(50):
            pending = []
            for number in numbers:
                rows = chance.randint(1, 3)
                try:
                    future = chance.choice(self.sessions).submit(
                        self.inputs(number, rows), **self.options(chance)
                    )
                except EXPECTED as error:
                    ends[type(error).__name__] += 1
                    continue
                waiting.add(number)
                future.add_done_callback(lambda _, number=number: called(number))
                pending.append((number, rows, future))
                if chance.random() < 0.05:
                    chance.choice(pending)[2].cancel()
            for number, rows, future in pending:
                try:
                    ends[self.check(number, rows, future.result(60))] += 1
                except EXPECTED as error:
                    ends[type(error).__name__] += 1
            del pending[:]
        self.ended(ends)

    def loop(self, name: int) -> None:
        chance = random.Random(self.seed * 1000 + name)
        ends: Counter[str] = Counter()

        async def one(number: int) -> None:
            rows = chance.randint(1, 3)
            try:
                result = await chance.choice(self.sessions).ainfer(
                    self.inputs(number, rows), **self.options(chance)
                )
                ends[self.check(number, rows, result)] += 1
            except EXPECTED as error:
                ends[type(error).__name__] += 1

        async def main() -> None:
            while numbers := self.numbers(100):
                tasks = [asyncio.create_task(one(number)) for number in numbers]
                await asyncio.sleep(0)
                for task in tasks:
                    if chance.random() < 0.05:
                        task.cancel()
                await asyncio.gather(*tasks)

        asyncio.run(main())
        self.ended(ends)

    def mapping(self, name: int) -> None:
        chance = random.Random(self.seed * 1000 + name)
        ends: Counter[str] = Counter()
        while numbers := self.numbers(500):
            session = chance.choice(self.sessions)
            got = 0
            try:
                for result in session.map(self.inputs(number, 1) for number in numbers):
                    ends[self.check(numbers[got], 1, result)] += 1
                    got += 1
            except EXPECTED as error:
                ends[f"rest of a map after {type(error).__name__}"] += len(numbers) - got
            else:
                if got != len(numbers):
                    self.wrong.append(f"map gave {got} of {len(numbers)} results")
        self.ended(ends)

    def reload(self, stop: threading.Event) -> None:
        chance = random.Random(self.seed)
        while not stop.wait(0.5):
            kind = chance.randrange(len(BATCHINGS))
            old, self.sessions[kind] = self.sessions[kind], self.opened(kind)
            old.close(cancel_pending=chance.random() < 0.5)

    def run(self) -> None:
        stop = threading.Event()
        reloading = threading.Thread(target=self.reload, args=(stop,))
        reloading.start()
        ways = [self.blocking] * 6 + [self.futures] * 2 + [self.loop] * 2 + [self.mapping] * 2
        threads = [threading.Thread(target=way, args=(name,)) for name, way in enumerate(ways)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        stop.set()
        reloading.join()
        for session in self.sessions:
            session.close()


def resident() -> float:
    """MB of this process in memory."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * 4096 / 1e6


def main() -> int:
    wanted = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else 1
    began = time.perf_counter()
    wrong: list[str] = []
    ends: Counter[str] = Counter()
    memory = []
    with tempfile.TemporaryDirectory() as folder:
        model = made.write(made.scale(2.0), Path(folder) / "scale.onnx")
        # Four parts, so that memory can be seen to stay.
        for part in range(4):
            load = Load(model, wanted // 4, seed + part)
            load.run()
            ends += load.ends
            wrong += load.wrong
            memory.append(resident())
    for end, count in ends.most_common():
        print(f"{count:>9,} {end}")
    print(f"{sum(ends.values()):>9,} in all, {time.perf_counter() - began:.0f} s")
    print("resident after each quarter, MB:", " ".join(f"{megabytes:.0f}" for megabytes in memory))
    for line in wrong[:20]:
        print("wrong:", line)
    if sum(ends.values()) != 4 * (wanted // 4):
        print("wrong: requests were lost")
        return 1
    return 1 if wrong or memory[-1] > 1.2 * memory[1] else 0


if __name__ == "__main__":
    sys.exit(main())
