"""The child that does what may crash or hang: loads libraries, starts ACL, imports packages.

``python -m ascend_infer.doctor.probe KIND JSON`` writes one JSON object a line to standard output:
``{"begin": STEP}`` before each step, ``{"end": STEP, "ok": bool, ...}`` after it, at last
``{"finished": true}``. What the parent read last tells where a child died. What libraries print goes to
standard error.

Standard library only, and ctypes where the product has a binding of its own: this file is here to be killed.
"""

from __future__ import annotations

import ctypes
import json
import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

__all__ = ["main"]

_ACL_REPEAT_INITIALIZE = 100002
_ACL_HBM_MEM, _ACL_DDR_MEM = 1, 0
_ACL_MEM_MALLOC_HUGE_FIRST = 0
_ACL_MEMCPY_HOST_TO_DEVICE, _ACL_MEMCPY_DEVICE_TO_HOST = 1, 2
_COPY_BYTES = 1 << 20
#: No CANN has it.
_SIMULATORS_OWN = "aclsim_version"
_NOT_FOUND = "the library has no such function"


class _StepFailed(Exception):
    """A step's own failure: what it reports, and nothing after it runs."""

    def __init__(self, **values: Any) -> None:
        super().__init__(str(values))
        self.values = values


class _Reporter:
    """Writes the lines; keeps the real standard output to itself."""

    def __init__(self) -> None:
        self._out = os.fdopen(os.dup(1), "w", encoding="utf-8")
        os.dup2(2, 1)

    def line(self, **values: Any) -> None:
        self._out.write(json.dumps(values) + "\n")
        self._out.flush()

    @contextmanager
    def step(self, name: str) -> Iterator[dict[str, Any]]:
        """Report a step; the block puts its values into the mapping it gets."""
        self.line(begin=name)
        values: dict[str, Any] = {}
        begin = time.monotonic()
        try:
            yield values
        except _StepFailed as error:
            self.line(end=name, ok=False, **values, **error.values)
            raise
        except Exception as error:
            self.line(end=name, ok=False, **values, error=f"{type(error).__name__}: {error}")
            raise _StepFailed() from error
        self.line(end=name, ok=True, seconds=round(time.monotonic() - begin, 3), **values)


class _Acl:
    """The functions of one or more libraries under one roof, looked up in the libraries' order."""

    def __init__(self, libraries: list[ctypes.CDLL]) -> None:
        self.libraries = libraries

    def find(self, name: str) -> Any | None:
        for library in self.libraries:
            with suppress(AttributeError):
                return getattr(library, name)
        return None

    def check(self, name: str, *arguments: Any, accept: tuple[int, ...] = (0,)) -> int:
        """Call a function that returns aclError; anything else than `accept` fails the step."""
        function = self.find(name)
        if function is None:
            raise _StepFailed(function=name, error=_NOT_FOUND)
        function.restype = ctypes.c_int
        code = int(function(*arguments))
        if code not in accept:
            raise _StepFailed(function=name, code=code, text=self._recent_message())
        return code

    def _recent_message(self) -> str:
        function = self.find("aclGetRecentErrMsg")
        if function is None:
            return ""
        function.restype = ctypes.c_char_p
        return (function() or b"").decode("utf-8", "replace")[:4096]


def _load(reporter: _Reporter, paths: list[str]) -> _Acl:
    loaded = []
    for path in paths:
        with reporter.step(f"load {os.path.basename(path)}") as values:
            values["path"] = path
            try:
                # RTLD_NOW: a missing symbol shows here and not in the middle of a run.
                loaded.append(ctypes.CDLL(path, mode=os.RTLD_NOW | os.RTLD_LOCAL))
            except OSError as error:
                raise _StepFailed(error=str(error)) from None
    return _Acl(loaded)


def _mapped_libraries() -> list[str]:
    """Files that this process has mapped, without those that any Python has."""
    with suppress(OSError), open("/proc/self/maps", encoding="utf-8", errors="replace") as file:
        paths = {line.split(maxsplit=5)[5].strip() for line in file if line.count("/")}
        return sorted(path for path in paths if ".so" in os.path.basename(path))
    return []


def _probe_library(reporter: _Reporter, request: dict[str, Any]) -> None:
    before = set(_mapped_libraries())
    acl = _load(reporter, request["libraries"])
    with reporter.step("look up functions") as values:
        values["missing"] = [name for name in request["functions"] if acl.find(name) is None]
        values["simulator"] = acl.find(_SIMULATORS_OWN) is not None
    with reporter.step("list loaded libraries") as values:
        values["mapped"] = [path for path in _mapped_libraries() if path not in before]


def _probe_runtime(reporter: _Reporter, request: dict[str, Any]) -> None:
    acl = _load(reporter, request["libraries"])
    with reporter.step("aclInit") as values:
        values["code"] = acl.check("aclInit", None, accept=(0, _ACL_REPEAT_INITIALIZE))
    with suppress(_StepFailed), reporter.step("aclrtGetVersion") as values:
        parts = [ctypes.c_int32() for _ in range(3)]
        acl.check("aclrtGetVersion", *(ctypes.byref(part) for part in parts))
        values["version"] = ".".join(str(part.value) for part in parts)
    for package in ("runtime", "driver"):
        if acl.find("aclsysGetVersionStr") is None:
            break
        with suppress(_StepFailed), reporter.step(f"aclsysGetVersionStr {package}") as values:
            text = ctypes.create_string_buffer(512)
            acl.check("aclsysGetVersionStr", ctypes.create_string_buffer(package.encode()), text)
            values["version"] = text.value.decode("utf-8", "replace")
    with reporter.step("aclrtGetDeviceCount") as values:
        count = ctypes.c_uint32()
        acl.check("aclrtGetDeviceCount", ctypes.byref(count))
        values["count"] = count.value
        if not count.value:
            raise _StepFailed(error="it counts no device")
    device = int(request["device"])
    with reporter.step("aclrtSetDevice") as values:
        values["device"] = device
        acl.check("aclrtSetDevice", ctypes.c_int32(device))
    _examine_device(reporter, acl, request)
    with reporter.step("aclrtResetDevice"):
        acl.check("aclrtResetDevice", ctypes.c_int32(device))
    with reporter.step("aclFinalize"):
        acl.check("aclFinalize")


def _examine_device(reporter: _Reporter, acl: _Acl, request: dict[str, Any]) -> None:
    with suppress(_StepFailed), reporter.step("aclrtGetSocName") as values:
        function = acl.find("aclrtGetSocName")
        if function is None:
            raise _StepFailed(error=_NOT_FOUND)
        function.restype = ctypes.c_char_p
        values["soc"] = (function() or b"").decode("utf-8", "replace")
    if request.get("model_soc") and acl.find("aclrtCheckArchCompatibility") is not None:
        with suppress(_StepFailed), reporter.step("aclrtCheckArchCompatibility") as values:
            compatible = ctypes.c_int32()
            acl.check("aclrtCheckArchCompatibility", request["model_soc"].encode(), ctypes.byref(compatible))
            values["compatible"] = bool(compatible.value)
    with suppress(_StepFailed), reporter.step("aclrtGetMemInfo") as values:
        free, total = ctypes.c_size_t(), ctypes.c_size_t()
        for attribute in (_ACL_HBM_MEM, _ACL_DDR_MEM):  # cards without HBM report their DDR
            acl.check("aclrtGetMemInfo", ctypes.c_int(attribute), ctypes.byref(free), ctypes.byref(total))
            if total.value:
                break
        values.update(free=free.value, total=total.value)
    with reporter.step("copy to the device and back"):
        _copy_round_trip(acl)


def _copy_round_trip(acl: _Acl) -> None:
    size = ctypes.c_size_t(_COPY_BYTES)
    sent = os.urandom(_COPY_BYTES)
    received = ctypes.create_string_buffer(_COPY_BYTES)
    block = ctypes.c_void_p()
    acl.check("aclrtMalloc", ctypes.byref(block), size, ctypes.c_int(_ACL_MEM_MALLOC_HUGE_FIRST))
    acl.check("aclrtMemcpy", block, size, sent, size, ctypes.c_int(_ACL_MEMCPY_HOST_TO_DEVICE))
    acl.check("aclrtMemcpy", received, size, block, size, ctypes.c_int(_ACL_MEMCPY_DEVICE_TO_HOST))
    acl.check("aclrtFree", block)
    if received.raw != sent:
        raise _StepFailed(error="other bytes came back than were sent")


def _probe_import(reporter: _Reporter, request: dict[str, Any]) -> None:
    from importlib import import_module

    for name in request["modules"]:
        with reporter.step(f"import {name}") as values:
            module = import_module(name)
            values["version"] = str(getattr(module, "__version__", ""))
            values["file"] = str(getattr(module, "__file__", ""))
            providers = getattr(module, "get_available_providers", None)
            if callable(providers):
                values["providers"] = [str(provider) for provider in providers()]


def _probe_onnx(reporter: _Reporter, request: dict[str, Any]) -> None:
    with reporter.step("import onnxruntime") as values:
        import onnxruntime

        values["version"] = onnxruntime.__version__
    with reporter.step("load the model") as values:
        options = onnxruntime.SessionOptions()
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
        options.log_severity_level = 3
        session = onnxruntime.InferenceSession(
            request["path"], sess_options=options, providers=["CPUExecutionProvider"]
        )
        values["inputs"] = [f"{item.name} {item.type} {item.shape}" for item in session.get_inputs()]
        values["outputs"] = [f"{item.name} {item.type} {item.shape}" for item in session.get_outputs()]


_PROBES: dict[str, Callable[[_Reporter, dict[str, Any]], None]] = {
    "library": _probe_library,
    "runtime": _probe_runtime,
    "import": _probe_import,
    "onnx": _probe_onnx,
}


def main(arguments: list[str] | None = None) -> None:
    """Run one probe and leave the process at once, without anyone's exit handlers.

    Exits 0 whatever the probe found: only a crash or a wrong command line gives another code.
    """
    kind, request = sys.argv[1:] if arguments is None else arguments
    with suppress(ImportError, OSError, ValueError):
        import resource

        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    # onnxruntime keeps a telemetry database in the home folder from its import on: an examination leaves nothing.
    os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")
    reporter = _Reporter()
    with suppress(_StepFailed):
        _PROBES[kind](reporter, json.loads(request))
    reporter.line(finished=True)
    os._exit(0)


if __name__ == "__main__":
    main()
