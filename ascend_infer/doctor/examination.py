"""One examination of one machine: what several checks ask for is looked up once."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from ascend_infer.doctor.cann_root import CannRoot, find_cann_roots
from ascend_infer.doctor.compiled_parts import ExtensionState, extension_state
from ascend_infer.doctor.device_nodes import DeviceNodes, scan_device_nodes
from ascend_infer.doctor.driver import Driver, find_driver
from ascend_infer.doctor.environment import Environment
from ascend_infer.doctor.finding import Verdict
from ascend_infer.doctor.prober import ProbeAnswer, Prober
from ascend_infer.doctor.search import LibrarySearch, search_acl_library
from ascend_infer.doctor.symbols import OPTIONAL, REQUIRED

__all__ = ["Examination"]


@dataclass
class Examination:
    """What the checks look at.

    Attributes
    ----------
    environment : Environment
    prober : Prober
    device : str
        The device the user wants, as ``Session(device=...)`` takes it.
    model : Path or None
        A model to examine too.
    model_soc : str or None
        The chip that this model was compiled for.
    """

    environment: Environment
    prober: Prober
    device: str = "auto"
    model: Path | None = None
    model_soc: str | None = None

    @property
    def npu_asked_for(self) -> bool:
        """Whether the user named an NPU, so that having none is a problem."""
        return self.device.partition(":")[0] == "npu"

    @property
    def device_index(self) -> int:
        """The card's number in this process."""
        return int(self.device.partition(":")[2] or 0)

    @cached_property
    def nodes(self) -> DeviceNodes:
        """The device nodes."""
        return scan_device_nodes(self.environment)

    @cached_property
    def driver(self) -> Driver:
        """The driver."""
        return find_driver(self.environment)

    @cached_property
    def roots(self) -> tuple[CannRoot, ...]:
        """The installations of CANN, the one in use first."""
        return find_cann_roots(self.environment)

    @cached_property
    def search(self) -> LibrarySearch:
        """The search for libascendcl."""
        return search_acl_library(self.environment)

    @cached_property
    def npu_expected(self) -> bool:
        """Whether the user wants an NPU, or does not say and anything shows that one should work here."""
        if self.device.partition(":")[0] in ("cpu", "sim"):
            return False
        return self.npu_asked_for or self.nodes.any or self.driver.any

    @property
    def severity(self) -> Verdict:
        """What something wrong with the NPU's software is: without a sign of an NPU nothing to mend."""
        return Verdict.PROBLEM if self.npu_expected else Verdict.WARNING

    @property
    def library_named(self) -> bool:
        """Whether the user named a library of ACL, and wants to use it."""
        named = bool(self.environment.variables.get("ASCEND_INFER_ACL_LIBRARY"))
        return named and self.device.partition(":")[0] not in ("cpu", "sim")

    @property
    def library_severity(self) -> Verdict:
        """What something wrong with the ACL library is: one that was named is there to be used."""
        return Verdict.PROBLEM if self.library_named else self.severity

    @property
    def library_is_simulator(self) -> bool:
        """Whether the library that was found is the simulator, which no session takes for an NPU."""
        answer = self.library_answer
        return answer is not None and bool(answer.value("look up functions", "simulator"))

    @property
    def absence(self) -> Verdict:
        """What the absence of a part of the NPU's software is."""
        return Verdict.PROBLEM if self.npu_expected else Verdict.NOT_APPLICABLE

    @property
    def acl_files(self) -> tuple[str, ...]:
        """This process's paths of the libraries that make up the C API."""
        libraries = self.search.libraries(self.environment)
        return tuple(str(self.environment.locate(path)) for path in libraries)

    @cached_property
    def library_answer(self) -> ProbeAnswer | None:
        """A child's attempt to load the C API; None where no library was found."""
        if not self.acl_files:
            return None
        functions = [*REQUIRED, *(name for names in OPTIONAL.values() for name in names)]
        return self.prober.probe("library", libraries=self.acl_files, functions=functions)

    @cached_property
    def runtime_answer(self) -> ProbeAnswer | None:
        """A child's attempt to start ACL and use a device; None where the library does not load."""
        answer = self.library_answer
        if answer is None or answer.step("look up functions") is None:
            return None
        return self.prober.probe(
            "runtime", libraries=self.acl_files, device=self.device_index, model_soc=self.model_soc
        )

    @cached_property
    def onnxruntime_answer(self) -> ProbeAnswer:
        """A child's attempt to import onnxruntime."""
        return self.prober.probe("import", modules=["onnxruntime"])

    @property
    def onnxruntime_version(self) -> str | None:
        """The version that can be imported, None when none can."""
        return self.onnxruntime_answer.value("import onnxruntime", "version") or None

    @property
    def device_count(self) -> int:
        """Devices that ACL counts and of which the one asked for could be used; simulated ones are none."""
        answer = None if self.library_is_simulator else self.runtime_answer
        used = answer.step("copy to the device and back") if answer else None
        if answer is None or used is None or not used.ok:
            return 0
        return int(answer.value("aclrtGetDeviceCount", "count") or 0)

    @property
    def npu_usable(self) -> bool:
        """Whether models can run on an NPU: one works, and this package can drive it."""
        present = extension_state(self.environment.package_path) is ExtensionState.PRESENT
        return present and self.device_count > 0

    def set_env_command(self) -> str:
        """Return the line that sets CANN's environment for a shell."""
        for root in self.roots:
            script = root.set_env_script(self.environment)
            if script:
                return (
                    f"source {shlex.quote(script)}   # before Python starts; it cannot be mended from inside"
                )
        return "source <CANN>/set_env.sh   # before Python starts; it cannot be mended from inside"
