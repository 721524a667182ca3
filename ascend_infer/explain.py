"""Which compiled size a request would run in; see ``Session.explain``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from operator import index

from ascend_infer.errors import InvalidInputError
from ascend_infer.gears import GearExplanation
from ascend_infer.loading import Loaded
from ascend_infer.refusal import unknown_name
from ascend_infer.shortened import shortened_repr

__all__ = ["explain_request"]


def explain_request(core: Loaded, shapes: Mapping[str, Sequence[int]]) -> GearExplanation:
    """Explain a request of these shapes, by the configuration's input names, batch included.

    Raises
    ------
    InvalidInputError
        A name is no input, one is missing, or the model runs on the CPU, which has no gears.
    """
    model = core.origin.model
    chooser = getattr(core.model, "chooser", None)
    if chooser is None:
        raise InvalidInputError(
            f"model {model!r} runs on {core.origin.device}, where any size runs as it is; gears are those of a "
            "compiled model on an NPU",
            expected="a model on an NPU or on the simulator",
            got=core.origin.device,
        )
    rules = core.signature.rules
    for name in shapes:
        if name not in rules:
            raise unknown_name(model, "input", name, list(rules))
    for name in rules:
        if name not in shapes:
            raise InvalidInputError(
                f"model {model!r}: the shape of input {name!r} is missing", input=name, expected="a shape"
            )
    explanation: GearExplanation = chooser.explain(
        {rules[name].model_name: _checked_shape(model, name, shape) for name, shape in shapes.items()}
    )
    return explanation


def _checked_shape(model: str, name: str, shape: object) -> tuple[int, ...]:
    """Return a shape as a tuple of int; numbers of numpy too."""
    expected = f"its shape, batch included: explain({name}=(1, 4))"
    try:
        # A text is a sequence as well, and an array is itself what has a shape.
        if isinstance(shape, Sequence) and not isinstance(shape, str | bytes):
            dims = tuple(index(dim) for dim in shape)
            if all(dim >= 0 for dim in dims):
                return dims
    except TypeError:
        pass
    got = shortened_repr(shape, 60)
    raise InvalidInputError(
        f"model {model!r}, input {name!r}: got {got}, expected {expected}",
        input=name,
        expected=expected,
        got=got,
    )
