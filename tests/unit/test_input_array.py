from __future__ import annotations

import array as stdlib_array
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as st_numpy

from ascend_infer.errors import InvalidInputError
from ascend_infer.input_array import as_input
from ascend_infer.types import DataType

NUMBERS = [d for d in DataType if d.numpy_name in np.sctypeDict and d is not DataType.BYTES]


def given_as(value: Any, dtype: DataType = DataType.FP32, casting: Any = "no") -> Any:
    return as_input("x", value, dtype, casting)


BASE = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
LAYOUTS = {
    "as it is": BASE,
    "transposed": BASE.T,
    "fortran": np.asfortranarray(BASE),
    "strided": BASE[:, ::2],
    "reversed": BASE[::-1, :, ::-1],
    "broadcast": np.broadcast_to(np.float32(3), (2, 3)),
    "scalar": np.array(3, np.float32),
    "empty": np.zeros((0, 3), np.float32),
    "big-endian": BASE.astype(">f4"),
    "big-endian transposed": BASE.astype(">f4").T,
    "unaligned": np.frombuffer(b"\0" + BASE.tobytes(), np.uint8)[1:].view(np.float32).reshape(2, 3, 4),
    "subclass": BASE.view(np.recarray),
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_any_layout_gives_the_same_values(layout: str) -> None:
    value = LAYOUTS[layout]
    result = given_as(value)
    assert type(result) is np.ndarray
    assert result.shape == value.shape
    assert result.dtype == np.float32
    assert result.dtype.isnative
    assert result.flags.c_contiguous
    assert result.flags.aligned
    assert np.array_equal(result, value)


def test_what_fits_is_not_copied() -> None:
    assert given_as(BASE) is BASE or np.shares_memory(given_as(BASE), BASE)
    fixed = BASE.copy()
    fixed.flags.writeable = False
    assert np.shares_memory(given_as(fixed), fixed)


@given(st_numpy.arrays(np.float32, st_numpy.array_shapes(min_dims=0, max_dims=4, max_side=4)), st.data())
def test_any_view_gives_its_values(value: np.ndarray[Any, Any], data: st.DataObject) -> None:
    view = value.transpose(data.draw(st.permutations(range(value.ndim))))
    view = view[tuple(slice(None, None, data.draw(st.sampled_from([1, 2, -1]))) for _ in range(view.ndim))]
    assert np.array_equal(given_as(view), view, equal_nan=True)


class OnlyArray:
    def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray[Any, Any]:
        return BASE


class OnlyDlpack:
    def __dlpack__(self, **options: Any) -> Any:
        return BASE.__dlpack__(**options)

    def __dlpack_device__(self) -> Any:
        return BASE.__dlpack_device__()


@pytest.mark.parametrize(
    "value", [OnlyArray(), OnlyDlpack(), memoryview(BASE)], ids=["array", "dlpack", "buffer"]
)
def test_protocols(value: Any) -> None:
    assert np.array_equal(given_as(value), BASE)


def test_standard_arrays_and_bytes() -> None:
    assert given_as(stdlib_array.array("f", [1, 2])).tolist() == [1, 2]
    assert given_as(bytearray(b"\1\2"), DataType.UINT8).tolist() == [1, 2]


@pytest.mark.parametrize("dtype", NUMBERS, ids=str)
def test_python_numbers_take_the_inputs_type(dtype: DataType) -> None:
    values = [[True, False]] if dtype is DataType.BOOL else [[1, 2]]
    result = given_as(values, dtype)
    assert result.dtype == dtype.numpy
    assert result.tolist() == values


def test_python_numbers_are_never_bent() -> None:
    with pytest.raises(InvalidInputError, match="300"):
        given_as([300], DataType.UINT8)
    with pytest.raises(InvalidInputError, match="whole numbers"):
        given_as([1.5], DataType.INT32)
    with pytest.raises(InvalidInputError, match="uneven|no array"):
        given_as([[1.0], [1.0, 2.0]])
    with pytest.raises(InvalidInputError, match="text"):
        given_as(["a"])
    assert given_as([], DataType.INT64).dtype == np.int64
    assert given_as(7, DataType.INT64).shape == ()


@pytest.mark.parametrize("dtype", NUMBERS, ids=str)
@pytest.mark.parametrize("other", NUMBERS, ids=str)
def test_another_type_is_refused_and_named(dtype: DataType, other: DataType) -> None:
    value = np.zeros(2, other.numpy)
    if dtype is other:
        assert given_as(value, dtype) is not None
        return
    with pytest.raises(InvalidInputError) as caught:
        given_as(value, dtype)
    error = caught.value
    assert error.input == "x"
    assert str(other.numpy) in error.got
    assert str(dtype) in error.expected
    assert error.got in str(error)
    assert error.expected in str(error)


@pytest.mark.parametrize(
    ("value", "dtype"),
    [
        ([[1e39]], DataType.FP32),
        ([70000.0], DataType.FP16),
        ([16777217], DataType.FP32),
        ([2049], DataType.FP16),
        ([257], DataType.BF16),
        ([10**30], DataType.INT32),
        ([2**64], DataType.UINT64),
        ([[10**400, 1]], DataType.FP32),
    ],
)
def test_numbers_a_type_cannot_hold_are_refused(value: Any, dtype: DataType) -> None:
    if dtype is DataType.BF16:
        pytest.importorskip("ml_dtypes")
    with pytest.raises(InvalidInputError, match="got the number|got \\d"):
        given_as(value, dtype)


def test_numbers_a_type_holds_are_taken() -> None:
    assert given_as([2**63, 1], DataType.UINT64).tolist() == [2**63, 1]
    assert given_as([float("inf"), 0.1], DataType.FP32)[0] == np.inf
    assert given_as([16777216], DataType.FP32).tolist() == [16777216]


def test_a_list_of_arrays_is_held_to_their_type() -> None:
    with pytest.raises(InvalidInputError, match="float64"):
        given_as([np.full(4, 1e-50)])
    assert given_as([np.ones(4, np.float32)]).shape == (1, 4)


def test_what_utf8_cannot_hold() -> None:
    with pytest.raises(InvalidInputError, match="surrogate pair in element 1"):
        given_as(["a", "\ud800"], DataType.BYTES)
    with pytest.raises(InvalidInputError, match="optional input"):
        given_as(None)


def test_casting_only_as_far_as_asked() -> None:
    assert given_as(np.array([1, 2], np.int8), DataType.FP32, "safe").tolist() == [1.0, 2.0]
    with pytest.raises(InvalidInputError, match="'safe' does not allow"):
        given_as(np.zeros(2, np.float64), DataType.FP32, "safe")
    assert given_as(np.zeros(2, np.float64), DataType.FP32, "same_kind").dtype == np.float32
    with pytest.raises(InvalidInputError):
        given_as(np.array(["1"]), DataType.FP32, "unsafe")
    with pytest.raises(InvalidInputError, match="cast='safe'"):
        given_as(np.zeros(2, np.int8))


def test_text() -> None:
    for value in (
        ["ä", b"\xc3\xa4"],
        np.array(["ä", "ä"]),
        np.array([b"\xc3\xa4"] * 2),
        np.array(["ä"] * 2, object),
    ):
        result = given_as(value, DataType.BYTES)
        assert result.dtype == object
        assert [type(item) for item in result] == [str, str]
        assert result.tolist() == ["ä", "ä"]
    assert given_as(np.array([b"a\0b"], object), DataType.BYTES)[0] == "a\0b"
    assert given_as(b"one", DataType.BYTES).shape == ()
    with pytest.raises(InvalidInputError, match="element 1.*0xff"):
        given_as(np.array([b"a", b"\xff"], object), DataType.BYTES)
    with pytest.raises(InvalidInputError, match="int as element 0"):
        given_as(np.array([1], object), DataType.BYTES)
    with pytest.raises(InvalidInputError, match="float32"):
        given_as(BASE, DataType.BYTES)


def test_masked_elements_are_refused() -> None:
    with pytest.raises(InvalidInputError, match="filled"):
        given_as(np.ma.masked_less(BASE, 3))
    assert np.array_equal(given_as(np.ma.asarray(BASE)), BASE)


class Broken:
    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        raise RuntimeError("not on the CPU")


@pytest.mark.parametrize("value", [object(), {"a": 1}, Broken()])
def test_what_gives_no_array_is_named(value: Any) -> None:
    with pytest.raises(InvalidInputError, match=type(value).__name__):
        given_as(value)


def test_bfloat16() -> None:
    ml_dtypes = pytest.importorskip("ml_dtypes")
    value = np.array([1.5, 2], ml_dtypes.bfloat16)
    assert given_as(value, DataType.BF16) is value or np.shares_memory(given_as(value, DataType.BF16), value)
    assert given_as([1.5], DataType.BF16).dtype == ml_dtypes.bfloat16
    with pytest.raises(InvalidInputError, match="bfloat16"):
        given_as(np.zeros(2, np.uint16), DataType.BF16)


def test_dropping_an_imaginary_part_that_was_asked_for_makes_no_warning() -> None:
    taken = as_input("x", np.array([1 + 2j]), DataType.FP32, "unsafe")
    assert (taken.dtype, taken.tolist()) == (np.float32, [1.0])


BIG = 2**53 + 1


@pytest.mark.parametrize(
    ("value", "dtype"),
    [
        (np.array([[BIG, 0]]), DataType.FP64),
        (np.array([2**63 - 1]), DataType.FP64),
        (np.array([-BIG], ">i8"), DataType.FP64),
        (np.array([2**64 - 1], np.uint64), DataType.FP64),
    ],
)
def test_a_safe_cast_refuses_whole_numbers_that_a_double_does_not_hold(value: Any, dtype: DataType) -> None:
    with pytest.raises(InvalidInputError, match=rf"the number {int(value.flat[0])} .*same_kind"):
        given_as(value, dtype, "safe")
    assert np.array_equal(given_as(value, dtype, "same_kind"), value.astype(np.float64))


@pytest.mark.parametrize("value", [2**53, -(2**53), 2**62, -(2**63), 0])
def test_a_safe_cast_takes_whole_numbers_that_a_double_holds(value: int) -> None:
    assert int(given_as(np.array([value]), DataType.FP64, "safe")[0]) == value
    assert int(given_as([value], DataType.FP64)[0]) == value
    assert int(given_as([value, 0.5], DataType.FP64)[0]) == value


@pytest.mark.parametrize(
    ("value", "dtype"),
    [
        ([[BIG, 0]], DataType.FP64),
        ([2**63 - 1], DataType.FP64),
        ([2**64 - 1], DataType.FP64),
        ([BIG, 0.5], DataType.FP64),
        ([2**64 - 1, -1], DataType.FP64),
        ([16777217, 0.5], DataType.FP32),
    ],
)
def test_lists_of_whole_numbers_are_held_exactly_or_refused(value: Any, dtype: DataType) -> None:
    number = np.asarray(value, dtype=object).flat[0]
    with pytest.raises(InvalidInputError, match=rf"the number {number}, .* {dtype} can hold"):
        given_as(value, dtype)


@given(st.lists(st.integers(-(2**63), 2**63 - 1) | st.floats(), min_size=1))
def test_a_list_for_doubles_is_exact_or_refused(value: list[int | float]) -> None:
    held = all(not isinstance(item, int) or int(float(item)) == item for item in value)
    if held:
        assert np.array_equal(given_as(value, DataType.FP64), np.array(value, np.float64), equal_nan=True)
    else:
        with pytest.raises(InvalidInputError, match="can hold"):
            given_as(value, DataType.FP64)
