"""What `import ascend_infer` adds to `import numpy`, each in a fresh interpreter, in turn."""

from __future__ import annotations

import statistics
import subprocess
import sys
import time

from measure import machine, row

ROUNDS = 25


def seconds(code: str) -> float:
    begin = time.perf_counter()
    subprocess.run([sys.executable, "-c", code], check=True)
    return time.perf_counter() - begin


def main() -> None:
    print(machine())
    cases = {
        "import ascend_infer": "import numpy, ascend_infer",
        "from ascend_infer import Session": "import numpy; from ascend_infer import Session",
    }
    times: dict[str, list[float]] = {name: [] for name in ("numpy", *cases)}
    for _ in range(ROUNDS):
        times["numpy"].append(seconds("import numpy"))
        for name, code in cases.items():
            times[name].append(seconds(code))
    for name, budget in zip(cases, ("40 ms", "40 ms"), strict=True):
        added = [b - a for a, b in zip(times["numpy"], times[name], strict=True)]
        row(f"{name} over import numpy", f"+{statistics.median(added) * 1e3:.1f} ms", budget)


if __name__ == "__main__":
    main()
