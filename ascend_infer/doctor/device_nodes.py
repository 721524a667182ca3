"""The kernel's device nodes of Ascend cards, as one container or host shows them."""

from __future__ import annotations

import os
import re
import stat
from dataclasses import dataclass

from ascend_infer.doctor.environment import Environment

__all__ = ["DeviceNode", "DeviceNodes", "scan_device_nodes"]

_CARD = re.compile(r"v?davinci(\d+)")


@dataclass(frozen=True, slots=True)
class DeviceNode:
    """One node that is there.

    Attributes
    ----------
    path : str
    accessible : bool
        Who asks may read and write it.
    mode, group : str
        ``"crw-rw----"``, ``"HwHiAiUser"``.
    is_folder : bool
        A container engine that bind-mounts a missing node leaves a folder in its place.
    """

    path: str
    accessible: bool
    mode: str
    group: str
    is_folder: bool


@dataclass(frozen=True, slots=True)
class DeviceNodes:
    """Cards, the shared nodes that they need, and those of them that are not there."""

    cards: tuple[DeviceNode, ...]
    shared: tuple[DeviceNode, ...]
    missing: tuple[str, ...]

    @property
    def any(self) -> bool:
        """Whether anything of an NPU is there."""
        return bool(self.cards or self.shared)

    @property
    def card_ids(self) -> tuple[int, ...]:
        """Numbers of the cards' nodes (physical ids), ascending."""
        return tuple(sorted(int(_CARD.fullmatch(node.path.rsplit("/", 1)[-1])[1]) for node in self.cards))  # type: ignore[index]


def scan_device_nodes(environment: Environment) -> DeviceNodes:
    """Look at ``/dev``: ``davinciN`` and ``vdavinciN``, the manager, memory and communication nodes.

    A server card has ``devmm_svm`` and ``hisi_hdc``; where the chip itself is the host (310B), ``svm0`` is in
    their place.
    """
    names = environment.list_dir("/dev")
    cards = [name for name in names if _CARD.fullmatch(name)]
    on_chip = "svm0" in names and "devmm_svm" not in names
    wanted = ("davinci_manager", "svm0") if on_chip else ("davinci_manager", "devmm_svm", "hisi_hdc")
    present = [name for name in wanted if name in names]
    return DeviceNodes(
        cards=tuple(_look_at(environment, f"/dev/{name}") for name in cards),
        shared=tuple(_look_at(environment, f"/dev/{name}") for name in present),
        missing=tuple(
            [f"/dev/{name}" for name in wanted if name not in names] + ([] if cards else ["/dev/davinci0"])
        ),
    )


def _look_at(environment: Environment, path: str) -> DeviceNode:
    try:
        status = os.stat(environment.locate(path))
    except OSError as error:
        return DeviceNode(path, False, error.strerror or str(error), "unknown", False)
    return DeviceNode(
        path=path,
        accessible=environment.may_read_and_write(path),
        mode=stat.filemode(status.st_mode),
        group=environment.group_name(status.st_gid),
        is_folder=stat.S_ISDIR(status.st_mode),
    )
