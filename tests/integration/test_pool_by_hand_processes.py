"""A memory pool made by the user in a process that forks or ends."""

from __future__ import annotations

from pathlib import Path

import pytest
from child import run_child


def test_a_forked_child_leaves_it_alone(tmp_path: Path) -> None:
    out = run_child(
        """
import os
import ascend_infer as ai

pool = ai.MemoryPool("sim", 1 << 20)
child = os.fork()
if child == 0:
    try:
        pool.stats()
    except ai.errors.ForkError as error:
        told = "spawn" in str(error)
    pool.close()
    os._exit(0 if told else 1)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), pool.stats().reserved_bytes >= 1 << 20)
pool.close()
"""
    )
    assert out == "0 True\n"


@pytest.mark.parametrize("ending", ["", "pool.close()", "del pool"])
def test_the_interpreter_ends_quietly(ending: str) -> None:
    code = f"""
import warnings
import ascend_infer as ai
warnings.simplefilter("ignore", ai.errors.UnclosedResourceWarning)
pool = ai.MemoryPool("sim", 1 << 20)
print(pool.device, flush=True)
{ending}
"""
    assert run_child(code) == "sim:0\n"
