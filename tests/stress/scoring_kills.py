"""kill -9 at random moments of scoring runs, and the bytes of what comes out in the end.

``.ci/campaign kills`` runs it: EfficientNet-Lite0 over 240 photos, one of them damaged, into Parquet, CSV and an .npz
folder in turn. A run is killed at a random moment of the time that a whole one takes, from the first line of Python on;
in one case of three the next one is killed as well.
"""

from __future__ import annotations

import hashlib
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent / "helpers"))
ROOT = HERE.parents[1]
PHOTOS = 240
OUTPUTS = ("y.parquet", "y.csv", "y")


def begin(words: list[str], folder: Path) -> subprocess.Popen[bytes]:
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "ASCEND_INFER_DEVICE": "cpu"}
    return subprocess.Popen(
        [sys.executable, "-m", "ascend_infer", "score", *words],
        cwd=folder, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
    )  # fmt: skip


def end(process: subprocess.Popen[bytes]) -> None:
    _, complaint = process.communicate()
    if process.returncode != 1:  # done, and one photo is damaged
        raise SystemExit(f"a run ended with {process.returncode}: {complaint.decode()}")


def content(path: Path) -> str:
    digest = hashlib.sha256()
    for file in sorted(path.iterdir()) if path.is_dir() else [path]:
        digest.update(file.name.encode() + b"\0" + file.read_bytes())
    return digest.hexdigest()


def main(times: int, seed: int) -> int:
    from photos import photo_folder
    from real_models import efficientnet_lite0

    draw = random.Random(seed)
    finished = resumed = 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        photos = photo_folder(folder, PHOTOS, (640, 480))
        (photos / "0123.jpg").write_bytes(b"\xff\xd8 damaged")
        words = [str(efficientnet_lite0()), "photos", "--preset", "efficientnet_lite", "--top-k", "3"]
        words += ["--part-rows", "16", "--quiet", "--out"]
        wanted, seconds = {}, 0.0
        for out in OUTPUTS:
            begun = time.monotonic()
            end(begin([*words, out], folder))
            seconds = max(seconds, time.monotonic() - begun)
            wanted[out] = content(folder / out)
            (folder / out).rename(folder / f"whole-{out}")
            (folder / f"{out}.manifest.json").unlink()
        for number in range(times):
            out = OUTPUTS[number % len(OUTPUTS)]
            moments = [draw.uniform(0, seconds) for _ in range(2 if draw.random() < 1 / 3 else 1)]
            for moment in moments:
                process = begin([*words, out], folder)
                try:
                    process.communicate(timeout=moment)
                    finished += 1
                except subprocess.TimeoutExpired:
                    process.send_signal(signal.SIGKILL)
                    process.communicate()
            resumed += bool(list(folder.glob(f"{out}.parts/part-*.json")))
            end(begin([*words, out], folder))
            if content(folder / out) != wanted[out]:
                raise SystemExit(
                    f"kill {number} at {moments} s: {out} is not that of a run that was never killed"
                )
            for path in (folder / out, folder / f"{out}.manifest.json"):
                path.rename(folder / f"last-{path.name}") if path.is_file() else _remove(path)
            print(
                f"{number + 1}: {out} killed after {', '.join(f'{m:.2f} s' for m in moments)}: same bytes",
                flush=True,
            )
            if list(folder.glob(f"{out}*")):
                raise SystemExit(
                    f"kill {number} at {moments} s left {sorted(map(str, folder.glob(f'{out}*')))}"
                )
    print(
        f"kills: {times} of {times} outputs the same to the byte; {resumed} runs went on from parts, {finished} were "
        f"over before the kill; seed {seed}"
    )
    return 0


def _remove(folder: Path) -> None:
    for path in folder.iterdir():
        path.unlink()
    folder.rmdir()


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), int(sys.argv[2])))
