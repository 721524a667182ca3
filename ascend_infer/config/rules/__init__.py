"""Every rule of a single configuration: Triton's, and those it forgets.

A rule reports to `Findings`; none raises, none stops the others.
"""

from __future__ import annotations

from ascend_infer.config.findings import Findings
from ascend_infer.config.model_config import ModelConfig
from ascend_infer.config.rules.backend_rules import check_backend
from ascend_infer.config.rules.ensemble_rules import check_ensemble
from ascend_infer.config.rules.instance_rules import check_instance_groups
from ascend_infer.config.rules.model_rules import check_model
from ascend_infer.config.rules.scheduling_rules import check_scheduling
from ascend_infer.config.rules.sequence_rules import check_sequence
from ascend_infer.config.rules.tensor_rules import check_stated_tensors, check_tensors_complete
from ascend_infer.config.rules.warmup_rules import check_warmup

__all__ = ["check_rules", "check_tensors_complete"]


def check_rules(config: ModelConfig, findings: Findings) -> None:
    """Check what can be checked without the model file: all that is stated."""
    check_backend(config, findings)
    check_model(config, findings)
    check_stated_tensors(config, findings)
    check_scheduling(config, findings)
    check_sequence(config, findings)
    check_instance_groups(config, findings)
    check_warmup(config, findings)
    check_ensemble(config, findings)
