"""Real models give the same bits through onnxruntime's library as through its Python module, from any thread."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import numpy as np
import onnx_ways
import pytest
from real_models import efficientnet_lite0, real_file

from ascend_infer import backends
from ascend_infer.backends.base import BackendOptions, LoadRequest
from ascend_infer.types import DataType

pytestmark = pytest.mark.models
pytest.importorskip("onnxruntime")

Array = np.ndarray[Any, Any]
CHANCE = np.random.default_rng(7)


def floats(*shape: int) -> Array:
    return CHANCE.standard_normal(shape).astype(np.float32)


def whole(below: int, *shape: int, dtype: Any = np.int64) -> Array:
    return CHANCE.integers(0, below, shape).astype(dtype)


def tokens(rows: int) -> dict[str, Array]:
    return {
        "input_ids": whole(30000, rows, 12),
        "attention_mask": np.ones((rows, 12), np.int64),
        "token_type_ids": np.zeros((rows, 12), np.int64),
    }


#: Per model its inputs in two sizes where it takes any.
FEEDS: dict[str, list[dict[str, Array]]] = {
    "efficientnet_lite0": [{"images": floats(rows, 3, 224, 224)} for rows in (1, 3)],
    "magika.onnx": [{"bytes": whole(257, rows, 2048, dtype=np.int32)} for rows in (1, 4)],
    "minilm.onnx": [tokens(rows) for rows in (1, 3)],
    "ppocr_rec.onnx": [{"x": floats(rows, 3, 48, 160)} for rows in (1, 2)],
    "silero_vad.onnx": [
        {"input": floats(rows, 576), "state": np.zeros((2, rows, 128), np.float32), "sr": np.array(16000)}
        for rows in (1, 2)
    ],
    "centerface.onnx": [{"input.1": floats(*shape)} for shape in ((1, 3, 64, 96), (1, 3, 128, 64))],
}


@pytest.mark.parametrize("name", FEEDS)
def test_the_same_bits_both_ways(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    path: Path = efficientnet_lite0() if name == "efficientnet_lite0" else real_file(name)
    runs = {}
    for way in onnx_ways.WAYS:
        with monkeypatch.context() as patch:
            onnx_ways.take(way, patch)
            # Fixed dims that the exporter left behind are no matter here.
            relaxed = frozenset({"input.1"}) if name == "centerface.onnx" else frozenset()
            options = BackendOptions(threads=1, relaxed=relaxed)
            model = backends.create("onnx").load(LoadRequest(name, path, options))
        assert model.details["interface"] == way
        runs[way] = model.executables()[0]
    outputs = tuple(tensor.name for tensor in model.spec.outputs)
    assert DataType.BYTES not in {tensor.dtype for tensor in model.spec.outputs}
    feeds = [
        {tensor.name: feed[tensor.name] for tensor in model.spec.inputs if tensor.name in feed}
        for feed in FEEDS[name]
    ]
    expected = [runs["Python"].execute(feed, outputs) for feed in feeds]
    wrong: list[str] = []

    def same(got: Any, wanted: list[Array]) -> bool:
        return isinstance(got, list) and all(
            a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()
            for a, b in zip(got, wanted, strict=True)
        )

    def work(number: int) -> None:
        for step in range(2):
            which = (number + step) % len(feeds)
            if not same(runs["C"].execute(feeds[which], outputs), expected[which]):
                wrong.append(f"thread {number}, feed {which}")

    assert all(map(same, runs["C"].execute_many(feeds, outputs), expected))
    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
