"""DevicePointer: what it refuses at once, and its views."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import ascend_infer as ai
from ascend_infer.errors import InvalidInputError

PLACE = 0x12C0_0000_0000


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ((0, 16, (4,), "float32"), "null pointer"),
        ((-64, 16, (4,), "float32"), "address of memory on the device"),
        ((1 << 64, 16, (4,), "float32"), "address of memory on the device"),
        (((1 << 64) - 8, 16, (4,), "float32"), "multiple of 4"),
        ((PLACE + 2, 16, (4,), "float32"), "multiple of 4"),
        ((PLACE, 12, (4,), "float32"), r"got nbytes 12, expected nbytes 16, which shape \[4\] of float32"),
        ((PLACE, 17, (4,), "float32"), "nbytes 16"),
        ((PLACE, 0, (0, 4), "float32"), "every dimension 1 or more"),
        ((PLACE, 16, (-1, -4), "float32"), "every dimension 1 or more"),
        ((PLACE, 16, 4, "float32"), "sequence"),
        ((PLACE, 16, (4.0,), "float32"), "whole numbers"),
        ((1.5, 16, (4,), "float32"), "whole numbers"),
        ((PLACE, 16, (4,), "float33"), "numpy dtype or a DataType"),
        ((PLACE, 16, (4,), object), "fixed size"),
        ((PLACE, 16, (4,), ">f4"), "native byte order"),
        ((PLACE, 16, (4,), ai.DataType.BYTES), "fixed size"),
    ],
)
def test_what_cannot_be_is_refused(arguments: tuple[object, ...], expected: str) -> None:
    with pytest.raises(InvalidInputError, match=expected) as caught:
        ai.DevicePointer(*arguments)  # type: ignore[arg-type]
    assert caught.value.expected
    assert caught.value.got


def test_it_says_what_it_is() -> None:
    pointer = ai.DevicePointer(np.int64(PLACE), np.int64(48), [np.int64(3), 4], ai.DataType.FP32)
    assert (pointer.ptr, pointer.nbytes, pointer.shape, pointer.ndim) == (PLACE, 48, (3, 4), 2)
    assert pointer.dtype == np.float32
    assert repr(pointer) == f"DevicePointer({PLACE:#x}, 48, (3, 4), 'float32')"
    assert pointer == ai.DevicePointer(PLACE, 48, (3, 4), "float32")
    assert pointer != pointer.reshape((12,))
    assert pointer != 3
    assert len({pointer, copy.copy(pointer), pickle.loads(pickle.dumps(pointer))}) == 1


@given(rows=st.integers(1, 9), first=st.integers(0, 9), last=st.integers(0, 9))
def test_views_are_those_of_an_array(rows: int, first: int, last: int) -> None:
    array = np.zeros((rows, 2, 3), np.int16)
    pointer = ai.DevicePointer(PLACE, array.nbytes, array.shape, array.dtype)
    assert pointer[None].shape == array[None].shape
    assert pointer.reshape((rows * 6,)).nbytes == array.nbytes
    cut = array[first:last]
    if not len(cut):
        with pytest.raises(IndexError):
            pointer[first:last]
        return
    view = pointer[first:last]
    assert (view.shape, view.nbytes) == (cut.shape, cut.nbytes)
    assert view.ptr - PLACE == cut.ctypes.data - array.ctypes.data


def test_it_is_no_array() -> None:
    pointer = ai.DevicePointer(PLACE, 16, (4,), "float32")
    with pytest.raises(TypeError):
        pointer[0]  # type: ignore[index]
    with pytest.raises(IndexError):
        pointer[::2]
    with pytest.raises(InvalidInputError, match="nbytes"):
        pointer.reshape((5,))


@pytest.mark.parametrize("name", ["ptr", "nbytes", "shape", "dtype"])
def test_what_was_checked_does_not_change(name: str) -> None:
    pointer = ai.DevicePointer(PLACE, 64, (4, 4), np.float32)
    before, number = repr(pointer), hash(pointer)
    with pytest.raises(AttributeError, match=f"another {name}"):
        setattr(pointer, name, 0)
    with pytest.raises(AttributeError, match=name):
        delattr(pointer, name)
    assert (repr(pointer), hash(pointer)) == (before, number)
