"""Everything that ``inspect`` says about one model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ascend_infer.cli.inspection.described_file import DescribedFile
from ascend_infer.cli.inspection.placement import Placement, find_placement
from ascend_infer.cli.inspection.quirks import file_quirks
from ascend_infer.cli.inspection.served_config import complete_subject
from ascend_infer.cli.inspection.signature_facts import bare_tensors, config_tensors
from ascend_infer.cli.inspection.subject import Subject
from ascend_infer.cli.inspection.tensor import Tensor
from ascend_infer.config import Completed, ModelConfig, complete, to_dict
from ascend_infer.errors import ConfigError

__all__ = ["Report", "make_report"]


@dataclass(frozen=True, slots=True)
class Report:
    """A model, described.

    Attributes
    ----------
    subject : Subject
    config : ModelConfig or None
        Completed from the model file; None for a bare file.
    inputs, outputs : tuple of Tensor
    placement : Placement
    notes : tuple of str
        Quirks, each in a sentence.
    """

    subject: Subject
    config: ModelConfig | None
    inputs: tuple[Tensor, ...]
    outputs: tuple[Tensor, ...]
    placement: Placement
    notes: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON types; keys keep their names and meaning between releases."""
        directory = self.subject.directory
        return {
            "kind": self.subject.kind,
            "path": str(self.subject.path),
            "name": self.subject.name,
            "version": self.subject.version,
            "versions": [] if directory is None else list(directory.versions),
            "selected_versions": [] if directory is None else list(directory.selected),
            "max_batch_size": None if self.config is None else self.config.max_batch_size,
            "inputs": [tensor.to_json() for tensor in self.inputs],
            "outputs": [tensor.to_json() for tensor in self.outputs],
            "runs_here": self.placement.to_json(),
            "notes": list(self.notes),
            "files": [file.to_json() for file in self.subject.files],
            "config": None if self.config is None else to_dict(self.config),
        }


def make_report(subject: Subject, version: str | None, allow_paths: Sequence[str]) -> Report:
    """Put together what there is to say.

    Raises
    ------
    ConfigError
        When the configuration contradicts the model file, or names a label file that is not there.
    """
    placement = find_placement(subject, version, allow_paths)
    notes = [quirk for file in subject.files for quirk in _named(subject, file, file_quirks(file))]
    if subject.directory is None:
        assert subject.primary is not None
        inputs, outputs = bare_tensors(subject.primary)
        return Report(subject, None, inputs, outputs, placement, tuple(notes))
    completed = complete_subject(subject)
    config = completed.config if completed is not None else subject.directory.config
    notes += [str(warning) for warning in subject.directory.warnings]
    if completed is not None:
        notes += [str(warning) for warning in completed.diagnostics]
        notes += _relaxed(completed)
    notes += _twin_disagrees(subject)
    inputs, outputs = config_tensors(subject, config, completed)
    return Report(subject, config, inputs, outputs, placement, tuple(dict.fromkeys(notes)))


def _named(subject: Subject, file: DescribedFile, quirks: list[str]) -> list[str]:
    """Say which file a quirk is about where there are two."""
    if subject.twin is None:
        return quirks
    return [f"{file.path.name}: {quirk}" for quirk in quirks]


def _relaxed(completed: Completed) -> list[str]:
    if not completed.relaxed:
        return []
    names = ", ".join(repr(name) for name in completed.relaxed)
    return [
        f"the configuration leaves dimensions of {names} open that the file fixes: the declared shapes are ignored"
    ]


def _twin_disagrees(subject: Subject) -> list[str]:
    directory, twin = subject.directory, subject.twin
    if directory is None or twin is None or twin.known_spec is None:
        return []
    try:
        complete(directory.config, twin.known_spec, parsed=directory.parsed)
    except ConfigError as error:
        return [f"{twin.path.name} contradicts the configuration and does not load: {error}"]
    return []
