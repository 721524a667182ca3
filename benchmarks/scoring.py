"""Scoring photos: against loops written by hand on the CPU, against the device alone on the simulator.

    python benchmarks/scoring.py cpu [PHOTOS]
    python benchmarks/scoring.py sim
    python benchmarks/scoring.py memory [PHOTOS]

Photos are 640x480 JPEG files, cut out of scikit-image's and scikit-learn's. The model is EfficientNet-Lite0.
"""

from __future__ import annotations

import csv
import json
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime as ort
from measure import machine, row
from PIL import Image

import ascend_infer as ai

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "helpers"))

FOLDERS = 5
CORES = 2
PHOTOS = ("astronaut.png", "coffee.png", "motorcycle_left.png", "rocket.jpg", "china.jpg")


def make_photos(root: Path, count: int) -> list[Path]:
    """Write folders of photos: crops of real ones, mirrored or not, scaled to 640x480."""
    from real_models import real_file

    originals = [Image.open(real_file(name)).convert("RGB") for name in PHOTOS]
    draw = np.random.default_rng(7)
    folders = []
    for folder in range(FOLDERS):
        place = root / f"photos-{folder}"
        place.mkdir()
        folders.append(place)
        for number in range(count // FOLDERS):
            photo = originals[number % len(originals)]
            height = int(draw.uniform(0.4, 1.0) * min(photo.height, photo.width * 3 / 4))
            width = height * 4 // 3
            left = int(draw.integers(0, photo.width - width + 1))
            top = int(draw.integers(0, photo.height - height + 1))
            cut = photo.crop((left, top, left + width, top + height)).resize(
                (640, 480), Image.Resampling.BICUBIC
            )
            if draw.random() < 0.5:
                cut = cut.transpose(Image.Transpose.FLIP_LEFT_RIGHT)
            cut.save(place / f"{number:05d}.jpg", quality=90)
    return folders


def prepared(path: Path) -> Any:
    """Prepare a photo as one does by hand: the recipe of EfficientNet-Lite."""
    return pixels(Image.open(path).convert("RGB"))


def pixels(photo: Image.Image) -> Any:
    """Return what the model takes."""
    side = 224 * min(photo.size) // 256
    left, top = (photo.width - side + 1) // 2, (photo.height - side + 1) // 2
    cut = photo.crop((left, top, left + side, top + side))
    small = cut.resize((224, 224), Image.Resampling.BICUBIC)
    scaled = (np.asarray(small, np.float32) - 127) / 128
    return np.ascontiguousarray(scaled.transpose(2, 0, 1))[None]


def plain_loop(model: Path) -> Callable[[Path], dict[str, int]]:
    session = ort.InferenceSession(str(model))
    name = session.get_inputs()[0].name

    def run(folder: Path) -> dict[str, int]:
        return {
            path.name: int(session.run(None, {name: prepared(path)})[0].argmax())
            for path in sorted(folder.iterdir())
        }

    return run


def two_callers(model: Path) -> Callable[[Path], dict[str, int]]:
    """Return the best arrangement found by hand: a thread for each core that prepares and runs the same photo."""
    options = ort.SessionOptions()
    options.intra_op_num_threads = 1
    session = ort.InferenceSession(str(model), options)
    name = session.get_inputs()[0].name

    def run(folder: Path) -> dict[str, int]:
        todo, found = iter(sorted(folder.iterdir())), {}
        lock = threading.Lock()

        def work() -> None:
            while True:
                with lock:
                    path = next(todo, None)
                if path is None:
                    return
                found[path.name] = int(session.run(None, {name: prepared(path)})[0].argmax())

        threads = [threading.Thread(target=work) for _ in range(CORES)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return found

    return run


def ours(session: ai.Session, root: Path) -> Callable[[Path], dict[str, int]]:
    def run(folder: Path) -> dict[str, int]:
        out = root / f"{folder.name}.csv"
        session.score(folder, out=out, preprocess="efficientnet_lite", top_k=1, overwrite=True)
        with open(out, newline="") as file:
            return {line["id"]: int(line["label_1"]) for line in csv.DictReader(file)}

    return run


def on_cpu(count: int) -> None:
    from real_models import efficientnet_lite0

    model = efficientnet_lite0()
    print(machine())
    with tempfile.TemporaryDirectory() as name:
        folders = make_photos(Path(name), count)
        with ai.Session(model, device="cpu", instances=CORES, threads=1) as session:
            ways = {
                "plain": plain_loop(model), "by hand": two_callers(model), "score": ours(session, Path(name))
            }  # fmt: skip
            for run in ways.values():
                run(folders[0])
            seconds: dict[str, list[float]] = {way: [] for way in ways}
            answers: dict[str, dict[str, int]] = {way: {} for way in ways}
            for folder in folders:
                for way, run in ways.items():
                    begin = time.perf_counter()
                    found = run(folder)
                    seconds[way].append(time.perf_counter() - begin)
                    answers[way].update({f"{folder.name}/{photo}": label for photo, label in found.items()})
    for way in ("by hand", "score"):
        assert answers[way] == answers["plain"], f"{way}: another top 1 than the plain loop's"
    rates = {way: count / sum(found) for way, found in seconds.items()}
    for way, budget in (("plain", "1.36x"), ("by hand", "1.0x")):
        ratio = statistics.median(a / b for a, b in zip(seconds[way], seconds["score"], strict=True))
        row(
            f"scoring {count} photos, same top 1 on every one, over {'the plain loop' if way == 'plain' else way}",
            f"{ratio:.2f}x ({rates[way]:.0f} -> {rates['score']:.0f} photos/s)",
            budget,
        )


def on_simulator() -> None:
    """Share of the device alone, whose time model is that of a card ten times faster than a core's decoding."""
    import onnx_models as made

    from ascend_infer.simulator import Simulator, SimulatorOptions, TimeModel

    times = TimeModel(
        h2d_fixed_us=200, h2d_gbps=10, compute_fixed_us=1000, compute_item_us=1000, d2h_fixed_us=200
    )
    config = """
        platform: "ge" max_batch_size: 8
        input [ { name: "x" data_type: TYPE_FP32 dims: [ 3, 64, 64 ] } ]
        output [ { name: "y" data_type: TYPE_FP32 dims: [ 3, 64, 64 ] } ]
    """
    rows, shape = 8_000, (3, 64, 64)
    with tempfile.TemporaryDirectory() as name, Simulator(SimulatorOptions(time=times)):
        model = made.model_directory(Path(name), "scale", made.scale(2.0, dims=("n", *shape)), config)
        source = Path(name) / "rows.npy"
        np.save(source, np.random.default_rng(0).standard_normal((rows, *shape), np.float32))
        with ai.Session(model, device="sim", slots=3) as session:
            feed = {"x": np.zeros((8, *shape), np.float32)}
            shares = []
            for turn in range(3):
                alone = device_alone(session, feed, rows // 8)
                out = Path(name) / f"{turn}.parquet"
                done = session.score(source, out=out, batch=8, postprocess=mean)
                shares.append(done.rows_per_second / alone)
    row("scoring on the simulator over its device alone, batch 8", f"{statistics.median(shares):.3f}", "0.97")


def mean(arrays: dict[str, Any]) -> dict[str, float]:
    return {"mean": float(arrays["y"].mean())}


def device_alone(session: ai.Session, feed: dict[str, Any], runs: int) -> float:
    """Return rows a second of batches that are ready, as many callers as there are slots."""
    left = iter(range(runs))

    def work() -> None:
        for _ in left:
            session.infer(feed)

    threads = [threading.Thread(target=work) for _ in range(3)]
    begin = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return runs * len(feed["x"]) / (time.perf_counter() - begin)


CHILD = """
import resource, sys, json
import ascend_infer as ai
from ascend_infer import image
def peak(): return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
with ai.Session(sys.argv[1], device="cpu", instances=2, threads=1) as session:
    session.infer(image.prepare(sys.argv[2] + "/00000.jpg", "efficientnet_lite"))
    before = peak()
    session.score(sys.argv[2], out=sys.argv[3], preprocess="efficientnet_lite", **json.loads(sys.argv[4]))
    print(peak() - before)
"""


def memory(count: int) -> None:
    """Peak memory over that of the model after its first run."""
    from real_models import efficientnet_lite0

    with tempfile.TemporaryDirectory() as name:
        folder = make_photos(Path(name), count)[0]
        for what, options in (("top 5", {"top_k": 5}), ("all values", {"top_k": 0})):
            words = [efficientnet_lite0(), folder, Path(name) / f"{what}.parquet", json.dumps(options)]
            done = subprocess.run(
                [sys.executable, "-c", CHILD, *map(str, words)], capture_output=True, text=True, check=True
            )
            row(
                f"peak memory of scoring over the model, Parquet of {what}",
                f"{float(done.stdout):.0f} MB",
                "250 MB",
            )


def main(words: list[str]) -> int:
    if words[:1] == ["cpu"] and len(words) <= 2:
        on_cpu(int(words[1]) if len(words) > 1 else 2000)
    elif words == ["sim"]:
        on_simulator()
    elif words[:1] == ["memory"] and len(words) <= 2:
        memory(int(words[1]) if len(words) > 1 else 2000)
    else:
        print(__doc__)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
