"""Real models compiled for the simulated card: bit for bit what onnxruntime says of the same batch."""

from __future__ import annotations

import gc
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from real_inputs import file_features, line_of_print, read_speech, sentence_rows
from real_models import efficientnet_lite0, real_file

import ascend_infer as ai
from ascend_infer.errors import NoGearError
from ascend_infer.simulator import Simulator, SimulatorOptions, compile_model
from ascend_infer.types import Gear

pytestmark = pytest.mark.models
ort = pytest.importorskip("onnxruntime")

Array = np.ndarray[Any, Any]


@pytest.fixture(autouse=True)
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Simulator]:
    monkeypatch.setenv("ASCEND_INFER_CACHE", str(tmp_path / "cache"))
    # One thread here and there: how sums are split among threads is no part of a model.
    with Simulator(SimulatorOptions(threads=1)) as simulator:
        yield simulator
        gc.collect()
        assert simulator.stats().violations == {}


class Reference:
    """onnxruntime on the original file."""

    def __init__(self, model: Path) -> None:
        options = ort.SessionOptions()
        options.intra_op_num_threads = 1
        self.session = ort.InferenceSession(model, options, providers=["CPUExecutionProvider"])

    def __call__(self, feed: Mapping[str, Array]) -> dict[str, Array]:
        names = [output.name for output in self.session.get_outputs()]
        return dict(zip(names, self.session.run(names, feed), strict=True))


def assert_same_bits(got: Mapping[str, Array], expected: Mapping[str, Array]) -> None:
    assert set(got) == set(expected)
    for name, wanted in expected.items():
        array = got[name]
        assert (array.dtype, array.shape) == (wanted.dtype, wanted.shape), name
        same = array.tobytes() == np.ascontiguousarray(wanted).tobytes()
        assert same, f"{name}: largest difference {np.abs(array - wanted).max()}"


def directory(root: Path, model: Path, config: str) -> Path:
    folder = root / model.stem
    (folder / "1").mkdir(parents=True)
    shutil.copy(model, folder / "1" / "model.onnx")
    (folder / "config.pbtxt").write_text(config)
    return folder


def test_efficientnet_lite0(tmp_path: Path) -> None:
    model = efficientnet_lite0()
    photos = [real_file(name) for name in ("coffee.png", "china.jpg", "motorcycle_left.png", "rocket.jpg")]
    batch = ai.image.prepare(photos, "efficientnet_lite", size=224)
    reference = Reference(model)
    config = 'platform: "ge" max_batch_size: 4 dynamic_batching { preferred_batch_size: [ 2, 4 ] }'
    with ai.Session(directory(tmp_path, model, config), device="sim") as session:
        assert session.details["shapes"] == "batch, 3 compiled"
        for rows in (1, 2, 4):
            assert_same_bits(session.infer(batch[:rows]), reference({"images": batch[:rows]}))
        # Three run as four, and the fourth is cut off.
        padded = np.concatenate([batch[:3], np.zeros_like(batch[:1])])
        wanted = {name: array[:3] for name, array in reference({"images": padded}).items()}
        assert_same_bits(session.infer(batch[:3]), wanted)


def test_magika(tmp_path: Path) -> None:
    model = real_file("magika.onnx")
    names = ("coffee.png", "rocket.jpg", "speech.wav", "magika.json")
    batch = np.array([file_features(real_file(name)) for name in names], np.int32)
    reference = Reference(model)
    config = 'platform: "ge" max_batch_size: 4 dynamic_batching { preferred_batch_size: [ 4 ] }'
    with ai.Session(directory(tmp_path, model, config), device="sim") as session:
        for rows in (1, 4):
            assert_same_bits(session.infer(batch[:rows]), reference({"bytes": batch[:rows]}))


def test_silero_vad_static_with_its_state(tmp_path: Path) -> None:
    model = real_file("silero_vad_static.onnx")
    compile_model(model, tmp_path / "model.om")
    sound, reference = read_speech(), Reference(model)
    state, before, found = np.zeros((2, 1, 128), np.float32), np.zeros(64, np.float32), []
    with ai.Session(tmp_path / "model.om", device="sim") as session:
        assert session.details["shapes"].startswith("static")
        for start in range(0, 512 * 200, 512):
            chunk = sound[start : start + 512]
            feed = {"input": np.r_[before, chunk][None], "state": state}
            got = session.infer(feed)
            assert_same_bits(got, reference(feed))
            found.append(got["output"][0, 0] > 0.5)
            state, before = got["stateN"].copy(), chunk[-64:]
    assert 0.1 < np.mean(found) < 0.9


def test_minilm_with_gears_of_exact_lengths(tmp_path: Path) -> None:
    rows = sentence_rows(
        [
            "A cat sits on the mat.",
            "A kitten is resting on a rug.",
            "The stock market fell sharply today.",
            "Shares dropped.",
        ]
    )
    lengths = sorted({len(row) for row in rows})
    assert len(lengths) >= 3
    # Rows and length of each of the three inputs.
    gears = [Gear("dims", (1, length) * 3) for length in lengths] + [Gear("dims", (2, lengths[0]) * 3)]
    model = real_file("minilm.onnx")
    compile_model(model, tmp_path / "model.om", gears=gears)
    reference = Reference(model)

    def feed_of(row: list[int], count: int = 1) -> dict[str, Array]:
        ids = np.array([row] * count, np.int64)
        return {"input_ids": ids, "attention_mask": np.ones_like(ids), "token_type_ids": np.zeros_like(ids)}

    with ai.Session(tmp_path / "model.om", device="sim") as session:
        assert session.details["shapes"] == f"dims, {len(gears)} compiled"
        for row in rows:
            assert_same_bits(session.infer(feed_of(row)), reference(feed_of(row)))
        shortest = min(rows, key=len)
        assert_same_bits(session.infer(feed_of(shortest, 2)), reference(feed_of(shortest, 2)))
        # Padding would change what a sentence means: it is not done unasked.
        with pytest.raises(NoGearError, match=str(lengths[-1])):
            session.infer(feed_of(rows[0] * 3))


def test_ppocr_with_gears_of_exact_widths(tmp_path: Path) -> None:
    lines = [
        line_of_print((10, 15, 290, 30)),
        line_of_print((6, 49, 376, 63)),
        line_of_print((6, 84, 376, 101), 320),
    ]
    widths = [line.shape[2] for line in lines]
    model = real_file("ppocr_rec.onnx")
    gears = [Gear("dims", (1, width)) for width in widths] + [Gear("dims", (2, 320))]
    compile_model(model, tmp_path / "model.om", gears=gears, input_shapes={"x": (-1, 3, 48, -1)})
    reference = Reference(model)
    with ai.Session(tmp_path / "model.om", device="sim") as session:
        for line in lines:
            assert_same_bits(session.infer(line[None]), reference({"x": line[None]}))
        both = np.stack([lines[2], lines[2][..., ::-1]])
        assert_same_bits(session.infer(both), reference({"x": both}))
        with pytest.raises(NoGearError, match="320"):
            session.infer(line_of_print((6, 84, 376, 101), 300)[None])
