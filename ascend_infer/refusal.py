"""The sentences with which a request or an option is refused: what was got, what was expected, what to do."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches

from ascend_infer.errors import InvalidInputError, InvalidOptionError
from ascend_infer.shortened import shortened_repr
from ascend_infer.types import TensorSpec

__all__ = [
    "fits",
    "inner",
    "missing_inputs",
    "refused",
    "shown",
    "unknown_name",
    "wrong_option",
    "wrong_shape",
]


def fits(shape: tuple[int, ...], dims: tuple[int, ...]) -> bool:
    """Return whether a shape is one of those that dims allow; -1 allows any size."""
    if len(shape) != len(dims):
        return False
    for size, dim in zip(shape, dims, strict=True):  # noqa: SIM110  (a generator costs twice as much here)
        if size != dim and dim != -1:
            return False
    return True


def shown(dims: Sequence[int]) -> str:
    """Write dims for a reader: ``[any, 3]``."""
    return "[any rank]" if tuple(dims) == (-2,) else f"[{inner(dims)}]"


def inner(dims: Sequence[int]) -> str:
    """Write dims without their brackets."""
    return ", ".join("any" if dim == -1 else str(dim) for dim in dims)


def refused(model: str, kind: str, name: str, expected: str, got: str, hint: str = "") -> InvalidInputError:
    """Build the error for one tensor."""
    return InvalidInputError(
        f"model {model!r}, {kind} {name!r}: got {got}, expected {expected}{hint}",
        input=name,
        expected=expected,
        got=got,
    )


def wrong_option(option: str, got: object, expected: str) -> InvalidOptionError:
    """Build the error for one argument."""
    return InvalidOptionError(
        f"{option}: got {shortened_repr(got, 200)}, expected {expected}", option=option, got=got
    )


def unknown_name(model: str, kind: str, name: object, known: Sequence[str]) -> InvalidInputError:
    """Build the error for a name that the model does not have."""
    close = get_close_matches(str(name), known, n=1)
    hint = f" (did you mean {close[0]!r}?)" if close else ""
    listed = ", ".join(repr(item) for item in known) or "none"
    return InvalidInputError(
        f"model {model!r} has no {kind} {name!r}{hint}; it has: {listed}",
        input=str(name),
        expected=listed,
        got=str(name),
    )


def missing_inputs(model: str, absent: Sequence[TensorSpec], given: Sequence[object]) -> InvalidInputError:
    """Build the error for required inputs that were not given."""
    listed = ", ".join(f"{tensor.name!r} ({tensor.dtype}{shown(tensor.shape)})" for tensor in absent)
    got = ", ".join(repr(name) for name in given) or "none"
    return InvalidInputError(
        f"model {model!r} misses {'inputs' if len(absent) > 1 else 'input'} {listed}; got {got}",
        input=absent[0].name,
        expected=listed,
        got=got,
    )


def wrong_shape(
    model: str,
    name: str,
    shape: tuple[int, ...],
    dims: tuple[int, ...],
    max_batch_size: int,
    single: bool,
) -> InvalidInputError:
    """Build the error for a shape that does not fit, with the likeliest mistake where one can be recognised.

    Parameters
    ----------
    shape : tuple of int
        What was given; with its batch of one where ``single``.
    dims : tuple of int
        What the configuration states, without the batch.
    """
    given = shape[1:] if single else shape
    expected = f"[batch, {inner(dims)}]" if max_batch_size and not single else shown(dims)
    hint = ""
    if max_batch_size and not single:
        if fits(given, dims):
            hint = (
                "; this looks like one sample without its batch dimension: give array[None], "
                "or infer(..., batched=False)"
            )
        else:
            hint = _transposed(given[1:], dims)
    elif max_batch_size and fits(given[1:], dims):
        hint = "; it has a batch dimension already: leave out batched=False"
    elif not max_batch_size and fits(given[1:], dims) and given:
        hint = (
            f"; max_batch_size is 0, so dims {shown(dims)} are the whole shape. If the first {given[0]} is a "
            f"batch, set max_batch_size to {max(1, given[0])} or more in config.pbtxt (and the model must "
            f"take one); if the model wants exactly this shape, write dims: {shown(given)}"
        )
    else:
        hint = _transposed(given, dims)
    return refused(model, "input", name, f"shape {expected}", f"shape {list(given)}", hint)


def _transposed(shape: tuple[int, ...], dims: tuple[int, ...]) -> str:
    """Recognise a picture in the other layout."""
    if len(shape) != 3 or len(dims) != 3:
        return ""
    if fits((shape[2], shape[0], shape[1]), dims):
        return "; this looks like height, width, channels: put channels first, np.moveaxis(a, -1, -3)"
    if fits((shape[1], shape[2], shape[0]), dims):
        return "; this looks like channels first: put channels last, np.moveaxis(a, -3, -1)"
    return ""
