"""Requests from 8 threads: Session.infer against pyACL's way of calling, on one simulator library in one run.

    python benchmarks/pyacl_threads.py

pyACL's way is that of its samples: each thread has loaded the model for itself, and for a request sets its context,
allocates, copies in, executes, copies out and frees. Its calls hold the GIL but for those that wait for a stream, as
pyACL's sources do. They are made through ascend_infer.compat.acl, whose calls go through ctypes: that part is printed
too. Times of the card are modelled: 1 ms each to copy in, to compute and to copy out, one engine each. The second row
has no modelled times: 16 bytes, whose calls are all there is.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from acl_overhead import compiled, tiny
from measure import in_threads, row

import ascend_infer as ai
from ascend_infer.compat.acl import open_face
from ascend_infer.simulator import Simulator, SimulatorOptions, TimeModel

THREADS = 8
H2D, D2H = 1, 2


class Script:
    """One thread of a program for pyACL."""

    def __init__(self, acl: Any, path: Path, given: np.ndarray) -> None:
        self.acl, self.given = acl, given
        acl.rt.set_device(0)
        self.context, _ = acl.rt.create_context(0)
        self.model, ret = acl.mdl.load_from_file(str(path))
        assert ret == 0
        self.desc = acl.mdl.create_desc()
        acl.mdl.get_desc(self.desc, self.model)
        self.sizes = (
            acl.mdl.get_input_size_by_index(self.desc, 0),
            acl.mdl.get_output_size_by_index(self.desc, 0),
        )

    def request(self) -> np.ndarray:
        acl = self.acl
        acl.rt.set_context(self.context)
        sets, buffers, memory = [], [], []
        for size in self.sizes:
            address, _ = acl.rt.malloc(size, 0)
            memory.append(address)
            buffers.append(acl.create_data_buffer(address, size))
            sets.append(acl.mdl.create_dataset())
            acl.mdl.add_dataset_buffer(sets[-1], buffers[-1])
        data = self.given.tobytes()
        acl.rt.memcpy(memory[0], self.sizes[0], acl.util.bytes_to_ptr(data), len(data), H2D)
        ret = acl.mdl.execute(self.model, *sets)
        assert ret == 0
        host, _ = acl.rt.malloc_host(self.sizes[1])
        acl.rt.memcpy(host, self.sizes[1], memory[1], self.sizes[1], D2H)
        result = np.frombuffer(acl.util.ptr_to_bytes(host, self.sizes[1]), np.float32)
        acl.rt.free_host(host)
        for dataset, buffer, address in zip(sets, buffers, memory, strict=True):
            acl.mdl.destroy_dataset(dataset)
            acl.destroy_data_buffer(buffer)
            acl.rt.free(address)
        return result

    def close(self) -> None:
        self.acl.rt.set_context(self.context)
        self.acl.mdl.destroy_desc(self.desc)
        self.acl.mdl.unload(self.model)
        self.acl.rt.destroy_context(self.context)
        self.acl.rt.reset_device(0)


def rate(calls: list[Callable[[], object]], each: int) -> float:
    """Make each call ``each`` times on a thread of its own; returns requests a second of all together."""

    def repeat(call: Callable[[], object]) -> None:
        for _ in range(each):
            call()

    return len(calls) * each / in_threads([partial(repeat, call) for call in calls])


def compare(what: str, options: SimulatorOptions, rounds: int, each: int, budget: str) -> None:
    with tempfile.TemporaryDirectory() as name, Simulator(options):
        folder = Path(name)
        path, feed = compiled(tiny(folder), folder)
        [given] = feed.values()
        acl: Any = open_face("sim")
        acl.init()
        scripts = [Script(acl, path, given) for _ in range(THREADS)]
        with ai.Session(path, device="sim", slots=4) as session:
            answer = session.infer(feed)["y"].reshape(-1)
            assert all(np.array_equal(script.request(), answer) for script in scripts)
            theirs = [script.request for script in scripts]

            def infer() -> None:
                assert np.array_equal(session.infer(feed)["y"].reshape(-1), answer)

            ours = [infer] * THREADS
            pairs = [(rate(theirs, each), rate(ours, each)) for _ in range(rounds)]
            empty = acl.rt.get_device_count
            begin = time.perf_counter()
            for _ in range(10000):
                empty()
            call = (time.perf_counter() - begin) / 10000
        for script in scripts:
            script.close()
        acl.finalize()
    ratio = statistics.median(b / a for a, b in pairs)
    base, best = (max(side) for side in zip(*pairs, strict=True))
    row(
        f"`Session.infer` over pyACL's way of calling, {THREADS} threads, simulator, {what} "
        f"(a call through ctypes: {call * 1e6:.1f} us, about 20 a request)",
        f"{ratio:.2f}x ({base:.0f} -> {best:.0f} requests/s)",
        budget,
    )


def main() -> int:
    step = TimeModel(h2d_fixed_us=1000, compute_fixed_us=1000, d2h_fixed_us=1000)
    compare("1 ms each to copy in, compute, copy out", SimulatorOptions(time=step), 5, 25, "2x")
    compare("16 bytes", SimulatorOptions(lateness_us=0, threads=1), 5, 200, "")
    return 0


if __name__ == "__main__":
    sys.exit(main())
