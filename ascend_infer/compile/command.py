"""atc's command line for one model."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

__all__ = ["AtcCommand"]


@dataclass(frozen=True, slots=True)
class AtcCommand:
    """What is run to compile a model.

    Attributes
    ----------
    onnx : Path
        Absolute.
    soc : str
        ``"Ascend310P3"``, as ``aclrtGetSocName`` says it.
    options : mapping of str to str
        Everything else, by name without dashes.
    """

    onnx: Path
    soc: str
    options: Mapping[str, str] = field(default_factory=dict)

    def arguments(self, atc: str, output: Path | str) -> list[str]:
        """Return the program and its arguments; ``output`` is without the .om that atc appends."""
        return [
            atc,
            f"--model={self.onnx}",
            "--framework=5",
            f"--output={output}",
            f"--soc_version={self.soc}",
            *(f"--{name}={value}" for name, value in sorted(self.options.items())),
        ]

    def text(self, atc: str = "atc", output: Path | str = "model") -> str:
        """Return the command as one types it in a shell."""
        return shlex.join(self.arguments(atc, output))

    @property
    def precision(self) -> str:
        """Which precision the model will compute in, in atc's words."""
        for name in ("precision_mode_v2", "precision_mode"):
            if name in self.options:
                return f"{name}={self.options[name]}"
        return "atc's default, force_fp16"
