"""From scores to labels."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from ascend_infer.errors import InvalidOptionError
from ascend_infer.image import Label, top_k


def test_a_row_and_a_batch():
    assert top_k([0.1, 0.7, 0.2], k=2, labels=["a", "b", "c"]) == [[Label(1, 0.7, "b"), Label(2, 0.2, "c")]]
    assert [row[0].index for row in top_k(np.eye(3))] == [0, 1, 2]
    assert top_k(np.zeros((0, 5))) == []
    assert top_k(np.zeros((2, 0))) == [[], []]
    assert top_k(np.ones((2, 3, 1, 1)), k=1) == [[Label(0, 1.0, None)], [Label(0, 1.0, None)]]


def test_plain_python_comes_out():
    index, score, label = top_k(np.float32([1, 2]), k=1)[0][0]
    assert (type(index), type(score), label) == (int, float, None)


def test_k_is_clipped_and_ties_keep_their_order():
    assert [label.index for label in top_k([1, 3, 3, 1, 3], k=99)[0]] == [1, 2, 4, 0, 3]


@pytest.mark.parametrize("dtype", [np.uint8, np.int8, np.uint64, np.bool_, np.float16, np.float64, ">f4"])
def test_dtypes(dtype):
    scores = np.array([0, 1, 1, 0]).astype(dtype)
    assert [label.index for label in top_k(scores, k=2)[0]] == [1, 2]


def test_narrow_floats_are_worked_on_in_float32():
    logits = np.float16([10, 10.5, -60000])
    exact = np.exp([0, 0.5]) / np.exp([0, 0.5]).sum()
    best = top_k(logits, softmax=True)[0]
    assert [label.score for label in best] == pytest.approx([exact[1], exact[0], 0], rel=1e-6)
    ml_dtypes = pytest.importorskip("ml_dtypes")
    assert top_k(np.array([1, 2], ml_dtypes.bfloat16), k=1) == [[Label(1, 2.0, None)]]


finite = st.floats(-(2.0**100), 2.0**100, width=32)


@given(arrays(np.float32, st.tuples(st.integers(1, 4), st.integers(1, 30)), elements=finite))
def test_softmax_is_a_distribution_in_the_order_of_the_scores(scores):
    plain = top_k(scores, k=30)
    soft = top_k(scores, k=30, softmax=True)
    for row, before, after in zip(scores, plain, soft, strict=True):
        assert [label.index for label in before] == [label.index for label in after]
        assert [label.score for label in before] == sorted(row.tolist(), reverse=True)
        assert math.fsum(label.score for label in after) == pytest.approx(1, abs=1e-5)


def test_infinities_and_nan():
    nan, inf = math.nan, math.inf
    assert [label.index for label in top_k([nan, 1, -inf, inf, nan], k=5)[0]] == [3, 1, 2, 0, 4]
    assert [label.score for label in top_k([inf, 1, inf], softmax=True)[0]] == [0.5, 0.5, 0]
    assert [label.score for label in top_k([-inf, -inf], softmax=True)[0]] == [0.5, 0.5]
    first = top_k([nan, 1, 2], softmax=True)[0]
    assert [label.index for label in first] == [2, 1, 0]
    assert all(math.isnan(label.score) for label in first)


def test_labels():
    assert top_k([1, 2], k=2, labels={1: "dog"})[0] == [Label(1, 2.0, "dog"), Label(0, 1.0, None)]
    assert top_k([1, 2], k=1, labels=np.array(["cat", "dog"]))[0][0].label == "dog"
    with pytest.raises(InvalidOptionError, match="3 names for 2 classes"):
        top_k([1, 2], labels=["background", "cat", "dog"])
    for labels in ("ab", 5, {"a", "b"}):
        with pytest.raises(InvalidOptionError):
            top_k([1, 2], labels=labels)


@pytest.mark.parametrize("scores", [3.0, np.zeros((2, 2, 2)), ["a"], [None], [1 + 2j], [[1], [1, 2]], None])
def test_what_are_no_scores(scores):
    with pytest.raises(InvalidOptionError) as caught:
        top_k(scores)
    assert caught.value.option == "scores"


@pytest.mark.parametrize("k", [0, -1, 1.5, "3", None, True])
def test_bad_k(k):
    with pytest.raises(InvalidOptionError):
        top_k([1, 2], k=k)


def test_scores_at_the_ends_of_their_type_make_no_warning() -> None:
    (row,) = top_k(np.array([[3e38, 3e38, -3e38, 0]], np.float32), k=4, softmax=True)
    assert [label.score for label in row] == [0.5, 0.5, 0.0, 0.0]
