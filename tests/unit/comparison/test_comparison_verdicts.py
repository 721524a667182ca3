"""Damaged twins of a model, and what is said of each."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
import pytest
import twin_models as twins

import ascend_infer as ai
from ascend_infer.comparison import Comparison, compare

if importlib.util.find_spec("onnxruntime") is None:
    pytest.skip("onnxruntime is not installed", allow_module_level=True)


def compared(tmp_path: Path, model: onnx.ModelProto, rows: int = 4, **options: object) -> Comparison:
    a, b = (twins.saved(item, tmp_path, name) for item, name in ((twins.classifier(), "a"), (model, "b")))
    with ai.Session(a, device="cpu") as first, ai.Session(b, device="cpu") as second:
        return compare(first, second, [twins.pictures(rows, seed) for seed in (0, 1)], **options)


def test_the_same_model_is_the_same(tmp_path: Path) -> None:
    found = compared(tmp_path, twins.classifier())
    assert (found.verdict, found.findings, bool(found)) == ("same", (), True)
    output = found.outputs["scores"]
    assert output.identical
    assert output.cosine == pytest.approx(1)
    assert (output.max_abs, output.outside, output.elements) == (0, 0, 2 * 4 * 6)
    assert (output.rows, output.same_class) == (8, 8)
    assert "bit for bit" in repr(found)


@pytest.mark.parametrize(
    ("make", "kind", "said"),
    [
        (
            twins.swapped_channels,
            "channels_swapped",
            "looks like channels swapped: B equals A with input 'images' reversed on axis 1 (3 channels, RGB for BGR)",
        ),
        (
            twins.swapping_preprocessing,
            "channels_swapped",
            "B equals A with input 'images' in the order [1, 2, 0] on axis 1",
        ),
        (
            twins.mirrored,
            "input_mirrored",
            "a mirrored input: B equals A with input 'images' reversed on axis 3",
        ),
        (
            twins.first_row_dropped,
            "rows_dropped",
            "a dropped row: row 0 of A's 'scores' is nowhere in B's; B gives 3 rows for 4; B was run on row 0 alone "
            "and equals A there, so the batch is what loses it",
        ),
        (
            twins.shifted_rows,
            "rows_dropped",
            "a dropped row: row 3 of A's 'scores' is nowhere in B's, and row 0 is there more than once",
        ),
        (twins.repeated_row, "rows_duplicated", "B gives 5 rows of 'scores' for 4, row 0 more than once"),
        (twins.reversed_rows, "rows_reordered", "B's 'scores' has A's rows [3, 2, 1, 0]"),
    ],
)
def test_each_damage_has_its_own_verdict(
    tmp_path: Path, make: Callable[[], onnx.ModelProto], kind: str, said: str
) -> None:
    found = compared(tmp_path, make())
    assert found.verdict == "differs"
    assert found.findings[0].kind == kind
    assert said in found.findings[0].sentence
    # Rows that are wrong when they run alone, as well as right ones, are a trial that was made.
    assert found.findings[0].verified or kind == "rows_duplicated"
    assert said in found.sentence
    assert not found


def test_weights_in_half_precision_are_recognised_by_running_the_other_so(tmp_path: Path) -> None:
    found = compared(tmp_path, twins.half_weights())
    [finding] = found.findings
    assert (finding.kind, finding.verified) == ("half_precision", True)
    assert "B equals A with its weights rounded to float16" in finding.sentence
    assert "A was run so on the CPU" in finding.sentence
    assert found.verdict in ("close", "differs")
    assert 0 < found.outputs["scores"].worst < 1e-2
    # The tolerance decides whether that is good enough, not the finding.
    assert compared(tmp_path, twins.half_weights(), rtol=0.05, atol=0.5).verdict == "close"
    strict = compared(tmp_path, twins.half_weights(), rtol=0, atol=1e-9)
    assert strict.verdict == "differs"
    assert strict.findings[0].kind == "half_precision"


def test_the_half_may_be_a_as_well(tmp_path: Path) -> None:
    half, full = (
        twins.saved(twins.half_weights(), tmp_path, "a"),
        twins.saved(twins.classifier(), tmp_path, "b"),
    )
    with ai.Session(half, device="cpu") as a, ai.Session(full, device="cpu") as b:
        [finding] = compare(a, b, twins.pictures()).findings
    assert finding.verified
    assert "A equals B with its weights rounded to float16" in finding.sentence


def test_rounded_weights_that_are_kept_in_32_bits_are_recognised_too(tmp_path: Path) -> None:
    rounded = {
        name: (array.view(np.uint32) & 0xFFFF0000).view(np.float32) if array.dtype == np.float32 else array
        for name, array in twins.weights().items()
    }
    # Cut off, not rounded to nearest: near enough to bfloat16 to be explained by it only in part.
    cut = compared(tmp_path, twins.classifier(rounded))
    assert not any(finding.verified for finding in cut.findings)
    halves = {
        name: array.astype(np.float16).astype(np.float32) if array.dtype == np.float32 else array
        for name, array in twins.weights().items()
    }
    [finding] = compared(tmp_path, twins.classifier(halves)).findings
    assert finding.verified
    assert "float16" in finding.sentence


def test_halves_that_rounding_does_not_reproduce_are_said_from_the_files_and_not_as_tried(
    tmp_path: Path,
) -> None:
    def noisy(array: np.ndarray) -> np.ndarray:
        random = np.random.default_rng(5).standard_normal(array.shape)
        return (array * (1 + 0.01 * random)).astype(np.float32) if array.dtype == np.float32 else array

    found = compared(tmp_path, twins.half_weights({name: noisy(a) for name, a in twins.weights().items()}))
    [finding] = found.findings
    assert (finding.kind, finding.verified) == ("half_precision", False)
    assert "B's file holds 2 weights of FP16 and A's none" in finding.sentence
    assert "rounding A's weights alone reproduces" in finding.sentence


def test_other_weights_are_no_usual_mistake(tmp_path: Path) -> None:
    other = {"matrix": np.random.default_rng(9).standard_normal((256, 6)).astype(np.float32)}
    found = compared(tmp_path, twins.classifier(other))
    assert (found.verdict, found.findings) == ("differs", ())
    assert "no usual mistake explains it" in found.sentence
    assert found.outputs["scores"].same_class < 8


def test_a_swapped_output_is_seen_in_it(tmp_path: Path) -> None:
    matrix = np.ascontiguousarray(twins.weights()["matrix"][:, ::-1])
    [finding] = compared(tmp_path, twins.classifier({"matrix": matrix})).findings
    assert finding.kind == "output_swapped"
    assert "B's 'scores' is A's with axis 1 reversed" in finding.sentence


def test_rows_that_are_all_the_same_say_nothing_about_rows(tmp_path: Path) -> None:
    a, b = twins.saved(twins.classifier(), tmp_path, "a"), twins.saved(twins.shifted_rows(), tmp_path, "b")
    same = np.repeat(twins.pictures(1)["images"], 4, axis=0)
    with ai.Session(a, device="cpu") as first, ai.Session(b, device="cpu") as second:
        assert compare(first, second, {"images": same}).verdict == "same"


def test_explaining_can_be_left_out(tmp_path: Path) -> None:
    assert compared(tmp_path, twins.swapped_channels(), explain=False).findings == ()


def test_one_row_damaged(tmp_path: Path) -> None:
    def last() -> list[onnx.NodeProto]:
        from onnx import helper

        return [helper.make_node("Mul", ["logits", "factors"], ["scores"])]

    for factor, kind in ((0, "rows_dropped"), (7, "rows_damaged")):
        factors = np.array([[1], [1], [factor], [1]], np.float32)
        model = twins.classifier(last=last, extra={"factors": factors})
        found = compared(tmp_path, model)
        assert found.findings[0].kind == kind
        assert "row 2 of B's 'scores'" in found.findings[0].sentence
