"""DevicePointer: a tensor that lies in device memory already, named by its address."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from math import prod
from operator import index
from typing import Any

import numpy as np

from ascend_infer.errors import InvalidInputError
from ascend_infer.input_array import Casting, as_input
from ascend_infer.types import DataType

__all__ = ["DevicePointer", "borrowed", "input_reader", "wait_until_returned"]

_ADDRESS_LIMIT = 1 << 64
_set = object.__setattr__


class DevicePointer:
    """A tensor in a device's memory, as an input of ``Session.infer``.

    Whoever allocated the memory goes on owning it: an integer of pyACL's ``acl.rt.malloc``, ``tensor.data_ptr()`` of
    torch_npu. The rows are copied within the device into the session's own buffer; the host never touches them.

    Parameters
    ----------
    ptr : int
        Address on the device that the session runs on, a multiple of the element size.
    nbytes : int
        Bytes of the tensor, which ``shape`` and ``dtype`` must agree with. The allocation may be larger.
    shape : sequence of int
        C-contiguous, batch included; no dimension is 0.
    dtype : numpy dtype or DataType
        Exactly the input's: nothing on the device converts it.

    Attributes
    ----------
    ptr, nbytes : int
    shape : tuple of int
    dtype : numpy.dtype
        None of them can be set: what was checked is what runs.

    Raises
    ------
    InvalidInputError
        The address is null, negative or not aligned to the elements, or the size is not that of shape and dtype. From
        ``infer``: the session runs on the CPU or on several devices, or the input is another one.

    Notes
    -----
    Lifetime: the memory is borrowed until ``infer`` returns or raises, a time-out and Ctrl-C included; it must
    neither be freed nor written to before. What fills it must be done before ``infer`` is called: the session waits
    for no stream of the caller's.

    Addresses should be multiples of 64, as ``acl.rt.malloc`` gives them: other ones are copied too, by a blocking call
    (the documented restriction of ``aclrtMemcpyAsync``).

    Examples
    --------
    >>> import ascend_infer as ai
    >>> pixels = ai.DevicePointer(0x12C0_0000_0000, 4 * 3 * 224 * 224 * 4, (4, 3, 224, 224), "float32")
    >>> pixels
    DevicePointer(0x12c000000000, 2408448, (4, 3, 224, 224), 'float32')
    """

    __slots__ = ("_readers", "dtype", "nbytes", "ptr", "shape")

    ptr: int
    nbytes: int
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    _readers: _Readers

    def __init__(self, ptr: int, nbytes: int, shape: Sequence[int], dtype: Any) -> None:
        _set(self, "_readers", _Readers())  # its views' too
        try:
            _set(self, "ptr", index(ptr))
            _set(self, "nbytes", index(nbytes))
            _set(self, "shape", tuple(index(size) for size in shape))
        except TypeError as error:
            raise _wrong(
                "whole numbers for ptr and nbytes, and a sequence of them for shape", str(error)
            ) from None
        _set(self, "dtype", _element_type(dtype))
        if not 0 < self.ptr < _ADDRESS_LIMIT:
            raise _wrong(
                "the address of memory on the device", "a null pointer" if self.ptr == 0 else hex(self.ptr)
            )
        if any(size < 1 for size in self.shape):
            raise _wrong("a shape with every dimension 1 or more", f"shape {list(self.shape)}")
        size = prod(self.shape) * self.dtype.itemsize
        if size != self.nbytes:
            raise _wrong(
                f"nbytes {size}, which shape {list(self.shape)} of {self.dtype} takes",
                f"nbytes {self.nbytes}",
            )
        if self.ptr + size > _ADDRESS_LIMIT or self.ptr % self.dtype.itemsize:
            raise _wrong(
                f"an address that is a multiple of {self.dtype.itemsize}, for {self.dtype}", hex(self.ptr)
            )

    @property
    def ndim(self) -> int:
        """Number of dimensions."""
        return len(self.shape)

    def reshape(self, shape: Sequence[int]) -> DevicePointer:
        """Return the same memory under another shape of the same size."""
        return self._view(self.ptr, self.nbytes, shape)

    def __getitem__(self, key: slice | None) -> DevicePointer:
        """Return the same memory with a dimension of 1 in front (``None``), or some of its rows (a slice, step 1)."""
        if key is None:
            return self.reshape((1, *self.shape))
        if not isinstance(key, slice) or not self.shape:
            raise TypeError("a DevicePointer takes None or a slice of rows as its index")
        start, stop, step = key.indices(self.shape[0])
        if step != 1 or stop <= start:
            raise IndexError("a DevicePointer gives adjacent rows, one at least")
        row = self.nbytes // self.shape[0]
        shape = (stop - start, *self.shape[1:])
        return self._view(self.ptr + start * row, (stop - start) * row, shape)

    def _view(self, ptr: int, nbytes: int, shape: Sequence[int]) -> DevicePointer:
        view = DevicePointer(ptr, nbytes, shape, self.dtype)
        _set(view, "_readers", self._readers)
        return view

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"a DevicePointer does not change; make another one for another {name}")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"a DevicePointer does not change; its {name} stays")

    def __reduce__(self) -> tuple[Any, ...]:
        return DevicePointer, (self.ptr, self.nbytes, self.shape, self.dtype)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, DevicePointer):
            return NotImplemented
        return (self.ptr, self.shape, self.dtype) == (other.ptr, other.shape, other.dtype)

    def __hash__(self) -> int:
        return hash((self.ptr, self.shape, self.dtype))

    def __repr__(self) -> str:
        return f"DevicePointer({self.ptr:#x}, {self.nbytes}, {self.shape}, {str(self.dtype)!r})"


class _Readers:
    """How many batches may be reading the memory of one pointer."""

    __slots__ = ("_changed", "_count")

    def __init__(self) -> None:
        self._count = 0
        self._changed = threading.Condition(threading.Lock())

    def add(self, change: int) -> None:
        with self._changed:
            self._count += change
            if not self._count:
                self._changed.notify_all()

    def wait(self) -> None:
        with self._changed:
            self._changed.wait_for(lambda: not self._count)


@contextmanager
def borrowed(inputs: Iterable[Any]) -> Iterator[None]:
    """Say, for a block, that a batch may read the pointers among its inputs.

    A wish to stop is looked at inside, before anything is read: who made the wish and then waited is sure then.
    """
    readers = [value._readers for value in inputs if type(value) is DevicePointer]
    for one in readers:
        one.add(1)
    try:
        yield
    finally:
        for one in readers:
            one.add(-1)


def wait_until_returned(feed: Mapping[str, Any]) -> None:
    """Wait until no batch reads the pointers of a request that was told to stop; a batch that runs lets go soon."""
    for value in feed.values():
        if type(value) is DevicePointer:
            value._readers.wait()


def input_reader(device: str) -> Callable[[str, Any, DataType, Casting], Any]:
    """Return what reads the inputs of a model on this device: ``as_input``, and pointers checked for the input's type.

    Elsewhere than on the CPU a DevicePointer comes back as it is. It has what requests need of an array: ``shape``,
    ``ndim``, ``reshape``, ``[None]`` and slices of rows.
    """

    def read(name: str, value: Any, dtype: DataType, casting: Casting) -> Any:
        if type(value) is not DevicePointer:
            return as_input(name, value, dtype, casting)
        if device == "cpu":
            expected = (
                "an array: this session runs on the CPU, and a DevicePointer needs device='npu' or 'sim'"
            )
            raise _refused(name, "a DevicePointer", expected)
        if "," in device:
            expected = f"an array: this session runs on {device}; open one on the pointer's own device for it"
            raise _refused(name, "a DevicePointer", expected)
        if dtype is DataType.BYTES or value.dtype != dtype.numpy:
            raise _refused(
                name, f"a DevicePointer to {value.dtype}", f"{dtype}: memory on the device is not converted"
            )
        return value

    return read


def _refused(name: str, got: str, expected: str) -> InvalidInputError:
    return InvalidInputError(
        f"input {name!r}: got {got}, expected {expected}", input=name, expected=expected, got=got
    )


def _element_type(dtype: Any) -> np.dtype[Any]:
    try:
        found = dtype.numpy if isinstance(dtype, DataType) else np.dtype(dtype)
    except TypeError:
        raise _wrong("a numpy dtype or a DataType", repr(dtype)) from None
    if found.hasobject or found.itemsize == 0 or not found.isnative:
        raise _wrong("elements of a fixed size in native byte order", str(found))
    return found


def _wrong(expected: str, got: str) -> InvalidInputError:
    return InvalidInputError(f"DevicePointer: got {got}, expected {expected}", expected=expected, got=got)
