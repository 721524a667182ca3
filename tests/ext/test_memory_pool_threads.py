"""Memory pools that threads share, and forked children inherit."""

from __future__ import annotations

import subprocess
import sys
import threading
from typing import Any

import numpy as np

from ascend_infer._native import host_pool


def test_threads_share_a_pool() -> None:
    pool = host_pool(limit_bytes=32 << 20)
    wrong: list[str] = []
    gate = threading.Barrier(4)

    def work(number: int) -> None:
        gate.wait(30)
        kept: list[np.ndarray[Any, np.dtype[np.uint8]]] = []
        for i in range(300):
            array = np.frombuffer(pool.allocate(1 + (i * 7919) % 50_000, f"thread {number}"), np.uint8)
            array[:] = number
            kept.append(array)
            if len(kept) > 8:
                old = kept.pop(i % 8)
                if not (old == number).all():
                    wrong.append(f"thread {number}, round {i}")

    threads = [
        threading.Thread(target=work, args=(number,), name=f"pool test {number}") for number in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
    assert pool.stats().allocations == 1200
    assert pool.stats().active_blocks == 0


FORKED = """
import os, threading
from ascend_infer._native import host_pool
from ascend_infer.errors import ForkError

pool = host_pool()
block = pool.allocate(100)
memoryview(block)[:] = bytes(range(100))

# Threads that hold the pool's locks most of the time: the child inherits them as they stand.
stop = threading.Event()
def churn():
    while not stop.is_set():
        pool.allocate(5_000_000).free()
        pool.trim()
threads = [threading.Thread(target=churn) for _ in range(2)]
for thread in threads:
    thread.start()
for _ in range(20):
    child = os.fork()
    if child == 0:
        refused = 0
        for use in (lambda: pool.allocate(1), pool.stats, pool.owners, pool.trim):
            try:
                use()
            except ForkError as error:
                refused += "spawn" in str(error)
        assert bytes(block)[:3] == b"\\0\\1\\2"
        block.free()
        pool.close()
        del block, pool
        os._exit(0 if refused == 4 else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
stop.set()
for thread in threads:
    thread.join()
assert pool.stats().active_blocks == 1
"""


def test_a_forked_child_leaves_the_pool_alone() -> None:
    ran = subprocess.run([sys.executable, "-c", FORKED], capture_output=True, text=True, timeout=60)
    assert ran.returncode == 0, ran.stderr
