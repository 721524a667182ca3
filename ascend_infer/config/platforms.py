"""Which platform and backend names there are, which belong together, and which file each runs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from ascend_infer.config.model_config import ModelConfig

__all__ = ["PLATFORMS", "PlatformEntry", "find_platform", "platform_of_file"]

Runtime = Literal["om", "onnx", "python", "ensemble", "torchscript", "twin"]


@dataclass(frozen=True, slots=True)
class PlatformEntry:
    """One line of the table.

    Attributes
    ----------
    platform, backend : str
        The pair; ``platform`` is "" where the backend has none.
    filename : str
        What ``default_model_filename`` is when the configuration does not say.
    runtime : str
        What runs it: ``"om"``, ``"onnx"``, ``"python"``, ``"ensemble"``, ``"torchscript"``, or ``"twin"`` for
        frameworks that are not run here, whose ``model.onnx`` or ``model.om`` beside the file is.
    """

    platform: str
    backend: str
    filename: str
    runtime: Runtime


# In the order in which a version directory is searched when the configuration names neither.
PLATFORMS: tuple[PlatformEntry, ...] = (
    PlatformEntry("acl", "acl", "model.om", "om"),
    PlatformEntry("ge", "npu_ge", "model.om", "om"),
    PlatformEntry("ge", "ge", "model.om", "om"),
    PlatformEntry("tensorflow_savedmodel", "tensorflow", "model.savedmodel", "twin"),
    PlatformEntry("tensorflow_graphdef", "tensorflow", "model.graphdef", "twin"),
    PlatformEntry("tensorrt_plan", "tensorrt", "model.plan", "twin"),
    PlatformEntry("onnxruntime_onnx", "onnxruntime", "model.onnx", "onnx"),
    PlatformEntry("", "openvino", "model.xml", "twin"),
    PlatformEntry("pytorch_libtorch", "pytorch", "model.pt", "torchscript"),
    PlatformEntry("torch_aoti", "pytorch", "model.pt2", "twin"),
    PlatformEntry("", "python", "model.py", "python"),
    PlatformEntry("ensemble", "", "", "ensemble"),
)
# Other spellings of the platforms above.
PLATFORM_ALIASES = {"libtorch": "pytorch_libtorch", "npu_ge": "ge", "onnxruntime": "onnxruntime_onnx"}
_OM_BACKENDS = frozenset({"acl", "ge", "npu_ge"})


def find_platform(config: ModelConfig) -> PlatformEntry | None:
    """Return the entry of a configuration's backend and platform, None when there is none.

    The backend decides; a platform alone does where there is no backend.
    """
    platform = PLATFORM_ALIASES.get(config.platform, config.platform)
    if config.backend:
        entries = [entry for entry in PLATFORMS if entry.backend == config.backend]
        same = [entry for entry in entries if entry.platform == platform]
        return next(iter(same or entries), None)
    return next((entry for entry in PLATFORMS if platform and entry.platform == platform), None)


def platforms_of_backend(backend: str) -> frozenset[str]:
    """Return the platform names that may stand beside a backend; those that run .om files share theirs."""
    if backend in _OM_BACKENDS:
        return frozenset({"", "acl", "ge", "npu_ge"})
    own = {entry.platform for entry in PLATFORMS if entry.backend == backend and entry.platform}
    own |= {alias for alias, platform in PLATFORM_ALIASES.items() if platform in own}
    return frozenset({"", *own}) if own else frozenset()


def platform_of_file(filename: str) -> PlatformEntry | None:
    """Return the first entry whose file has this name's suffix: ``net.om`` is run as ``model.om`` is."""
    suffix = filename.rpartition(".")[2] if "." in filename else ""
    return next(
        (entry for entry in PLATFORMS if suffix and entry.filename.rpartition(".")[2] == suffix), None
    )
