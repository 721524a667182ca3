"""How far apart two arrays are said to be."""

from __future__ import annotations

import numpy as np
import pytest

from ascend_infer.comparison import OutputAgreement, Tolerance
from ascend_infer.comparison.shown import output_row
from ascend_infer.errors import InvalidOptionError

NAN, INF = np.nan, np.inf


def agreement(*pairs: tuple[object, object], **tolerance: float) -> OutputAgreement:
    found = OutputAgreement("y", "y")
    for a, b in pairs:
        found.add(np.asarray(a), np.asarray(b), Tolerance(**tolerance))
    return found


def f32(*values: float) -> np.ndarray:
    return np.array(values, np.float32)


def test_differences_cosine_and_tolerance() -> None:
    found = agreement((f32(1, 2, 4), f32(1, 2, 5)), rtol=0.1, atol=0)
    assert (found.max_abs, found.max_rel, found.outside, found.elements) == (1, 0.2, 1, 3)
    assert found.worst == 0.25
    assert found.cosine == pytest.approx(25 / np.sqrt(21 * 30))
    assert not found.identical
    assert agreement((f32(1, 2, 4), f32(1, 2, 5)), rtol=0.25, atol=0).within
    assert agreement((f32(1, 2, 4), f32(1, 2, 5)), rtol=0, atol=1).within


def test_the_usual_absolute_tolerance_follows_the_output() -> None:
    assert agreement((f32(0, 1000), f32(0.09, 1000))).within
    assert not agreement((f32(0, 1000), f32(0.11, 1000))).within
    assert not agreement((f32(0, 1), f32(0.09, 1))).within


def test_requests_are_added_up() -> None:
    found = agreement((f32(1, 0), f32(1, 0)), (f32(0, 3), f32(0, -3)))
    assert (found.max_abs, found.elements, found.outside) == (6, 4, 1)
    assert found.cosine == pytest.approx((1 - 9) / 10)
    assert not found.identical


@pytest.mark.parametrize(
    ("a", "b", "counts", "within"),
    [
        (f32(NAN, 1), f32(NAN, 1), (1, 1, 0), True),
        (f32(INF, 1), f32(INF, 1), (1, 1, 0), True),
        (f32(INF, 1), f32(-INF, 1), (1, 1, 1), False),
        (f32(NAN, 1), f32(INF, 1), (1, 1, 1), False),
        (f32(2, 1), f32(NAN, 1), (0, 1, 1), False),
        (f32(NAN, 1), f32(2, 1), (1, 0, 1), False),
        (f32(NAN, NAN), f32(NAN, NAN), (2, 2, 0), True),
    ],
)
def test_nan_and_infinity(a: np.ndarray, b: np.ndarray, counts: tuple[int, ...], within: bool) -> None:
    found = agreement((a, b))
    assert (found.not_finite, found.within) == (counts, within)
    assert found.worst == (0 if within else INF)
    # What is finite in both is the same.
    assert (found.max_abs, found.cosine) == (0, 1)


def test_a_zero_vector_has_no_direction() -> None:
    assert agreement((f32(0, 0), f32(0, 0))).cosine == 1
    assert agreement((f32(0, 0), f32(0, 1))).cosine == 0


def test_types_differ_and_values_do_not() -> None:
    found = agreement((f32(1, 2), np.array([1, 2], np.float16)))
    assert (found.types, found.same_type, found.within, found.identical) == (
        ("FP32", "FP16"),
        False,
        True,
        False,
    )


def test_bfloat16_is_compared_by_its_values() -> None:
    bfloat16 = pytest.importorskip("ml_dtypes", reason="ml_dtypes is not installed").bfloat16
    found = agreement((f32(1, 2), np.array([1, 2.5], bfloat16)))
    assert (found.types[1], found.max_abs) == ("BF16", 0.5)


def test_shapes_that_differ_are_not_compared() -> None:
    found = agreement((f32(1, 2), f32(1, 2)), (f32(1, 2), f32(1, 2, 3)))
    assert (found.same_shape, found.shapes, found.within, found.elements) == (False, ((2,), (3,)), False, 2)


def test_classes_are_the_highest_scores_of_each_row() -> None:
    a = np.array([[1, 2, 3], [9, 1, 1], [0, 5, 0]], np.float32)
    b = np.array([[1, 2, 4], [1, 9, 1], [0, 6, 0]], np.float32)
    found = agreement((a, b))
    assert (found.rows, found.same_class) == (3, 2)
    assert agreement((a.astype(np.int64), b.astype(np.int64))).rows == 0
    assert agreement((a[:, :1], b[:, :1])).rows == 0


def test_text_is_the_same_or_not() -> None:
    a = np.array([b"one", "two"], dtype=object)
    found = agreement((a, np.array(["one", "two"], dtype=object)))
    assert (found.identical, found.within, found.cosine, found.types) == (
        True,
        True,
        None,
        ("BYTES", "BYTES"),
    )
    other = agreement((a, np.array(["one", "three"], dtype=object)))
    assert (other.identical, other.outside) == (False, 1)


def test_complex_and_truth_values_and_empty_ones() -> None:
    assert agreement((np.array([1 + 1j]), np.array([1 - 1j]))).max_abs == 2
    assert agreement((np.array([True, False]), np.array([True, True]))).outside == 1
    empty = agreement((np.zeros((0, 3)), np.zeros((0, 3))))
    assert (empty.identical, empty.within, empty.cosine) == (True, True, 1)


def test_tolerances_that_cannot_be() -> None:
    for options in ({"rtol": -1}, {"atol": float("nan")}, {"rtol": float("inf")}):
        with pytest.raises(InvalidOptionError, match="expected 0 or more"):
            Tolerance(**options)


@pytest.mark.parametrize(
    ("a", "b"),
    [
        (np.int64(2**53), np.int64(2**53 + 1)),
        (np.int64(2**63 - 1), np.int64(2**63 - 2)),
        (np.int64(-(2**63)), np.int64(-(2**63) + 1)),
        (np.uint64(2**64 - 1), np.uint64(2**64 - 2)),
        (np.uint64(2**63), np.int64(2**63 - 1)),
        (np.int64(2**53 + 1), np.float64(2**53)),
    ],
)
def test_large_whole_numbers_are_compared_exactly(a: object, b: object) -> None:
    for left, right in ((a, b), (b, a)):
        found = agreement((np.array([left]), np.array([right])), rtol=0, atol=0)
        assert (found.max_abs, found.outside, found.within, found.identical) == (1, 1, False, False)
        assert agreement((np.array([left]), np.array([right])), rtol=0, atol=1).within
        assert agreement((np.array([left]), np.array([left])), rtol=0, atol=0).within


def test_the_largest_and_the_smallest_number_are_apart() -> None:
    found = agreement((np.array([2**63 - 1, 0]), np.array([-(2**63), 0])))
    assert (found.max_abs, found.max_rel, found.outside) == (2**64, 2, 1)


def test_without_a_finite_pair_nothing_is_said_to_agree() -> None:
    finite, lost = f32(1, 2).reshape(1, 2), f32(NAN, NAN).reshape(1, 2)
    for pair in ((finite, lost), (lost, finite)):
        found = agreement(pair)
        assert not found.within
        assert np.isnan([found.max_abs, found.max_rel, found.cosine]).all()
        assert output_row(found)[3:6] == ("nan", "nan", "nan")
    # What is finite in another request counts, before and after.
    for pairs in (((finite, lost), (finite, finite + 1)), ((finite, finite + 1), (finite, lost))):
        found = agreement(*pairs)
        assert (found.max_abs, found.max_rel) == (1, 0.5)
        assert found.cosine == pytest.approx(8 / np.sqrt(5 * 13))


def test_a_row_with_nan_has_no_class() -> None:
    a, b = f32(0, 1, 1, 0).reshape(2, 2), f32(NAN, NAN, 1, 0).reshape(2, 2)
    for first, second, counts in ((a, b, (2, 1)), (b, a, (1, 1)), (b, b, (1, 1)), (a, b[::-1], (2, 0))):
        found = agreement((first, second))
        assert (found.rows, found.same_class) == counts
