"""An allocation history replayed on the memory pool in C++, against malloc alone.

Without a file, a history is made up: models that load, serve from slots and leased output buffers, reload and unload.
Prints the time of one allocate and its free, upstream calls once warm (the steady state), fragmentation, and the least
`pool_bytes` that would have done.
"""

from __future__ import annotations

import argparse
import random
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from measure import row

ROOT = Path(__file__).parents[1]
MIB = 1 << 20
BUDGET_NS = 300


class Maker:
    """Writes steps, numbering the blocks."""

    def __init__(self) -> None:
        self.steps: list[str] = []
        self.count = 0

    def allocate(self, nbytes: int) -> int:
        self.count += 1
        self.steps.append(f"+ {self.count} {nbytes}")
        return self.count

    def free(self, block: int) -> None:
        self.steps.append(f"- {block}")


class Model:
    """One loaded model: weights, and for each of two instances a workspace and two slots of three tensors."""

    def __init__(self, maker: Maker, rng: random.Random) -> None:
        self.maker = maker
        self.outputs = [rng.choice([4000, 4 * 1000 * 8, 300_000]) for _ in range(2)]
        image = 3 * 224 * 224 * rng.choice([1, 2, 4]) * rng.choice([1, 4, 8])
        self.blocks = [maker.allocate(rng.randrange(4 * MIB, 120 * MIB))]
        for _ in range(2):
            self.blocks.append(maker.allocate(rng.randrange(1 * MIB, 40 * MIB)))
            for _ in range(2):
                self.blocks += [maker.allocate(size) for size in (image, *self.outputs)]
        self.leases: list[int] = []

    def serve(self, rng: random.Random) -> None:
        """Serve one batch: its outputs are leased and some older ones dropped, in no order."""
        self.leases += [self.maker.allocate(size) for size in self.outputs]
        while len(self.leases) > 12:
            self.maker.free(self.leases.pop(rng.randrange(len(self.leases))))

    def unload(self, rng: random.Random) -> None:
        rng.shuffle(self.leases)
        for block in [*self.leases, *self.blocks]:
            self.maker.free(block)


def made_up(seed: int, batches: int) -> Iterator[str]:
    """Six models that serve at random; every 2,000 batches one is replaced, loading before unloading."""
    rng, maker = random.Random(seed), Maker()
    models = [Model(maker, rng) for _ in range(6)]
    for batch in range(batches):
        rng.choice(models).serve(rng)
        if batch % 2000 == 1999:
            leaving = rng.randrange(len(models))
            fresh = Model(maker, rng)
            models[leaving].unload(rng)
            models[leaving] = fresh
    for model in models:
        model.unload(rng)
    yield from maker.steps


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--history", type=Path, help="a file of steps, '+ ID BYTES' or '- ID' a line")
    parser.add_argument("--write", type=Path, help="keep the made-up history here")
    parser.add_argument("--batches", type=int, default=50_000, help="length of the made-up history")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=15)
    options = parser.parse_args()
    compiler = shutil.which("c++")
    if compiler is None:
        parser.error("no C++ compiler (c++) on the PATH")

    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder, "pool_replay")
        sources = [ROOT / "benchmarks" / "pool_replay.cpp", ROOT / "_ext" / "core" / "block_list.cpp"]
        flags = ["-std=c++17", "-O2", "-pthread", "-Wall", "-Wextra", "-Wconversion", "-Werror"]
        subprocess.run([compiler, *flags, f"-I{ROOT / '_ext'}", *sources, "-o", program], check=True)
        history = options.history
        if history is None:
            history = options.write or Path(folder, "history")
            history.write_text("\n".join(made_up(options.seed, options.batches)) + "\n")
        ran = subprocess.run([program, history, str(options.rounds)], stdout=subprocess.PIPE, text=True)
    if ran.returncode:
        sys.exit(ran.returncode)  # it has said why
    found = {name: float(value) for name, value in (line.split() for line in ran.stdout.splitlines())}
    active, reserved = found["peak_active_bytes"] / MIB, found["reserved_bytes"] / MIB
    print(f"{found['pairs']:.0f} allocations, at most {active:.0f} MiB active, {reserved:.0f} MiB reserved")
    print(f"upstream calls: {found['upstream_calls_first']:.0f} to warm up")
    print(f"fragmentation on the way, at worst: {found['worst_fragmentation']:.3f}")
    least = found["least_pool_bytes"]
    print(f"a fixed pool would need pool_bytes={least:.0f} ({least / MIB:.0f} MiB)")
    row(
        "memory pool, allocate and free, C++; upstream calls in the steady state",
        f"{found['pool_ns']:.0f} ns (malloc {found['malloc_ns']:.0f} ns); {found['upstream_calls_steady']:.0f}",
        f"{BUDGET_NS} ns; 0",
    )
    if found["upstream_calls_steady"]:
        sys.exit("the steady state called the upstream")


if __name__ == "__main__":
    main()
