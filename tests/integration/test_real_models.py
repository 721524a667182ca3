"""Real models on real pictures, text and speech: the known answers, through nothing but a model directory."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from real_inputs import file_features, line_of_print, read_speech, sentence_rows
from real_models import efficientnet_lite0, real_file

import ascend_infer as ai

pytestmark = pytest.mark.models
pytest.importorskip("onnxruntime")

Array = np.ndarray[Any, Any]


def directory(root: Path, model: Path, config: str | None = None) -> Path:
    folder = root / model.stem
    (folder / "1").mkdir(parents=True)
    shutil.copy(model, folder / "1" / "model.onnx")
    if config is not None:
        (folder / "config.pbtxt").write_text(config)
    return folder


@pytest.fixture(scope="module")
def classifier(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = directory(
        tmp_path_factory.mktemp("repository"),
        efficientnet_lite0(),
        """
        name: "efficientnet_lite0"
        platform: "onnxruntime_onnx"
        max_batch_size: 8
        input [ { name: "images" data_type: TYPE_FP32 dims: [ 3, 224, 224 ] } ]
        output [ { name: "logits" data_type: TYPE_FP32 dims: [ 1000 ] label_filename: "labels.txt" } ]
        """,
    )
    names = json.loads(real_file("imagenet_labels.json").read_text())
    (folder / "labels.txt").write_text("\n".join(names) + "\n")
    return folder


def test_photos_are_what_they_show(classifier: Path) -> None:
    names = ["coffee.png", "china.jpg", "motorcycle_left.png"]
    photos = [real_file(name) for name in names]
    batch = ai.image.prepare(photos, "efficientnet_lite", size=224)
    with ai.Session(classifier) as session:
        rows = session.infer({"images": batch}).top_k("logits", 5, softmax=True)
        assert [row[0].label for row in rows] == ["espresso", "palace", "moped"]
        assert [row[0].index for row in rows] == [967, 698, 665]
        assert rows[0][0].score == pytest.approx(0.951, abs=0.002)
        for photo, row in zip(photos, rows, strict=True):
            one = ai.image.prepare(photo, "efficientnet_lite", size=224)
            alone = session.infer(one).top_k(softmax=True)[0]
            assert alone[0].label == row[0].label
            assert alone[0].score == pytest.approx(row[0].score, abs=1e-4)


def test_file_types_from_raw_bytes(tmp_path: Path) -> None:
    wanted = {"coffee.png": "png", "rocket.jpg": "jpeg", "speech.wav": "wav", "magika.json": "json"}

    batch = np.array([file_features(real_file(name)) for name in wanted], np.int32)
    labels = json.loads(real_file("magika.json").read_text())["target_labels_space"]
    # No config.pbtxt: completed from the file, Triton's default batch of 4.
    with ai.Session(directory(tmp_path, real_file("magika.onnx"))) as session:
        assert session.config.max_batch_size == 4
        scores = session.infer({"bytes": batch})["target_label"]
    assert [labels[index] for index in scores.argmax(1)] == list(wanted.values())


def test_sentences_that_mean_the_same_are_near(tmp_path: Path) -> None:
    sentences = [
        "A cat sits on the mat.",
        "A kitten is resting on a rug.",
        "The stock market fell sharply today.",
        "Shares dropped in heavy trading.",
    ]
    rows = sentence_rows(sentences)
    width = max(map(len, rows))
    ids = np.array([row + [0] * (width - len(row)) for row in rows], np.int64)
    mask = np.array([[1] * len(row) + [0] * (width - len(row)) for row in rows], np.int64)
    config = 'name: "minilm" backend: "onnxruntime" max_batch_size: 16'
    folder = directory(tmp_path, real_file("minilm.onnx"), config)
    with ai.Session(folder) as session:
        hidden = session(input_ids=ids, attention_mask=mask, token_type_ids=ids * 0)["last_hidden_state"]
    means = (hidden * mask[..., None]).sum(1) / mask.sum(1, keepdims=True)
    means /= np.linalg.norm(means, axis=1, keepdims=True)
    near = means @ means.T
    assert near[0, 1] == pytest.approx(0.65, abs=0.03)
    assert near[0, 2] == pytest.approx(0.09, abs=0.03)
    assert near[2, 3] > 0.55


def speech_share(session: ai.Session, sound: Array, keep_state: bool) -> Array:
    state, before, found = np.zeros((2, 1, 128), np.float32), np.zeros(64, np.float32), []
    for start in range(0, len(sound) - 511, 512):
        chunk = sound[start : start + 512]
        result = session.infer({"input": np.r_[before, chunk][None], "state": state, "sr": 16000})
        found.append(result["output"][0, 0])
        if keep_state:
            state, before = result["stateN"], chunk[-64:]
    return np.array(found) > 0.5


def test_speech_is_found_with_the_state_carried_by_hand(tmp_path: Path) -> None:
    sound = read_speech()
    with ai.Session(directory(tmp_path, real_file("silero_vad.onnx"))) as session:
        found = speech_share(session, sound, keep_state=True)
        assert len(found) == 1875
        assert found.mean() == pytest.approx(0.774, abs=0.002)
        # Without its state it says something else: a lost or crossed state would show.
        assert (speech_share(session, sound[: 512 * 300], keep_state=False) != found[:300]).mean() > 0.05


def test_lines_of_a_page_are_read(tmp_path: Path) -> None:
    lines = {
        (10, 15, 290, 30): "Region-based",
        (6, 49, 376, 63): "Let us first determine markers of the coins and the",
        (6, 84, 376, 101): "unambiguously as either object or background",
    }
    model = real_file("ppocr_rec.onnx")
    properties = {entry.key: entry.value for entry in onnx.load(model).metadata_props}
    alphabet = ["", *properties["character"].splitlines(), " "]
    config = 'name: "ppocr_rec" platform: "onnxruntime_onnx" max_batch_size: 6'
    with ai.Session(directory(tmp_path, model, config)) as session:
        for box, text in lines.items():
            scores = next(iter(session.infer(line_of_print(box)[None]).values()))[0]
            best = scores.argmax(1)
            read = "".join(alphabet[c] for i, c in enumerate(best) if c and (i == 0 or best[i - 1] != c))
            assert read.startswith(text[: len(read)])
            assert len(read) >= len(text)


def test_a_detector_whose_declared_shape_is_a_dummy_finds_the_face(tmp_path: Path) -> None:
    from PIL import Image

    model = real_file("centerface.onnx")
    with ai.Session(model) as session:
        assert [str(spec) for spec in session.inputs] == ["input.1: FP32[10, 3, 32, 32]"]
        assert len(session.inputs) == 1  # its 194 weights are listed as inputs too
    outputs = "".join(
        f'output {{ name: "{name}" dims: [ -1, {channels}, -1, -1 ] data_type: TYPE_FP32 }}\n'
        for name, channels in (("537", 1), ("538", 2), ("539", 2), ("540", 10))
    )
    folder = directory(
        tmp_path,
        model,
        'name: "centerface" platform: "onnxruntime_onnx"\n'
        f'input {{ name: "input.1" data_type: TYPE_FP32 dims: [ -1, 3, -1, -1 ] }}\n{outputs}',
    )
    photo = np.asarray(Image.open(real_file("astronaut.png")).convert("RGB"), np.float32)
    with ai.Session(folder) as session:
        heat = session.infer(photo.transpose(2, 0, 1)[None], outputs=["537"])["537"][0, 0]
    y, x = np.unravel_index(heat.argmax(), heat.shape)
    assert heat.max() > 0.8
    assert 180 < x * 4 < 270
    assert 58 < y * 4 < 178
