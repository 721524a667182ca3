"""What all counters cost a request: alone in its batch, and in a batch of 32.

python benchmarks/counters.py
"""

from __future__ import annotations

from collections.abc import Callable

from measure import machine, pair, row

from ascend_infer._native import ModelCounters

#: Requests a call, so that the loop around them is not what is measured.
REQUESTS = 320


def nothing(*arguments: object) -> None:
    pass


def requests(batch: Callable[..., object], request: Callable[..., object], rows: int) -> Callable[[], object]:
    """Report batches of ``rows`` requests, as the scheduler does."""

    def run() -> None:
        for first in range(0, REQUESTS, rows):
            batch(rows, 0, 10_000, 2_000_000, 20_000)
            for each in range(rows):
                request(1, 3_000_000 + first * 1_000, each * 7_000, 10_000, 2_000_000, 20_000)

    return run


def main() -> None:
    print(machine())
    counters = ModelCounters()
    for rows in (1, 32):
        base, ours, _ = pair(
            requests(nothing, nothing, rows),
            requests(counters.record_batch, counters.record_request, rows),
            rounds=15,
            calls=200,
        )
        row(
            f"all counters of a request, batches of {rows}, called from Python",
            f"{ours / REQUESTS * 1e9:.0f} ns (empty functions in their place: {base / REQUESTS * 1e9:.0f} ns)",
            "300 ns",
        )
    base, ours, _ = pair(lambda: None, counters.snapshot, rounds=5, calls=200)
    row("a snapshot", f"{ours * 1e6:.0f} us", "")


if __name__ == "__main__":
    main()
