"""Rules of stateful models: control inputs, strategies, states."""

from __future__ import annotations

from ascend_infer.config.findings import Findings
from ascend_infer.config.model_config import ModelConfig
from ascend_infer.config.rules.scheduling_rules import check_preferred_sizes
from ascend_infer.config.scheduling_config import (
    ModelSequenceBatching,
    ModelSequenceBatchingControl,
    ModelSequenceBatchingControlKind,
)
from ascend_infer.types import DataType

__all__ = ["check_sequence"]

_CORRELATION_TYPES = (
    DataType.UINT64,
    DataType.INT64,
    DataType.UINT32,
    DataType.INT32,
    DataType.BYTES,
)


def check_sequence(config: ModelConfig, findings: Findings) -> None:
    """Check ``sequence_batching``."""
    batching = config.sequence_batching
    if batching is None:
        return
    _check_controls(batching, findings)
    if batching.oldest is not None:
        path = "sequence_batching.oldest.preferred_batch_size"
        sizes = batching.oldest.preferred_batch_size
        check_preferred_sizes(sizes, config.max_batch_size, path, "sequence batching", findings)
    if batching.direct is not None and not 0.0 <= batching.direct.minimum_slot_utilization <= 1.0:
        findings.error(
            "sequence_batching.direct.minimum_slot_utilization",
            "sequence batching minimum slot utilization must be in range [0.0, 1.0]",
            got=batching.direct.minimum_slot_utilization,
            expected="0.0 to 1.0",
        )
    for index, state in enumerate(batching.state):
        path = f"sequence_batching.state[{index}]"
        for name in ("input_name", "output_name"):
            if not getattr(state, name):
                findings.error(path, f"a sequence state must specify '{name}'")


def _check_controls(batching: ModelSequenceBatching, findings: Findings) -> None:
    names: dict[str, ModelSequenceBatchingControlKind | None] = {}
    kinds: dict[ModelSequenceBatchingControlKind, str] = {}
    for index, control_input in enumerate(batching.control_input):
        path = f"sequence_batching.control_input[{index}]"
        name = control_input.name
        if not name:
            findings.error(path, "sequence batching control tensor must have a name")
        elif name in names:
            findings.error(
                f"{path}.name",
                f"sequence batching control tensor '{name}' is specified for multiple control kinds",
                got=f"'{name}'",
                expected="one control input of each name",
            )
        if len(control_input.control) > 1:
            findings.error(
                f"{path}.control",
                f"sequence batching control tensor '{name}' is specified for multiple control kinds",
                got=f"{len(control_input.control)} controls",
                expected="1 control",
            )
        names[name] = None
        for place, control in enumerate(control_input.control):
            own = f"{path}.control[{place}]"
            other = kinds.setdefault(control.kind, name)
            if other != name:
                findings.error(
                    f"{own}.kind",
                    f"sequence batching specifies multiple {control.kind} tensors: '{other}' and '{name}'",
                )
            _check_control(control, name, own, findings)


def _check_control(control: ModelSequenceBatchingControl, name: str, path: str, findings: Findings) -> None:
    pairs = {
        "int32_false_true": control.int32_false_true,
        "fp32_false_true": control.fp32_false_true,
        "bool_false_true": control.bool_false_true,
    }
    given = [field for field, values in pairs.items() if values]
    if control.kind is ModelSequenceBatchingControlKind.CONTROL_SEQUENCE_CORRID:
        if given:
            findings.error(
                f"{path}.{given[0]}",
                f"sequence batching control {control.kind} of '{name}' takes data_type, no pair of values",
            )
        if control.data_type not in _CORRELATION_TYPES:
            findings.error(
                f"{path}.data_type",
                f"unexpected data type for control {control.kind}",
                got=control.data_type.config_name if control.data_type else "nothing",
                expected=", ".join(str(kind.config_name) for kind in _CORRELATION_TYPES),
            )
        return
    expected = "one of int32_false_true, fp32_false_true, bool_false_true"
    if len(given) != 1:
        findings.error(
            path,
            f"sequence batching control {control.kind} of '{name}' must specify exactly one pair of values",
            got=", ".join(given) or "none",
            expected=expected,
        )
    for field in given:
        if len(pairs[field]) != 2:
            findings.error(
                f"{path}.{field}",
                f"sequence batching control '{field}' must have exactly 2 entries",
                got=len(pairs[field]),
                expected="2: the value for false and the value for true",
            )
