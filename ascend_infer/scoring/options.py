"""What a run was asked for, in the form in which a manifest keeps it."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, Self

from ascend_infer.errors import InvalidOptionError
from ascend_infer.image import MAX_PIXELS
from ascend_infer.image.choice import did_you_mean
from ascend_infer.refusal import wrong_option
from ascend_infer.scoring.feeding import Preprocess
from ascend_infer.scoring.function_identity import function_identity
from ascend_infer.scoring.ranking import Postprocess
from ascend_infer.shortened import shortened_repr

__all__ = ["ScoreOptions"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoreOptions:
    """The options of ``score``; see there."""

    preprocess: Preprocess | None = None
    postprocess: Postprocess | None = None
    outputs: Sequence[str] | None = None
    top_k: int | None = None
    softmax: bool = False
    labels: Sequence[str] | None = None
    batch: int | str = "auto"
    workers: int | str = "auto"
    part_rows: int | None = None
    resume: bool = True
    overwrite: bool = False
    form: str | None = None
    id_column: str | None = None
    column: str | None = None
    size: int | tuple[int, int] | None = None
    max_pixels: int | None = MAX_PIXELS
    max_errors: int | None = None
    cast: str | None = None
    progress: bool | str = "auto"

    @classmethod
    def of(cls, given: Mapping[str, Any]) -> Self:
        """Return the options that were given by name.

        Raises
        ------
        InvalidOptionError
            There is no such option, or a value does not fit.
        """
        known = [item.name for item in fields(cls)]
        for name, value in given.items():
            if name not in known:
                raise InvalidOptionError(
                    f"{name}={shortened_repr(value)}: score has no option {name!r}; {did_you_mean(name, known)}its "
                    f"options are {', '.join(known)}",
                    option=name,
                    got=value,
                )
        return cls(**given)

    def __post_init__(self) -> None:
        for name, least in (("top_k", 0), ("part_rows", 1), ("max_errors", 0)):
            value = getattr(self, name)
            whole = isinstance(value, int) and not isinstance(value, bool)
            if value is not None and not (whole and least <= value < 2**31):
                raise wrong_option(name, value, f"a whole number from {least} to {2**31 - 1}")
        if self.outputs is not None and not self.outputs:
            raise wrong_option("outputs", self.outputs, "a list of output names, or None for all outputs")
        if self.labels is not None and (isinstance(self.labels, str) or not self.labels):
            raise wrong_option("labels", self.labels, "a list of texts, one for each class")
        if self.postprocess is not None and not callable(self.postprocess):
            raise InvalidOptionError(
                f"postprocess: got {self.postprocess!r}, expected a function", option="postprocess"
            )
        if self.postprocess is not None and (self.top_k or self.softmax or self.labels is not None):
            raise InvalidOptionError(
                "postprocess: the function makes the columns, so top_k, softmax and labels have nothing to do",
                option="postprocess",
            )
        if self.progress not in (True, False, "auto"):
            raise InvalidOptionError(
                f"progress: got {self.progress!r}, expected True, False or 'auto'", option="progress"
            )

    def identity(self, preset: dict[str, Any] | None) -> dict[str, Any]:
        """Return plain values that decide what comes out; functions go by their code and what is bound to them."""
        labels = None if self.labels is None else hashlib.sha256("\n".join(self.labels).encode()).hexdigest()
        return {
            "preprocess": function_identity(self.preprocess) if callable(self.preprocess) else preset,
            "postprocess": None if self.postprocess is None else function_identity(self.postprocess),
            "outputs": None if self.outputs is None else list(self.outputs),
            "top_k": self.top_k,
            "softmax": self.softmax,
            "labels": labels,
            "id_column": self.id_column,
            "column": self.column,
            "max_pixels": self.max_pixels,
            "cast": self.cast,
        }
