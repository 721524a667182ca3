"""A model on the CPU beside itself and its damaged twins on the simulated card."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Iterator
from pathlib import Path

import onnx
import onnx_models as made
import pytest
import twin_models as twins

import ascend_infer as ai
from ascend_infer.comparison import Comparison, compare
from ascend_infer.simulator import Simulator

for _name in ("onnxruntime", "ascend_infer._native"):
    if importlib.util.find_spec(_name) is None:
        pytest.skip(f"{_name} is not there", allow_module_level=True)


@pytest.fixture(autouse=True)
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("ASCEND_INFER_CACHE", str(tmp_path / "cache"))
    with Simulator():
        yield


def on_both(tmp_path: Path, model: onnx.ModelProto) -> Comparison:
    right = made.model_directory(tmp_path, "right", twins.classifier(), twins.CONFIG)
    other = made.model_directory(tmp_path, "other", model, twins.CONFIG)
    with ai.Session(right, device="cpu") as a, ai.Session(other, device="sim") as b:
        return compare(a, b, [twins.pictures(seed=seed) for seed in (0, 1)])


def test_the_card_agrees_with_the_cpu(tmp_path: Path) -> None:
    found = on_both(tmp_path, twins.classifier())
    assert found
    assert found.outputs["scores"].same_class == 8
    assert "on sim:0" in found.b


@pytest.mark.parametrize(
    ("make", "kind"),
    [
        (twins.swapped_channels, "channels_swapped"),
        (twins.swapping_preprocessing, "channels_swapped"),
        (twins.shifted_rows, "rows_dropped"),
        (twins.half_weights, "half_precision"),
    ],
)
def test_a_damaged_twin_on_the_card(tmp_path: Path, make: Callable[[], onnx.ModelProto], kind: str) -> None:
    found = on_both(tmp_path, make())
    assert [finding.kind for finding in found.findings] == [kind]
    assert found.findings[0].verified
    assert found.verdict != "same"


def test_reversed_rows_with_padding_give_no_wrong_reason(tmp_path: Path) -> None:
    """Three rows run in a gear of four: reversed, the padding comes first."""
    right = made.model_directory(tmp_path, "right", twins.classifier(), twins.CONFIG)
    other = made.model_directory(tmp_path, "other", twins.reversed_rows(), twins.CONFIG)
    with ai.Session(right, device="cpu") as a, ai.Session(other, device="sim") as b:
        found = compare(a, b, twins.pictures(3))
    assert found.verdict == "differs"
    assert found.findings[0].kind == "rows_dropped"
    assert "row 0 of A's 'scores' is nowhere in B's" in found.findings[0].sentence
