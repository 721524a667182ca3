"""Rules of the model as a whole: batch size, cache, metrics."""

from __future__ import annotations

from ascend_infer.config.findings import Findings
from ascend_infer.config.model_config import ModelConfig

__all__ = ["check_model"]


def check_model(config: ModelConfig, findings: Findings) -> None:
    """Check max_batch_size, the response cache, the version policy and the metrics."""
    if config.max_batch_size < 0:
        findings.error(
            "max_batch_size",
            "'max_batch_size' must be a non-negative value",
            got=config.max_batch_size,
            expected="0 (no batching) or the largest batch",
        )
    cached = config.response_cache is not None and config.response_cache.enable
    policy = config.model_transaction_policy
    if cached and policy is not None and policy.decoupled:
        findings.error(
            "response_cache.enable",
            "the response cache does not support a model with the 'decoupled' transaction policy",
            hint="disable the response cache",
        )
    if cached and config.sequence_batching is not None:
        findings.error(
            "response_cache.enable",
            "the response cache does not support a model with sequence batching",
            hint="disable the response cache",
        )
    versions = config.version_policy
    if versions is not None and versions.latest is not None and versions.latest.num_versions == 0:
        findings.error(
            "version_policy.latest.num_versions",
            "the version policy selects no version: at least one version must be available",
            got=0,
            expected="1 or more",
        )
    if versions is not None and versions.specific is not None:
        if not versions.specific.versions:
            findings.error(
                "version_policy.specific",
                "the version policy selects no version: at least one version must be available",
                expected="versions: [1, ...]",
            )
        for index, version in enumerate(versions.specific.versions):
            if version < 0:
                findings.error(
                    f"version_policy.specific.versions[{index}]",
                    "a version is a non-negative number",
                    got=version,
                )
    _check_metrics(config, findings)


def _check_metrics(config: ModelConfig, findings: Findings) -> None:
    controls = config.model_metrics.metric_control if config.model_metrics is not None else ()
    for index, control in enumerate(controls):
        path = f"model_metrics.metric_control[{index}]"
        if control.metric_identifier is None:
            findings.error(path, "metric control must specify 'metric_identifier'")
        elif not control.metric_identifier.family:
            findings.error(f"{path}.metric_identifier", "metric identifier must specify a non-empty 'family'")
        if control.histogram_options is None:
            findings.error(path, "metric control must specify 'histogram_options'")
        elif not control.histogram_options.buckets:
            findings.error(f"{path}.histogram_options", "histogram options must specify non-empty 'buckets'")
