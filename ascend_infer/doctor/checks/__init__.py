"""The checks, in the order in which one rests on another."""

from __future__ import annotations

from collections.abc import Callable

from ascend_infer.doctor.checks.acl_library import check_acl_library
from ascend_infer.doctor.checks.cann import check_cann
from ascend_infer.doctor.checks.device_log import check_device_log
from ascend_infer.doctor.checks.device_nodes import check_device_nodes
from ascend_infer.doctor.checks.driver import check_driver
from ascend_infer.doctor.checks.extension import check_extension
from ascend_infer.doctor.checks.npu_smi import check_npu_smi
from ascend_infer.doctor.checks.onnxruntime import check_onnxruntime
from ascend_infer.doctor.checks.optional_functions import check_optional_functions
from ascend_infer.doctor.checks.packages import check_packages
from ascend_infer.doctor.checks.runtime import check_runtime
from ascend_infer.doctor.checks.simulator import check_simulator
from ascend_infer.doctor.checks.versions import check_versions
from ascend_infer.doctor.checks.visible_devices import check_visible_devices
from ascend_infer.doctor.examination import Examination
from ascend_infer.doctor.finding import Finding

__all__ = ["CHECKS"]

#: Stable name -> check. A new check is one function from an examination to a finding of that name.
CHECKS: dict[str, Callable[[Examination], Finding]] = {
    "device_nodes": check_device_nodes,
    "driver": check_driver,
    "cann": check_cann,
    "visible_devices": check_visible_devices,
    "acl_library": check_acl_library,
    "versions": check_versions,
    "npu_smi": check_npu_smi,
    "runtime": check_runtime,
    "optional_functions": check_optional_functions,
    "device_log": check_device_log,
    "extension": check_extension,
    "onnxruntime": check_onnxruntime,
    "packages": check_packages,
    "simulator": check_simulator,
}
