"""An application's own memory on the simulated card, taken with pyACL's calls, as it would be by CANN's ``acl``."""

from __future__ import annotations

from types import TracebackType
from typing import Any

import numpy as np

import ascend_infer as ai
from ascend_infer.compat.acl import open_face

Array = np.ndarray[Any, np.dtype[Any]]

HOST_TO_DEVICE = 1


class CardMemory:
    """The application: it initialises ACL and allocates; everything goes at the end of the block."""

    def __init__(self, index: int = 0) -> None:
        self.acl: Any = open_face("sim")
        self.index = index
        self._held: list[int] = []

    def __enter__(self) -> CardMemory:
        assert self.acl.init() in (0, 100002)
        assert self.acl.rt.set_device(self.index) == 0
        return self

    def allocate(self, nbytes: int) -> int:
        address, ret = self.acl.rt.malloc(nbytes, 0)
        assert ret == 0
        self._held.append(address)
        return int(address)

    def write(self, address: int, array: Array) -> None:
        data = array.tobytes()
        ret = self.acl.rt.memcpy(
            address, len(data), self.acl.util.bytes_to_ptr(data), len(data), HOST_TO_DEVICE
        )
        assert ret == 0

    def hold(self, array: Array, offset: int = 0) -> ai.DevicePointer:
        """Put an array on the card, ``offset`` bytes into an allocation of its own."""
        address = self.allocate(array.nbytes + offset) + offset
        self.write(address, array)
        return ai.DevicePointer(address, array.nbytes, array.shape, array.dtype)

    def free(self, address: int) -> None:
        assert self.acl.rt.free(address) == 0
        self._held.remove(address)

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        for address in list(self._held):
            self.free(address)
        assert self.acl.rt.reset_device(self.index) == 0
        _, ret = self.acl.finalize_reference()
        assert ret == 0
