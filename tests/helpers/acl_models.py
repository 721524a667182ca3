"""Models and devices for tests of the ACL side, all on the simulator."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx_models as made

from ascend_infer import _native, backends
from ascend_infer.backends.base import BackendOptions, DeviceTarget, LoadRequest
from ascend_infer.simulator import Simulator, compile_model
from ascend_infer.types import Gear

API = Path(__file__).parents[2] / "_ext" / "acl_api.txt"
FUNCTION = re.compile(r"(required|optional) (\S+) (sim|refused) (.+?)\s?\b(acl\w+)\((.*)\)")
F32 = np.dtype(np.float32)


def batch_gears(*sizes: int) -> list[Gear]:
    return [Gear("batch", (size,)) for size in sizes]


def compiled(folder: Path, model: onnx.ModelProto, name: str = "net", **how: Any) -> Path:
    """Write a model and compile it for the simulator; returns the .om file."""
    source = made.write(model, folder / f"{name}.onnx")
    target = folder / f"{name}.om"
    compile_model(source, target, **how)
    return target


def load(path: Path, simulator: Simulator, *, index: int = 0, **options: Any) -> Any:
    """Load a .om file on the simulator through the backend."""
    target = DeviceTarget("sim", index, (simulator.library,))
    return backends.create("acl").load(LoadRequest("net", path, BackendOptions(**options), target))


def nothing_left(simulator: Simulator) -> None:
    """Assert that every handle, byte and reference was given back, and that no rule was broken."""
    stats = simulator.stats()
    assert simulator.live_handles() == []
    assert stats.violations == {}
    left = {name: getattr(stats, name) for name in ("models", "pinned_blocks", "copies_in_flight")}
    assert not {name: count for name, count in left.items() if count}
    assert [
        (device.sets, device.allocations) for device in stats.devices if device.sets or device.allocations
    ] == []


class OpenDevice:
    """A device with its pools, as a test wants it."""

    def __init__(self, library: str, *, index: int = 0, companions: Sequence[str] = ()) -> None:
        self.library = _native.open_acl_library(library, companions, global_symbols=False)
        self.device = _native.open_acl_device(self.library, index)
        self.pool = self.device.device_pool()
        self.pinned = self.device.pinned_pool()

    def instance(self, path: Path, *, name: str = "net", slots: int = 2) -> _native.AclInstance:
        work, _ = self.device.model_sizes(path)
        return _native.open_acl_instance(
            self.device, self.pool, self.pinned, path, name=name, slots=slots, work_bytes=work
        )

    def close(self) -> None:
        self.device.reap()
        self.pool.close()
        self.pinned.close()
        self.device.close()


@contextmanager
def open_device(library: str, **how: Any) -> Iterator[OpenDevice]:
    opened = OpenDevice(library, **how)
    try:
        yield opened
    finally:
        opened.close()


def wanted(*outputs: tuple[int, tuple[int, ...]], leased: bool = False) -> list[tuple[Any, ...]]:
    """Ask for float outputs of these indices and shapes."""
    return [
        (index, shape, F32, int(np.prod(shape, dtype=np.int64)) * 4, leased, None) for index, shape in outputs
    ]


def c_functions(kinds: Iterable[str]) -> list[tuple[str, str, str, str]]:
    """Return requirement, return type, name and arguments of each C function of these kinds."""
    found = []
    for line in API.read_text(encoding="utf-8").splitlines():
        match = FUNCTION.fullmatch(line)
        if match and match[1] in kinds:
            found.append((match[1], match[4], match[5], match[6]))
    return found


def argument_names(arguments: str) -> list[str]:
    if arguments == "void":
        return []
    depth, parts, current = 0, [], ""
    for character in arguments:
        depth += {"(": 1, ")": -1}.get(character, 0)
        if character == "," and depth == 0:
            parts.append(current)
            current = ""
        else:
            current += character
    names = []
    for part in [*parts, current]:
        inner = re.search(r"\(\*(\w+)\)", part)
        match = inner or re.search(r"(\w+)\s*(?:\[\d*\])?$", part.strip())
        assert match, part
        names.append(match[1])
    return names
