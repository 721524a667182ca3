"""From a classifier's scores to labels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ascend_infer.errors import InvalidOptionError
from ascend_infer.image.checks import whole

__all__ = ["Label", "top_k"]


class Label(NamedTuple):
    """One class that a model names.

    Attributes
    ----------
    index : int
    score : float
        As the model gave it, or its probability where softmax was asked for.
    label : str or None
        None when no labels were given, or none for this index.
    """

    # The field's name in every such API; tuple's method of that name is of no use here.
    index: int  # type: ignore[assignment]
    score: float
    label: str | None


def top_k(
    scores: ArrayLike,
    k: int = 5,
    labels: Sequence[str] | Mapping[int, str] | None = None,
    softmax: bool = False,
) -> list[list[Label]]:
    """Return the highest scores of each row, best first.

    Parameters
    ----------
    scores : array_like, (n, classes) or (classes,)
        Any real dtype; float16 and bfloat16 are worked on in float32. Further axes of length 1, as
        ``(n, classes, 1, 1)``, are left out. One row alone is a batch of one.
    k : int
        How many; more than there are classes gives all.
    labels : sequence of str, mapping of int to str, or None
        A sequence needs one for each class: a list that is one longer is usually meant for another model.
    softmax : bool
        Turn each row of logits into probabilities. Leave it off when the model ends in a softmax itself.

    Returns
    -------
    list of list of Label
        One list a row. Equal scores stand in the order of their index. NaN stands below every number, and
        a row with NaN has no probabilities: its softmax is NaN throughout.

    Raises
    ------
    InvalidOptionError
        The scores are no such array, k is below 1, or the labels do not fit the classes.

    Examples
    --------
    >>> top_k([0.1, 0.7, 0.2], k=1, labels=["cat", "dog", "cow"])
    [[Label(index=1, score=0.7, label='dog')]]
    """
    rows = _rows(scores)
    k = whole("k", k, 1)
    names = _names(labels, rows.shape[1])
    values = _softmax(rows) if softmax else rows
    ranked = []
    for row, shown in zip(-rows, values, strict=True):
        best = _first(row, k)
        ranked.append(
            [
                Label(index, score, names.get(index))
                for index, score in zip(best.tolist(), shown[best].tolist(), strict=True)
            ]
        )
    return ranked


def _first(row: np.ndarray, k: int) -> np.ndarray:
    """Return where the k lowest values stand, lowest first; NaN comes last, equal ones in the order of their index."""
    if k < row.size:
        # Most rows have a thousand classes, of which five are wanted: only those are sorted.
        highest = np.partition(row, k - 1)[k - 1]
        among = np.flatnonzero(~(row > highest))
        return among[np.argsort(row[among], kind="stable")][:k]
    return np.argsort(row, kind="stable")


def _rows(scores: ArrayLike) -> np.ndarray:
    try:
        array = np.asarray(scores)
        if array.dtype.kind not in "fiub" and array.dtype.name != "bfloat16":
            raise TypeError(f"dtype {array.dtype}")
        # Integers have to be negated for the order: every float64 up to 2**53 is exact.
        wide = array.dtype.kind in "iub" or array.dtype == np.float64
        array = array.astype(np.float64 if wide else np.float32)
    except (TypeError, ValueError) as error:
        raise InvalidOptionError(
            f"scores: got {error}, expected real numbers of shape (n, classes)",
            option="scores",
            got=repr(scores),
        ) from error
    shape = array.shape
    if array.ndim == 1:
        array = array[None]
    if array.ndim < 2 or any(length != 1 for length in array.shape[2:]):
        raise InvalidOptionError(
            f"scores: got shape {shape}, expected (n, classes) or (classes,)", option="scores", got=str(shape)
        )
    return array.reshape(array.shape[0], array.shape[1])


def _names(labels: Sequence[str] | Mapping[int, str] | None, classes: int) -> Mapping[int, str]:
    if labels is None:
        return {}
    if isinstance(labels, Mapping):
        return labels
    if isinstance(labels, str | bytes) or not isinstance(labels, Sequence | np.ndarray):
        raise InvalidOptionError(
            f"labels: got {type(labels).__name__}, expected a list with one name a class, "
            "or a dict of index to name",
            option="labels",
            got=repr(labels),
        )
    if len(labels) != classes:
        raise InvalidOptionError(
            f"labels: got {len(labels)} names for {classes} classes; they belong to another model, or "
            "one of them counts a background class",
            option="labels",
            got=len(labels),
        )
    return dict(enumerate(labels))


def _softmax(rows: np.ndarray) -> np.ndarray:
    if rows.shape[1] == 0:
        return rows
    highest = rows.max(axis=1, keepdims=True)
    # The highest becomes 0 by itself: infinity less infinity would be NaN.
    # A difference beyond the type's range is minus infinity, whose power is the right 0.
    with np.errstate(all="ignore"):
        shifted = np.subtract(rows, highest, out=np.zeros_like(rows), where=rows != highest)
        powers = np.exp(shifted)
        probabilities: np.ndarray = powers / powers.sum(axis=1, keepdims=True)
    return probabilities
