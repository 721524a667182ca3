"""instance_group to devices: Triton's meanings, on a machine with some NPUs."""

from __future__ import annotations

from typing import Any

import pytest

from ascend_infer.backends.base import DeviceTarget
from ascend_infer.config import parse_config
from ascend_infer.errors import DeviceNotFoundError, ModelLoadError
from ascend_infer.scheduling.placement import Placement, asks_for_cpu, place

HEAD = 'name: "net" platform: "ge" max_batch_size: 8\n'
OTHER = 'name: "net" backend: "onnxruntime" max_batch_size: 8\n'
STORY = "instance_group [ { count: 2 kind: KIND_GPU gpus: [0] }, { count: 2 kind: KIND_GPU gpus: [1] } ]"


def parameters(**values: str) -> str:
    return " ".join(
        f'parameters {{ key: "{key}" value: {{ string_value: "{value}" }} }}' for key, value in values.items()
    )


def placed(
    text: str, device: str = "npu:0", *, there: int = 2, named: bool = False, head: str = HEAD, **how: Any
) -> Placement:
    kind, _, index = device.partition(":")
    target = DeviceTarget(kind, int(index or 0), ("lib",) if index else ())  # type: ignore[arg-type]
    return place(parse_config(head + text).config, target, named=named, count_devices=lambda: there, **how)


def counts(placement: Placement) -> dict[str, int]:
    return {str(share.device): share.instances for share in placement.shares}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", {"npu:0": 1}),
        (STORY, {"npu:0": 2, "npu:1": 2}),
        ("instance_group { count: 3 kind: KIND_GPU gpus: [1] }", {"npu:1": 3}),
        ("instance_group { count: 2 kind: KIND_GPU gpus: [1, 0] }", {"npu:1": 2, "npu:0": 2}),
        ("instance_group { count: 2 kind: KIND_GPU }", {"npu:0": 2, "npu:1": 2}),
        ("instance_group { count: 2 }", {"npu:0": 2, "npu:1": 2}),
        ("instance_group { gpus: [1] }", {"npu:1": 1}),
        ("instance_group { count: 0 kind: KIND_GPU gpus: [0] }", {"npu:0": 1}),
        ("instance_group { count: 2 kind: KIND_MODEL }", {"npu:0": 2}),
        ("instance_group [ { gpus: [0] }, { count: 2 gpus: [0, 1] } ]", {"npu:0": 3, "npu:1": 2}),
        ("instance_group { count: 2 gpus: [0, 0] }", {"npu:0": 4}),
        ("instance_group [ { gpus: [0] }, { count: 5 gpus: [1] passive: true } ]", {"npu:0": 1}),
    ],
)
def test_groups_as_triton_reads_them(text: str, expected: dict[str, int]) -> None:
    placement = placed(text)
    assert counts(placement) == expected
    assert list(counts(placement)) == list(expected)
    assert placement.notes == ()
    assert all(share.device.libraries == ("lib",) for share in placement.shares)


@pytest.mark.parametrize("device", ["cpu", "npu:0"])
def test_more_instances_than_anybody_means(device: str) -> None:
    with pytest.raises(ModelLoadError, match="asks for 1000000 instances, expected at most 1024"):
        placed("instance_group { count: 1000000 kind: KIND_CPU }", device)


@pytest.mark.parametrize("device", ["cpu", "sim:0", "npu:1"])
@pytest.mark.parametrize("head", [HEAD, OTHER])
def test_passive_groups_alone_have_no_instance(device: str, head: str) -> None:
    for text in ("{ count: 5 passive: true }", "[ { passive: true }, { kind: KIND_CPU passive: true } ]"):
        with pytest.raises(
            ModelLoadError, match="model 'net': got passive: true in every instance_group.*instances="
        ):
            placed(f"instance_group {text}", device, head=head)
        placement = placed(f"instance_group {text}", device, head=head, instances=3)
        assert sum(counts(placement).values()) == 3


def test_ids_are_of_the_sessions_kind_of_device() -> None:
    assert counts(placed(STORY, "sim:0")) == {"sim:0": 2, "sim:1": 2}
    assert str(placed(STORY, "sim:0")) == "2 on sim:0, 2 on sim:1"
    assert str(placed("instance_group { count: 2 gpus: [1] }")) == "2"


def test_a_device_asked_for_by_number_gets_all() -> None:
    placement = placed(STORY, "npu:1", named=True)
    assert counts(placement) == {"npu:1": 4}
    [note] = placement.notes
    assert "2 on device 0, 2 on device 1" in note
    assert "npu:1 was asked for, so all 4" in note
    # "Every device" is then the one; and nothing is said where nothing is done otherwise.
    assert counts(placed("instance_group { count: 2 kind: KIND_GPU }", "npu:1", named=True)) == {"npu:1": 2}
    assert placed("instance_group { gpus: [1] }", "npu:1", named=True).notes == ()
    # What else there is does not matter then.
    assert counts(placed("instance_group { gpus: [7] }", "npu:0", named=True, there=1)) == {"npu:0": 1}


@pytest.mark.parametrize(
    ("text", "there", "says"),
    [
        (STORY, 1, "on npu:1, and there is 1 device,"),
        ("instance_group { gpus: [0, 5, 7] }", 2, "on npu:5, npu:7, and there are 2 devices,"),
        ('parameters { key: "device_ids" value: { string_value: "4,5" } }', 2, "on npu:4, npu:5"),
    ],
)
def test_a_device_that_is_not_there(text: str, there: int, says: str) -> None:
    with pytest.raises(DeviceNotFoundError, match="model 'net'") as caught:
        placed(text, there=there)
    assert says in str(caught.value)
    assert "device='npu:0'" in str(caught.value)
    assert caught.value.device in says


def test_how_many_devices_there_are_is_asked_only_where_it_matters() -> None:
    def unasked() -> int:
        raise AssertionError

    config = parse_config(HEAD + "instance_group { gpus: [0] }").config
    assert counts(place(config, DeviceTarget("npu"), named=False, count_devices=unasked)) == {"npu:0": 1}
    config = parse_config(HEAD + STORY).config
    assert counts(place(config, DeviceTarget(), named=False, count_devices=unasked)) == {"cpu": 4}


@pytest.mark.parametrize(
    ("text", "instances", "expected"),
    [
        ("", 3, {"npu:0": 3}),
        (STORY, 1, {"npu:0": 1}),
        (STORY, 3, {"npu:0": 2, "npu:1": 1}),
        (STORY, 6, {"npu:0": 3, "npu:1": 3}),
        ("instance_group { count: 8 gpus: [1] }", 2, {"npu:1": 2}),
    ],
)
def test_instances_in_place_of_the_counts(text: str, instances: int, expected: dict[str, int]) -> None:
    assert counts(placed(text, instances=instances)) == expected


def test_instances_on_a_device_asked_for_by_number() -> None:
    assert counts(placed(STORY, "npu:1", named=True, instances=3)) == {"npu:1": 3}


@pytest.mark.parametrize("text", ["", STORY, "instance_group { count: 4 }"])
def test_on_the_cpu_all_are_the_cpus(text: str) -> None:
    placement = placed(text, "cpu")
    assert counts(placement) == {"cpu": 4 if text else 1}
    assert bool(placement.notes) == ("KIND_GPU" in text)
    assert counts(placed(text, "cpu", instances=2)) == {"cpu": 2}


def test_kind_cpu_beside_an_npu() -> None:
    only = "instance_group { count: 3 kind: KIND_CPU }"
    mixed = "instance_group [ { count: 3 kind: KIND_CPU }, { count: 2 kind: KIND_GPU gpus: [1] } ]"
    # A compiled model runs nowhere else: without NVIDIA's devices a server takes no other kind.
    assert counts(placed(only)) == {"npu:0": 3}
    assert placed(only).notes == ("its KIND_CPU instances are on npu:0",)
    assert counts(placed(mixed)) == {"npu:0": 3, "npu:1": 2}
    # A model that the CPU runs too: not both in one session.
    assert counts(placed(mixed, head=OTHER)) == {"npu:1": 2}
    assert "not made" in placed(mixed, head=OTHER).notes[0]
    assert counts(placed(only, head=OTHER)) == {"npu:0": 3}


@pytest.mark.parametrize(
    ("head", "text", "answer"),
    [
        (OTHER, "instance_group { kind: KIND_CPU }", True),
        (OTHER, "instance_group [ { kind: KIND_CPU }, { kind: KIND_GPU } ]", False),
        (OTHER, "instance_group [ { kind: KIND_CPU }, { kind: KIND_GPU passive: true } ]", True),
        (OTHER, "instance_group { }", False),
        (OTHER, "", False),
        (HEAD, "instance_group { kind: KIND_CPU }", False),
    ],
)
def test_a_model_that_wants_the_cpu(head: str, text: str, answer: bool) -> None:
    assert asks_for_cpu(parse_config(head + text).config) is answer


@pytest.mark.parametrize(
    ("stated", "group", "expected"),
    [
        ({"device_ids": "4,5"}, "{ count: 1 }", {"npu:4": 1, "npu:5": 1}),
        ({"device_ids": "5"}, "{ count: 64 }", {"npu:5": 64}),
        ({"device_ids": "2", "device_exec_blocks": "8"}, "{ count: 64 }", {"npu:2": 8}),
        ({"device_ids": "0, 1"}, "{ count: 3 }", {"npu:0": 2, "npu:1": 2}),
        ({"device_ids": "0,1", "instance_exec_blocks": "2"}, "{ count: 3 }", {"npu:0": 3, "npu:1": 3}),
        ({"device_ids": "0,1"}, "{ count: 2 kind: KIND_CPU }", {"npu:0": 1, "npu:1": 1}),
        ({"device_exec_blocks": "3"}, "{ count: 64 gpus: [6] }", {"npu:6": 3}),
    ],
)
def test_parameters_of_the_ge_backend(stated: dict[str, str], group: str, expected: dict[str, int]) -> None:
    head = 'name: "net" backend: "npu_ge" max_batch_size: 8\n'
    text = f"instance_group {group} {parameters(**stated)}"
    assert counts(placed(text, head=head, there=8)) == expected
    # They are the GE backend's alone.
    assert set(counts(placed(text, head=OTHER, there=8))) != set(expected) or "gpus" in group


def test_device_ids_and_gpus() -> None:
    placement = placed(f"instance_group {{ gpus: [0] }} {parameters(device_ids='1')}")
    assert counts(placement) == {"npu:1": 1}
    assert "gpus are ignored" in placement.notes[0]


@pytest.mark.parametrize("text", ["a", "0,", "-1", "0;1", "1.5", "99999999999"])
def test_device_ids_that_are_none(text: str) -> None:
    with pytest.raises(ModelLoadError, match="model 'net': .*device_ids"):
        placed(parameters(device_ids=text))


@pytest.mark.parametrize("text", ["0", "x", "-3"])
def test_numbers_of_streams_that_are_none(text: str) -> None:
    with pytest.raises(ModelLoadError, match="model 'net': .*device_exec_blocks.*from 1 to 2147483647"):
        placed(parameters(device_exec_blocks=text))
