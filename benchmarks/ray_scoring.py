"""Scoring photos on a Ray of this machine: the same rows as the local run, an NPU for each actor, and how fast.

    .ci/campaign ray [PHOTOS]            an environment with Ray, then this
    python benchmarks/ray_scoring.py [PHOTOS]

Needs `pip install '.[cpu,ray]' onnx`. The NPUs are simulated ones. Times are those of whole runs on a Ray that is up;
each way has had a run on a few photos before. How long that takes a second time is said too: Ray's actors take a while.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

# Before Ray is imported: no reports home, and no noise about what this benchmark does not use.
os.environ.update(RAY_USAGE_STATS_ENABLED="0", RAY_AUTH_MODE="disabled", RAY_DATA_DISABLE_PROGRESS_BARS="1")

import numpy as np
import pyarrow.parquet as pq
import ray
from measure import machine, row
from PIL import Image
from scoring import CORES, make_photos, pixels, prepared

import ascend_infer as ai
from ascend_infer.scoring.ray import Scorer, pin, score_dataset

HERE = Path(__file__).parent
OPTIONS: dict[str, Any] = {"preprocess": "efficientnet_lite", "top_k": 5, "batch": 1}
SINGLE = {"instances": 1, "threads": 1}
FEW = 16
POOL = ray.data.ActorPoolStrategy(size=CORES)


class OnOneThread:
    """A model in onnxruntime, as each actor of one CPU has it."""

    def __init__(self, model: str) -> None:
        import onnxruntime as ort

        options = ort.SessionOptions()
        options.intra_op_num_threads = 1
        self._session = ort.InferenceSession(model, options)
        self._name = self._session.get_inputs()[0].name


class ByHand(OnOneThread):
    """What one writes without this package: Pillow and onnxruntime in an actor."""

    def __call__(self, batch: Mapping[str, Any]) -> dict[str, Any]:
        found = [self._session.run(None, {self._name: prepared(path)})[0].argmax() for path in batch["path"]]
        return {"id": batch["path"], "label_1": np.array(found)}


class Predictor(OnOneThread):
    """The model's part of Ray's own guide to offline inference: pictures come read and prepared."""

    def __call__(self, batch: Mapping[str, Any]) -> dict[str, Any]:
        scores = self._session.run(None, {self._name: np.stack(list(batch["x"]))})[0]
        return {"id": batch["path"], "label_1": scores.argmax(axis=1)}


def transformed(item: Mapping[str, Any]) -> dict[str, Any]:
    """The preparing part of it."""
    return {"path": item["path"], "x": pixels(Image.fromarray(item["image"]))[0]}


class WithItsCard(Scorer):
    """Tells which card Ray gave the actor."""

    def __call__(self, batch: Mapping[str, Any]) -> Any:
        table = super().__call__(batch)
        card = os.environ.get("ASCEND_RT_VISIBLE_DEVICES", "")
        return table.append_column("card", [[card] * table.num_rows])


def paths(folder: Path) -> Any:
    """Return a data set of the photos' paths: each actor reads its own."""
    return ray.data.from_items([{"path": str(path)} for path in sorted(folder.iterdir())]).repartition(16)


def rows_of(place: Path) -> dict[str, dict[str, Any]]:
    """Return the rows of a Parquet file, or of a folder of them, by photo."""
    rows = pq.read_table(place).to_pylist()
    return {os.path.basename(item.pop("id")): item for item in rows}


def timed(work: Callable[[], object]) -> float:
    begin = time.perf_counter()
    work()
    return time.perf_counter() - begin


def main(count: int) -> None:
    sys.path.insert(0, str(HERE.parent / "tests" / "helpers"))
    from real_models import efficientnet_lite0

    model = efficientnet_lite0()
    print(f"{machine()}; ray {ray.__version__}")
    with tempfile.TemporaryDirectory() as name:
        root = Path(name)
        photos = make_photos(root, 5 * count)[0]
        cached = str(root / "cache")
        settings = {
            "PYTHONPATH": os.pathsep.join([str(HERE), os.environ.get("PYTHONPATH", "")]),
            "ACLSIM_CONFIG": f'{{"devices": {CORES}}}',
            "ASCEND_INFER_CACHE": cached,
        }
        ray.init(
            # Actors hold a CPU each for as long as they live; reading and writing need some too.
            num_cpus=CORES + 2,
            resources={"NPU": CORES},
            include_dashboard=False,
            log_to_driver=False,
            runtime_env={"env_vars": settings},
        )
        try:
            compare(model, photos, root)
            cards(model, photos, root)
            pinned(model, photos, root)
        finally:
            ray.shutdown()


def compare(model: Path, photos: Path, root: Path) -> None:
    """Score locally, with our scorer on Ray, and with one by hand: the same answers, and their rates."""

    def here(folder: Path, out: Path) -> None:
        with ai.Session(model, device="cpu", instances=CORES, threads=1) as session:
            session.score(folder, out=out.with_suffix(".parquet"), progress=False, **OPTIONS)

    def on_ray(folder: Path, out: Path) -> None:
        asked: dict[str, Any] = {
            "device": "cpu",
            "actors": CORES,
            "cpus": 1,
            "column": "path",
            "session": SINGLE,
        }
        score_dataset(paths(folder), model, **asked, **OPTIONS).write_parquet(str(out))

    def by_hand(folder: Path, out: Path) -> None:
        asked: dict[str, Any] = {"fn_constructor_args": [str(model)], "batch_size": 64, "num_cpus": 1}
        scored = paths(folder).map_batches(ByHand, compute=POOL, batch_format="numpy", **asked)
        scored.write_parquet(str(out))

    def by_guide(folder: Path, out: Path) -> None:
        pictures = ray.data.read_images(str(folder), include_paths=True, mode="RGB").map(transformed)
        asked: dict[str, Any] = {"fn_constructor_args": [str(model)], "batch_size": 16, "num_cpus": 1}
        pictures.map_batches(Predictor, compute=POOL, batch_format="numpy", **asked).write_parquet(str(out))

    few = root / "few"
    few.mkdir()
    for path in sorted(photos.iterdir())[:FEW]:
        (few / path.name).symlink_to(path)
    number = len(list(photos.iterdir()))
    seconds, starts = {}, {}
    for work in (here, on_ray, by_hand, by_guide):
        work(few, root / f"first_{work.__name__}")
        starts[work.__name__] = timed(lambda work=work: work(few, root / f"few_{work.__name__}"))
        seconds[work.__name__] = timed(lambda work=work: work(photos, root / work.__name__))
    wanted = rows_of(root / "here.parquet")
    assert len(wanted) == number
    assert rows_of(root / "on_ray") == wanted, "Ray's rows are not the local run's"
    top = {photo: int(item["label_1"]) for photo, item in wanted.items()}
    for way in ("by_hand", "by_guide"):
        assert {photo: item["label_1"] for photo, item in rows_of(root / way).items()} == top
    print(f"{number} photos: the rows of Ray are those of the local run, each label and score")
    for name, way, base, budget in (
        ("Session.score over Ray Data as its guide shows", "here", "by_guide", "1.5x"),
        ("Session.score over Ray Data with all of it in one actor by hand", "here", "by_hand", ""),
        ("scoring.ray.Scorer over the same", "on_ray", "by_hand", "1.0x"),
    ):
        row(name, f"{seconds[base] / seconds[way]:.2f}x", budget)
    print(
        "seconds, of that to score a few: "
        + ", ".join(f"{name} {took:.1f}, {starts[name]:.1f}" for name, took in seconds.items())
    )


def cards(model: Path, photos: Path, root: Path) -> None:
    """Score with an NPU for each actor: Ray gives each its own, and the rows are the same top 1."""
    some = ray.data.from_items([{"path": str(path)} for path in sorted(photos.iterdir())[:64]]).repartition(8)
    out = root / "cards"
    scored = some.map_batches(
        WithItsCard,
        fn_constructor_kwargs={
            **pin(model),
            "device": "npu" if npu() else "sim",
            "column": "path",
            **OPTIONS,
        },
        compute=POOL,
        batch_size=8,
        batch_format="numpy",
        num_cpus=1,
        resources={"NPU": 1},
    )
    scored.write_parquet(str(out))
    found = rows_of(out)
    seen = {item["card"] for item in found.values()}
    assert seen <= {str(card) for card in range(CORES)}, seen
    assert not any(item["error"] for item in found.values())
    wanted = rows_of(root / "here.parquet")
    same = sum(item["label_1"] == wanted[photo]["label_1"] for photo, item in found.items())
    print(f"{len(found)} photos on the cards {', '.join(sorted(seen))}: {same} have the local run's top 1")
    assert same == len(found)


def npu() -> bool:
    """Whether this machine has a real one."""
    return any(Path("/dev").glob("davinci[0-9]*"))


def pinned(model: Path, photos: Path, root: Path) -> None:
    """A node whose files are not those that were pinned refuses, and says which."""
    other = root / "node" / "model.onnx"
    other.parent.mkdir()
    other.write_bytes(model.read_bytes())
    scored = score_dataset(paths(photos), other, device="cpu", cpus=1, column="path", **OPTIONS)
    with open(other, "ab") as file:
        file.write(b"\x32\x01x")  # another doc_string: the same model, other bytes
    said = ""
    try:
        scored.take(1)
    except Exception as error:
        said = str(error)
    assert "differ in model.onnx" in said, said or "other files than the pinned ones were taken"
    print("other files than the pinned ones are refused, by name")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1000)
