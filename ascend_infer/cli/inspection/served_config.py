"""The config.pbtxt that would serve a model: its own, completed, or one made from a bare model file."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from ascend_infer.cli.inspection.described_file import DescribedFile
from ascend_infer.cli.inspection.subject import Subject
from ascend_infer.config import Completed, ModelConfig, complete, normalise, to_pbtxt
from ascend_infer.config.tensor_config import ModelInput, ModelOutput
from ascend_infer.config.version_folders import is_version
from ascend_infer.errors import ModelFileError
from ascend_infer.types import ModelSpec

__all__ = ["complete_subject", "config_text", "served_config"]


def complete_subject(subject: Subject) -> Completed | None:
    """Complete a model directory's configuration from its model file; None where there is no such file.

    Raises
    ------
    ConfigError
        When the two contradict each other.
    """
    if subject.directory is None or subject.primary is None or subject.primary.known_spec is None:
        return None
    return complete(subject.directory.config, subject.primary.known_spec, parsed=subject.directory.parsed)


def served_config(subject: Subject) -> ModelConfig:
    """Return a configuration that leaves nothing out and loads this model.

    Raises
    ------
    ConfigError, ModelFileError
    """
    return _in_utf8(_served(subject))


def _served(subject: Subject) -> ModelConfig:
    if subject.directory is not None:
        if subject.primary is None:
            return subject.directory.config
        completed = complete_subject(subject)
        if completed is None:
            raise ModelFileError(subject.primary.no_spec, path=str(subject.primary.path))
        return _with_gears(completed.config, subject.primary, explicit=False)
    assert subject.primary is not None
    return _from_file(subject.primary)


def _in_utf8(config: ModelConfig) -> ModelConfig:
    """Leave out a name that config.pbtxt, which is UTF-8, cannot hold: it is the folder's all the same."""
    try:
        config.name.encode("utf-8")
    except UnicodeEncodeError:
        groups = tuple(replace(group, name="") for group in config.instance_group)
        return replace(config, name="", instance_group=groups)
    return config


def config_text(subject: Subject, config: ModelConfig) -> str:
    """Return the text of config.pbtxt, with a comment that says where it belongs."""
    lines = []
    if subject.directory is None:
        assert subject.primary is not None
        path = subject.primary.path
        folder = _directory_of(path)
        if folder is not None:
            lines.append(f"# {_comment(str(folder / 'config.pbtxt'))}")
        else:
            lines.append(
                f"# {_comment(config.name)}/config.pbtxt, with {_comment(path.name)} as "
                f"{_comment(config.name)}/1/{config.default_model_filename}"
            )
    file = subject.primary
    fixed = _fixed_batch(file.spec) if file is not None and file.spec is not None else 0
    if fixed > 1 and config.max_batch_size == fixed:
        lines.append(
            f"# The model is compiled for batch {fixed}: smaller batches are padded. If its first dimension is "
            f"no batch,\n# write max_batch_size: 0 and put the {fixed} first in all dims."
        )
    return "".join(f"{line}\n" for line in lines) + to_pbtxt(config)


def _from_file(file: DescribedFile) -> ModelConfig:
    spec = file.known_spec
    if spec is None or file.spec is None:
        raise ModelFileError(file.no_spec, path=str(file.path))
    om = spec.format == "om"
    folder = _directory_of(file.path)
    bare = ModelConfig(
        name=(folder.name if folder is not None else file.path.stem) or "model",
        platform="ge" if om else "onnxruntime_onnx",
        # A file in its place keeps its name; another one is copied there under the usual one.
        default_model_filename=file.path.name if folder is not None else ("model.om" if om else "model.onnx"),
    )
    fixed = _fixed_batch(spec)
    if any(tensor.shape == (-2,) for tensor in (*file.spec.inputs, *file.spec.outputs)):
        # Whether its first dimension is a batch cannot be told: naming the tensors leaves batching out.
        bare = replace(
            bare,
            input=tuple(ModelInput(name=tensor.name) for tensor in spec.inputs),
            output=tuple(ModelOutput(name=tensor.name) for tensor in spec.outputs),
        )
    elif fixed:
        bare = replace(bare, max_batch_size=fixed)
    completed = complete(bare, spec).config
    return _with_gears(completed, file, explicit=True)


def _with_gears(config: ModelConfig, file: DescribedFile, *, explicit: bool) -> ModelConfig:
    """Prefer the batch sizes that the model was compiled for, where the configuration says nothing of it."""
    spec = file.spec
    dynamic = config.dynamic_batching
    if spec is None or dynamic is None or config.max_batch_size < 2:
        return config
    gears = sorted({gear.values[0] for gear in spec.gears if gear.kind == "batch" and gear.values})
    preferred = tuple(gear for gear in gears if 1 < gear <= config.max_batch_size)
    stated = dynamic.preferred_batch_size not in ((), (config.max_batch_size,))
    if not preferred or (stated and not explicit):
        return config
    return normalise(replace(config, dynamic_batching=replace(dynamic, preferred_batch_size=preferred)))


def _fixed_batch(spec: ModelSpec) -> int:
    """Return the batch a .om without gears is compiled for; 0 where its first dimension is none.

    Only .om files: the runtime pads and splits for them, while onnxruntime takes the declared shape as it is.
    """
    if spec.format != "om" or spec.gears or spec.metadata.get("dynamic") != "static":
        return 0
    shapes = [tensor.shape for tensor in (*spec.inputs, *spec.outputs)]
    if not spec.inputs or any(len(shape) < 2 for shape in shapes):
        return 0
    firsts = {shape[0] for shape in shapes}
    return max(firsts) if len(firsts) == 1 and min(firsts) > 0 else 0


def _directory_of(file: Path) -> Path | None:
    """Return the model directory of a file that lies in a version folder."""
    parent = file.parent
    return parent.parent if is_version(parent.name) and parent.parent.name else None


def _comment(text: str) -> str:
    return "".join(character if character.isprintable() else "?" for character in text)
