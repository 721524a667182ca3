"""One model file, described by its own reader."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from ascend_infer import om, onnx_file
from ascend_infer.errors import ModelFileError
from ascend_infer.om import OmModel
from ascend_infer.onnx_file import OnnxFile
from ascend_infer.regular_file import open_regular
from ascend_infer.types import ModelSpec, TensorSpec

__all__ = ["DescribedFile", "describe_file", "read_spec"]

_OM_MAGIC = b"IMOD"


@dataclass(frozen=True, slots=True)
class DescribedFile:
    """A model file and what it says of itself.

    Attributes
    ----------
    path : Path
    facts : OnnxFile or OmModel
    spec : ModelSpec or None
        None for .om files without a signature: bundles, flow models.
    no_spec : str
        Why there is none.
    """

    path: Path
    facts: OnnxFile | OmModel
    spec: ModelSpec | None
    no_spec: str = ""

    @property
    def known_spec(self) -> ModelSpec | None:
        """The signature as a configuration can state it, which has no word for an unknown rank."""
        return None if self.spec is None else _with_ranks(self.spec)

    def to_json(self) -> dict[str, Any]:
        """Return everything as plain JSON types."""
        if isinstance(self.facts, OmModel):
            return {"format": "om", **self.facts.to_json()}
        facts = asdict(replace(self.facts, spec=ModelSpec("onnx", (), ()), defaults=()))
        del facts["spec"], facts["defaults"]
        facts["opsets"] = {domain or "ai.onnx": version for domain, version in self.facts.opsets.items()}
        facts["external_data"] = list(self.facts.external_data)
        signature = self.facts.spec
        return {
            "format": "onnx",
            "path": str(self.path),
            **facts,
            "metadata": dict(signature.metadata),
            "inputs": [_tensor(tensor) for tensor in signature.inputs],
            "outputs": [_tensor(tensor) for tensor in signature.outputs],
            "not_tensors": dict(signature.not_tensors),
            "defaults": [_tensor(tensor) for tensor in self.facts.defaults],
        }


def describe_file(path: Path) -> DescribedFile:
    """Read a model file's description, by its content where the name does not say what it is.

    Raises
    ------
    ModelFileError
        Missing, unreadable, damaged, or no model.
    """
    if path.suffix in (".om", ".om2") or (path.suffix != ".onnx" and _begins_with(path, _OM_MAGIC)):
        model = om.read(path)
        try:
            return DescribedFile(path, model, model.spec())
        except ModelFileError as error:
            return DescribedFile(path, model, None, str(error))
    described = onnx_file.read(path)
    return DescribedFile(path, described, described.spec)


def read_spec(path: Path) -> ModelSpec:
    """Return a model file's signature as a configuration can state it.

    Raises
    ------
    ModelFileError
    """
    described = describe_file(path)
    spec = described.known_spec
    if spec is None:
        raise ModelFileError(described.no_spec, path=str(path))
    return spec


def _begins_with(path: Path, magic: bytes) -> bool:
    try:
        descriptor, _ = open_regular(path)
    except (OSError, ValueError):
        return False  # the reader says why
    try:
        with open(descriptor, "rb") as file:
            return file.read(len(magic)) == magic
    except OSError:
        return False  # the reader says why


def _with_ranks(spec: ModelSpec) -> ModelSpec:
    return replace(
        spec,
        inputs=tuple(map(_with_some_rank, spec.inputs)),
        outputs=tuple(map(_with_some_rank, spec.outputs)),
    )


def _with_some_rank(tensor: TensorSpec) -> TensorSpec:
    return replace(tensor, shape=(-1,)) if tensor.shape == (-2,) else tensor


def _tensor(tensor: TensorSpec) -> dict[str, Any]:
    return {
        "name": tensor.name,
        "dtype": tensor.dtype.value,
        "shape": list(tensor.shape),
        "dim_names": list(tensor.dim_names),
        "optional": tensor.optional,
    }
