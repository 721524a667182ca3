"""The NPU driver's user-space part: its library, its version, its kernel modules."""

from __future__ import annotations

import re
from dataclasses import dataclass

from ascend_infer.doctor.cann_root import parse_version
from ascend_infer.doctor.environment import Environment
from ascend_infer.doctor.loader_path import LibraryDirectory, find_library, stub_reason

__all__ = ["HAL_LIBRARY", "Driver", "find_driver"]

HAL_LIBRARY = "libascend_hal.so"
_DEFAULT_INSTALL = "/usr/local/Ascend"


@dataclass(frozen=True, slots=True)
class Driver:
    """What there is of a driver.

    Attributes
    ----------
    install_path : str
        Where it is or would be installed, from ``/etc/ascend_install.info``.
    user_group : str
        The group that may use the cards.
    installed : str or None
        The driver library in its own place.
    on_path : tuple of (str, LibraryDirectory)
        Where the loader finds a library of that name, first one first.
    stub : str or None
        Why the first of them is only a stub.
    version, firmware : str or None
    modules : tuple of str
        Loaded kernel modules.
    """

    install_path: str
    user_group: str
    installed: str | None
    on_path: tuple[tuple[str, LibraryDirectory], ...]
    stub: str | None
    version: str | None
    firmware: str | None
    modules: tuple[str, ...]

    @property
    def any(self) -> bool:
        """Whether a real driver is there: its library or its version file."""
        return self.installed is not None or self.version is not None


def find_driver(environment: Environment) -> Driver:
    """Look for the driver under its install path and on the loader's path."""
    info = _key_values(environment.read_text("/etc/ascend_install.info") or "")
    install = info.get("driver_install_path_param", "").rstrip("/") or _DEFAULT_INSTALL
    places = (
        f"{install}/driver/lib64/driver/{HAL_LIBRARY}",
        f"{install}/driver/lib64/{HAL_LIBRARY}",
        f"/usr/lib64/{HAL_LIBRARY}",  # where the chip itself is the host (310B)
    )
    on_path = find_library(environment, HAL_LIBRARY)
    return Driver(
        install_path=install,
        user_group=info.get("usergroup") or "HwHiAiUser",
        installed=next((place for place in places if environment.is_file(place)), None),
        on_path=on_path,
        stub=stub_reason(environment, on_path[0][0]) if on_path else None,
        version=_version(environment, f"{install}/driver/version.info"),
        firmware=_version(environment, f"{install}/firmware/version.info"),
        modules=_kernel_modules(environment),
    )


def _key_values(text: str) -> dict[str, str]:
    pairs = (line.partition("=") for line in text.splitlines())
    return {key.strip().lower(): value.strip() for key, equals, value in pairs if equals}


def _version(environment: Environment, file: str) -> str | None:
    text = environment.read_text(file)
    if not text:
        return None
    return _key_values(text).get("package_version") or parse_version(text)


def _kernel_modules(environment: Environment) -> tuple[str, ...]:
    lines = (environment.read_text("/proc/modules", 1 << 20) or "").splitlines()
    names = (line.split(" ", 1)[0] for line in lines)
    return tuple(sorted(name for name in names if re.match(r"drv_|.*asdrv|ascend", name)))
