"""Twins of classifiers whose rows give nearly the same answer: rounding must not pass for a lost row."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import softmax_twins as twins

import ascend_infer as ai
from ascend_infer.comparison import Comparison, compare

if importlib.util.find_spec("onnxruntime") is None:
    pytest.skip("onnxruntime is not installed", allow_module_level=True)


def compared(
    folder: Path, seed: int, damage: str = "none", *, rows: int = 4, rtol: float = 1e-3, noise: float = 0,
    half: bool = False, factor: float = 0, **model: Any,
) -> Comparison:  # fmt: skip
    b = twins.twin(seed, damage, half=half, factor=factor, noise=noise, **model)
    paths = twins.saved(twins.twin(seed, **model), folder, "a"), twins.saved(b, folder, "b")
    with ai.Session(paths[0], device="cpu") as first, ai.Session(paths[1], device="cpu") as second:
        return compare(first, second, twins.pictures(seed, rows), rtol=rtol)


@pytest.mark.parametrize(
    "model",
    [
        {},
        {"rows": 8},
        {"rows": 1},
        {"classes": 3, "scale": 2.0},
        {"classes": 100, "channels": 16},
        {"classes": 1, "last": "Sigmoid"},
        {"classes": 1, "last": "Sigmoid", "rows": 1},
    ],
    ids=str,
)
@pytest.mark.parametrize("rtol", [1e-3, 1e-4])
def test_a_half_precision_twin_is_never_called_a_row_or_a_channel(
    tmp_path: Path, model: dict[str, Any], rtol: float
) -> None:
    for seed in range(6):
        found = compared(tmp_path, seed, half=True, rtol=rtol, **model)
        assert {finding.kind for finding in found.findings} <= {"half_precision"}, (seed, found.sentence)


@pytest.mark.parametrize("half", [False, True], ids=["full", "half"])
@pytest.mark.parametrize("model", [{}, {"classes": 3}, {"classes": 1, "last": "Identity"}], ids=str)
@pytest.mark.parametrize(
    ("damage", "factor", "kind", "said"),
    [
        ("swapped", 0, "channels_swapped", "reversed on axis 1"),
        ("shifted", 0, "rows_dropped", "row 3 of A's 'scores' is nowhere in B's"),
        ("reversed", 0, "rows_reordered", "has A's rows [3, 2, 1, 0]"),
        ("row", 0, "rows_dropped", "row 0 of B's 'scores' is zero"),
        ("row", 3, "rows_damaged", "row 0"),
    ],
)
def test_the_damage_of_a_twin_keeps_its_verdict(
    tmp_path: Path, damage: str, factor: float, kind: str, said: str, model: dict[str, Any], half: bool
) -> None:
    found = compared(tmp_path, 1, damage, factor=factor, half=half, rtol=5e-3 if half else 1e-3, **model)
    [finding] = found.findings
    assert (finding.kind, finding.verified) == (kind, True), found.sentence
    assert said in finding.sentence


def test_a_place_that_is_always_lost_is_found_by_moving_the_rows_on(tmp_path: Path) -> None:
    [finding] = compared(tmp_path, 0, "row").findings
    assert finding.verified
    assert "B was run with the rows moved on by one and equals A for row 0" in finding.sentence


def test_rows_that_are_all_alike_have_wrong_places_all_the_same(tmp_path: Path) -> None:
    for factor, kind in ((0, "rows_dropped"), (3, "rows_damaged")):
        [finding] = compared(tmp_path, 0, "row", factor=factor, classes=1).findings
        assert (finding.kind, finding.verified) == (kind, True)
    # Rows of one class are all 1 behind a softmax: every order of them is the same.
    assert compared(tmp_path, 0, "reversed", classes=1).verdict == "same"


@pytest.mark.parametrize("model", [{}, {"classes": 1, "last": "Identity"}, {"classes": 2}], ids=str)
def test_slightly_other_weights_are_no_lost_row(tmp_path: Path, model: dict[str, Any]) -> None:
    for seed in range(6):
        found = compared(tmp_path, seed, noise=0.003, **model)
        assert not [one for one in found.findings if one.kind.startswith("rows")], (seed, found.sentence)


def test_swapped_channels_have_to_hold_on_a_second_request(tmp_path: Path) -> None:
    """An answer of a single number is near A's for one of many orders, by luck, and not again."""
    model = {"classes": 1, "last": "Identity"}
    a = twins.saved(twins.twin(17, **model), tmp_path, "a")
    b = twins.saved(twins.twin(17, noise=0.02, **model), tmp_path, "b")
    requests = twins.pictures(17, rows=1)
    with ai.Session(a, device="cpu") as first, ai.Session(b, device="cpu") as second:
        alone, together = (compare(first, second, feed) for feed in (requests[0], requests))
    assert [one.kind for one in alone.findings] == [
        "channels_swapped"
    ]  # there was nothing else to hold it against
    assert together.findings == ()


def test_a_row_that_is_wrong_by_itself_is_not_the_batchs_fault(tmp_path: Path) -> None:
    """A model that answers otherwise for one picture, wherever it stands, has lost no row."""
    a = twins.saved(twins.twin(0), tmp_path, "a")
    b = twins.saved(twins.twin(0, noise=0.1), tmp_path, "b")
    same = np.zeros((4, 3, twins.SIDE, twins.SIDE), np.float32)
    same[2] = twins.pictures(0)[0]["images"][0]
    with ai.Session(a, device="cpu") as first, ai.Session(b, device="cpu") as second:
        found = compare(first, second, {"images": same})
    assert (found.verdict, found.findings) == ("differs", ())
