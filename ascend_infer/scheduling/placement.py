"""How many instances of a model run on which devices: ``instance_group`` put onto what a session may use.

The meanings are Triton's: a group with ``gpus`` has ``count`` instances on each of them; one of KIND_GPU or KIND_AUTO
without has them on every device; a count of 0 is 1. Without any group there is one instance. KIND_GPU and KIND_AUTO
mean the NPU here, and ids are those of the session's kind of device. The GE backend for Triton looks at no kinds and
spreads the sum of all counts over its parameter ``device_ids``; so do we where that is stated.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from ascend_infer.backends.base import DeviceTarget
from ascend_infer.config import ModelConfig
from ascend_infer.config.instance_group import ModelInstanceGroup, ModelInstanceGroupKind
from ascend_infer.config.platforms import find_platform
from ascend_infer.errors import DeviceNotFoundError, ModelLoadError
from ascend_infer.scheduling.limits import MOST_INSTANCES

__all__ = ["Placement", "Share", "asks_for_cpu", "place"]

_KIND_CPU = ModelInstanceGroupKind.KIND_CPU
_ON_DEVICES = (ModelInstanceGroupKind.KIND_GPU, ModelInstanceGroupKind.KIND_AUTO)


@dataclass(frozen=True, slots=True)
class Share:
    """The instances that one device gets.

    Attributes
    ----------
    device : DeviceTarget
    instances : int
        At least 1.
    """

    device: DeviceTarget
    instances: int


@dataclass(frozen=True, slots=True)
class Placement:
    """Where a model's instances run.

    Attributes
    ----------
    shares : tuple of Share
        One for each device, in the order in which the configuration names them.
    notes : tuple of str
        Sentences for the log, about what the configuration says and is done otherwise.
    """

    shares: tuple[Share, ...]
    notes: tuple[str, ...] = ()

    def __str__(self) -> str:
        if len(self.shares) == 1:
            return str(self.shares[0].instances)
        return ", ".join(f"{share.instances} on {share.device}" for share in self.shares)


def place(
    config: ModelConfig,
    device: DeviceTarget,
    *,
    named: bool,
    count_devices: Callable[[], int],
    instances: int | None = None,
) -> Placement:
    """Settle how many instances each device gets.

    Parameters
    ----------
    config : ModelConfig
    device : DeviceTarget
        What the session's ``device`` came to; its index is where instances go that no group puts elsewhere.
    named : bool
        The user asked for this very index, ``"npu:1"``: all instances go there.
    count_devices : callable
        How many devices of this kind there are; called when it matters only.
    instances : int, optional
        So many in all, spread over the devices that the configuration names, in place of its counts.

    Raises
    ------
    DeviceNotFoundError
        The configuration names a device that is not there.
    ModelLoadError
        A parameter of the GE backend is no number; there would be more than ``MOST_INSTANCES``, or none: every group
        is passive, and ``instances`` says no number.
    """
    groups = _groups(config)
    if config.instance_group and instances is None and all(group.passive for group in config.instance_group):
        raise ModelLoadError(
            f"model {config.name!r}: got passive: true in every instance_group, expected one group or more whose "
            "instances take requests; take passive away from one, or state instances= for this session"
        )
    if device.kind == "cpu":
        return _bounded(config, _on_cpu(config, groups, device, instances))
    notes: list[str] = []
    wanted = _spread_by_parameters(config, groups, notes)
    if wanted is None:
        everywhere = (device.index,) if named else range(count_devices()) if _needs_all(groups) else ()
        wanted = _spread_by_groups(config, groups, device, everywhere, notes)
    if named:
        wanted = _all_on(device, wanted, notes)
    elif any(wanted) and max(wanted) >= (there := count_devices()):
        raise _no_such_device(config, device, [index for index in wanted if index >= there], there)
    if instances is not None:
        wanted = _spread(instances, list(wanted))
    shares = tuple(Share(replace(device, index=index), number) for index, number in wanted.items())
    return _bounded(config, Placement(shares, tuple(notes)))


def _bounded(config: ModelConfig, placement: Placement) -> Placement:
    total = sum(share.instances for share in placement.shares)
    if total > MOST_INSTANCES:
        raise ModelLoadError(
            f"model {config.name!r}: instance_group asks for {total} instances, expected at most {MOST_INSTANCES}; "
            "lower its count"
        )
    return placement


def asks_for_cpu(config: ModelConfig) -> bool:
    """Whether all of a model's instance groups are KIND_CPU, and its platform is not one of the NPU alone."""
    groups = _groups(config)
    return bool(groups) and all(group.kind is _KIND_CPU for group in groups) and not _npu_only(config)


def _groups(config: ModelConfig) -> list[ModelInstanceGroup]:
    """Return the groups whose instances take requests; none where the configuration states none.

    Triton's default group has an instance on every device. A process that asked for nothing takes one: others use
    the machine too.
    """
    if config.instance_group == (ModelInstanceGroup(name=config.name, count=1),):
        return []
    return [group for group in config.instance_group if not group.passive]


def _npu_only(config: ModelConfig) -> bool:
    """Whether the backend runs compiled models: a server without NVIDIA's devices calls its instances KIND_CPU."""
    entry = find_platform(config)
    return entry is not None and entry.runtime == "om"


def _on_cpu(
    config: ModelConfig, groups: Sequence[ModelInstanceGroup], device: DeviceTarget, instances: int | None
) -> Placement:
    number = instances or sum(max(1, group.count) for group in groups) or 1
    ignored = any(group.kind is ModelInstanceGroupKind.KIND_GPU for group in groups)
    notes = ("its KIND_GPU instances run on the CPU, gpus are ignored",) if ignored else ()
    return Placement((Share(device, number),), notes)


def _needs_all(groups: Sequence[ModelInstanceGroup]) -> bool:
    return any(group.kind in _ON_DEVICES and not group.gpus for group in groups)


def _spread_by_groups(
    config: ModelConfig,
    groups: Sequence[ModelInstanceGroup],
    device: DeviceTarget,
    everywhere: Sequence[int],
    notes: list[str],
) -> dict[int, int]:
    """Return instances by device id, in the order of the groups."""
    of_cpu = [group for group in groups if group.kind is _KIND_CPU]
    if of_cpu and len(of_cpu) < len(groups) and not _npu_only(config):
        # Two runtimes round differently: which one answers must not depend on who is idle.
        notes.append(f"its KIND_CPU instances are not made: the session runs on {device}")
        groups = [group for group in groups if group.kind is not _KIND_CPU]
    elif of_cpu:
        notes.append(f"its KIND_CPU instances are on {device}")
    wanted: dict[int, int] = {}
    for group in groups:
        for index in group.gpus or (everywhere if group.kind in _ON_DEVICES else (device.index,)):
            wanted[index] = wanted.get(index, 0) + max(1, group.count)
    wanted = wanted or {device.index: 1}
    each = _number(config, "device_exec_blocks")
    return dict.fromkeys(wanted, each) if each else wanted


def _spread_by_parameters(
    config: ModelConfig, groups: Sequence[ModelInstanceGroup], notes: list[str]
) -> dict[int, int] | None:
    """Do as the GE backend does with ``device_ids``; None where it is not stated."""
    text = config.parameter("device_ids") if _npu_only(config) else ""
    if not text:
        return None
    ids = [_whole(config, item, "device_ids", text, 0) for item in text.split(",")]
    if any(group.gpus for group in groups):
        notes.append(f"its instances are on devices {text} (device_ids), gpus are ignored")
    total = sum(max(1, group.count) for group in groups) or 1
    total *= _number(config, "instance_exec_blocks") or 1
    each = _number(config, "device_exec_blocks") or -(-total // len(ids))
    return dict.fromkeys(ids, each)


def _number(config: ModelConfig, key: str) -> int | None:
    text = config.parameter(key) if _npu_only(config) else ""
    return _whole(config, text, key, text, 1) if text else None


def _whole(config: ModelConfig, item: str, key: str, text: str, least: int) -> int:
    if item.strip().isdecimal() and least <= int(item) < 2**31:
        return int(item)
    expected = (
        "device numbers, as in '0,1'"
        if key == "device_ids"
        else f"a whole number from {least} to {2**31 - 1}"
    )
    raise ModelLoadError(
        f"model {config.name!r}: parameters {{ key: '{key}' }}: got {text!r}, expected {expected}"
    )


def _all_on(device: DeviceTarget, wanted: dict[int, int], notes: list[str]) -> dict[int, int]:
    total = sum(wanted.values())
    if set(wanted) != {device.index}:
        stated = ", ".join(f"{number} on device {index}" for index, number in wanted.items())
        notes.append(f"its configuration wants {stated}; {device} was asked for, so all {total} are there")
    return {device.index: total}


def _spread(number: int, ids: Sequence[int]) -> dict[int, int]:
    each, more = divmod(number, len(ids))
    return {index: each + (place < more) for place, index in enumerate(ids) if each or place < more}


def _no_such_device(
    config: ModelConfig, device: DeviceTarget, missing: Sequence[int], there: int
) -> DeviceNotFoundError:
    names = ", ".join(f"{device.kind}:{index}" for index in missing)
    return DeviceNotFoundError(
        f"model {config.name!r}: its configuration puts instances on {names}, and there "
        f"{'are' if there != 1 else 'is'} {there} device{'s' if there != 1 else ''}, numbered from 0; change gpus "
        f"(or device_ids), or ask for one device, as in device='{device.kind}:0', which then gets all instances",
        device=f"{device.kind}:{missing[0]}",
    )
