"""What a session takes and gives, compiled once at load so that a request is checked in a few steps.

Order and meaning of the checks are Triton's (names, counts, batch, data type, shape, reshape); the texts
are ours.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import Any

import numpy as np

from ascend_infer.device_pointer import input_reader
from ascend_infer.errors import InvalidInputError
from ascend_infer.input_array import Casting
from ascend_infer.refusal import fits, inner, missing_inputs, refused, shown, unknown_name, wrong_shape
from ascend_infer.shortened import shortened_repr
from ascend_infer.signature_rule import InputRule, OutputRule
from ascend_infer.types import DataType, TensorSpec

__all__ = ["Array", "InputRule", "OutputRule", "Prepared", "Signature"]

Array = np.ndarray[Any, np.dtype[Any]]

#: numpy's C_CONTIGUOUS | ALIGNED bits of ``flags.num`` (ndarraytypes.h).
_READY = 0x101


@dataclass(slots=True)
class Prepared:
    """A request that has been checked: what a backend needs and what undoes the preparation.

    Attributes
    ----------
    feed : dict of str to ndarray
        By the model's own names; contiguous, aligned, native byte order. Empty once a request was made of it.
    outputs : tuple of OutputRule
    names : tuple of str
        The wanted outputs by the model's own names.
    batch : int
        Rows of the request; 1 where the model has no batch.
    single : bool
        One sample without a batch dimension was given (``batched=False``).
    called : int
        ``time.perf_counter_ns`` when the check began.
    """

    feed: dict[str, Array]
    outputs: tuple[OutputRule, ...]
    names: tuple[str, ...]
    batch: int
    single: bool
    called: int = 0


class Signature:
    """Inputs, outputs and batch rule of one loaded model.

    Parameters
    ----------
    model : str
        Name for messages.
    inputs, outputs : sequence
    max_batch_size : int
        0: no batch dimension, dims are the whole shape. Otherwise the first dimension is the batch.
    limit_hint : str
        What to do about a batch above ``max_batch_size``.
    not_tensors : mapping of str to str, optional
        Outputs that cannot be had, with their kind.
    device : str
        Where the model runs: ``"cpu"`` takes no device pointers.

    Notes
    -----
    Thread safety: immutable after construction.
    """

    def __init__(
        self,
        model: str,
        inputs: Sequence[InputRule],
        outputs: Sequence[OutputRule],
        max_batch_size: int,
        limit_hint: str = "",
        not_tensors: Mapping[str, str] | None = None,
        device: str = "cpu",
    ) -> None:
        self.model = model
        self._read = input_reader(device)
        if max_batch_size == 0:
            # A scalar: the configuration can only say dims [1] and an empty reshape, the model means ().
            outputs = [
                replace(rule, dims=(), reshape=None) if rule.reshape == () else rule for rule in outputs
            ]
        self.max_batch_size = max_batch_size
        self.limit_hint = limit_hint
        self._not_tensors = not_tensors or {}
        self.rules = {rule.name: rule for rule in inputs}
        self.output_rules = {rule.name: rule for rule in outputs}
        batch = (-1,) if max_batch_size else ()
        self.inputs = tuple(_public(rule, batch, rule.optional) for rule in inputs)
        self.outputs = tuple(_public(rule, batch, False) for rule in outputs)
        self.model_inputs = tuple(rule.model_name for rule in inputs)
        self._required = frozenset(rule.name for rule in inputs if not rule.optional)
        self._all_outputs = tuple(outputs)
        self._all_names = tuple(rule.model_name for rule in outputs)
        # Only what the quick path compares; whatever it does not settle goes through `_check`.
        self._quick = {
            rule.name: (rule.model_name, rule.dtype.numpy, rule.dims)
            for rule in inputs
            if rule.dtype is not DataType.BYTES and rule.reshape is None and rule.dims != (-2,)
        }

    def quick_rule(self, name: str) -> tuple[np.dtype[Any], tuple[int, ...]] | None:
        """Return data type and dims of an input that arrays can be held against at a glance, else None."""
        quick = self._quick.get(name)
        return None if quick is None else quick[1:]

    def prepare(
        self,
        inputs: Any,
        outputs: Sequence[str] | None,
        casting: Casting,
        batched: bool,
    ) -> Prepared:
        """Check one request.

        Parameters
        ----------
        inputs : mapping of str to array-like, or array-like
            A bare array where the model has one input.
        outputs : sequence of str or None
            Wanted outputs; None for all.
        casting : {"no", "safe", "same_kind", "unsafe"}
            Which conversions of the data type are allowed, in numpy's words.
        batched : bool
            False: every input is one sample without its batch dimension.

        Raises
        ------
        InvalidInputError
        """
        called = time.perf_counter_ns()
        named = inputs if type(inputs) is dict else self._named(inputs)
        feed: dict[str, Array] = {}
        batch = 0
        limit = self.max_batch_size
        single = limit > 0 and not batched
        for name, value in named.items():
            quick = self._quick.get(name)
            if quick is not None and type(value) is np.ndarray:
                model_name, dtype, dims = quick
                shape = value.shape
                if value.dtype is dtype and value.flags.num & _READY == _READY:
                    if limit == 0:
                        if shape == dims or fits(shape, dims):
                            feed[model_name] = value
                            continue
                    elif shape and not single:
                        rows = shape[0]
                        if (
                            0 < rows <= limit
                            and (batch == rows or batch == 0)
                            and (shape[1:] == dims or fits(shape[1:], dims))
                        ):
                            batch = rows
                            feed[model_name] = value
                            continue
            rule, array = self._check(name, value, casting, single, batch)
            if limit:
                batch = array.shape[0]
            feed[rule.model_name] = array
        if len(feed) != len(self.rules) and not self._required.issubset(named):
            absent = [rule for rule in self.inputs if rule.name in self._required - named.keys()]
            raise missing_inputs(self.model, absent, list(named))
        if outputs is None:
            return Prepared(feed, self._all_outputs, self._all_names, batch or 1, single, called)
        wanted = self._wanted(outputs)
        names = tuple(rule.model_name for rule in wanted)
        return Prepared(feed, wanted, names, batch or 1, single, called)

    def finish(self, prepared: Prepared, arrays: list[Array]) -> dict[str, Array]:
        """Name the model's outputs as the configuration does and undo reshape and batch; views, no copies."""
        results = {}
        for rule, array in zip(prepared.outputs, arrays, strict=True):
            if rule.reshape is not None:
                array = self._reshape_output(rule, array)
            results[rule.name] = array[0] if prepared.single else array
        return results

    def check_out(self, out: Any, prepared: Prepared) -> dict[str, Array]:
        """Check the caller's output arrays.

        Parameters
        ----------
        out : mapping of str to ndarray, or ndarray
            A bare array where the request has one output.
        prepared : Prepared

        Returns
        -------
        dict of str to ndarray
            By the output's own name, as given.

        Raises
        ------
        InvalidInputError
        """
        if isinstance(out, np.ndarray) and len(prepared.outputs) == 1:
            out = {prepared.outputs[0].name: out}
        if not isinstance(out, Mapping):
            names = ", ".join(repr(rule.name) for rule in prepared.outputs)
            raise InvalidInputError(
                f"model {self.model!r}, out: got {type(out).__name__}, expected a dict of arrays for {names}",
                expected=f"a dict of arrays for {names}",
                got=type(out).__name__,
            )
        checked: dict[str, Array] = {}
        rules = {rule.name: rule for rule in prepared.outputs}
        for name, array in out.items():
            if name not in rules:
                raise unknown_name(self.model, "output", name, list(rules))
            self._check_target(rules[name], array, prepared)
            for other, before in checked.items():
                if np.may_share_memory(array, before):
                    raise refused(
                        self.model,
                        "out",
                        name,
                        "memory of its own",
                        f"an array that overlaps that of {other!r}",
                    )
            checked[name] = array
        return checked

    def targets(self, out: Mapping[str, Array], prepared: Prepared) -> dict[str, Array]:
        """Return, by the model's names, those of the caller's arrays that the model may write to directly.

        Left out are arrays whose memory an input shares, since the model reads that while it writes, and outputs
        that the configuration reshapes.
        """
        direct = {}
        for rule in prepared.outputs:
            array = out.get(rule.name)
            if array is None or rule.reshape is not None:
                continue
            if not any(np.may_share_memory(array, given) for given in prepared.feed.values()):
                direct[rule.model_name] = array[None] if prepared.single else array
        return direct

    def _check_target(self, rule: OutputRule, array: Any, prepared: Prepared) -> None:
        expected = f"a writeable C-contiguous {rule.dtype.numpy} array"
        if not isinstance(array, np.ndarray):
            raise refused(self.model, "out", rule.name, expected, type(array).__name__)
        if array.dtype != rule.dtype.numpy or not array.dtype.isnative:
            raise refused(self.model, "out", rule.name, expected, f"dtype {array.dtype}")
        flags = array.flags
        if not flags.c_contiguous or not flags.writeable or not flags.aligned:
            kind = "read-only" if not flags.writeable else "non-contiguous or unaligned"
            raise refused(self.model, "out", rule.name, expected, f"a {kind} array")
        if rule.dims == (-2,):
            return
        batch = (prepared.batch,) if self.max_batch_size and not prepared.single else ()
        if not fits(array.shape, (*batch, *rule.dims)):
            wanted = f"shape {shown((*batch, *rule.dims))}"
            raise refused(self.model, "out", rule.name, wanted, f"shape {list(array.shape)}")

    # What follows runs for what the quick path does not settle: conversions, reshapes and errors.

    def _named(self, inputs: Any) -> Mapping[str, Any]:
        if isinstance(inputs, Mapping):
            return inputs
        if len(self.rules) != 1:
            names = ", ".join(repr(name) for name in self.rules)
            raise InvalidInputError(
                f"model {self.model!r} has {len(self.rules)} inputs: got one {type(inputs).__name__} without "
                f"a name, expected a dict with {names}",
                expected=names,
                got=type(inputs).__name__,
            )
        return {next(iter(self.rules)): inputs}

    def _check(
        self, name: str, value: Any, casting: Casting, single: bool, batch: int
    ) -> tuple[InputRule, Array]:
        rule = self.rules.get(name)
        if rule is None:
            raise unknown_name(self.model, "input", name, list(self.rules))
        if isinstance(value, np.ndarray) and np.can_cast(value.dtype, rule.dtype.numpy, casting):
            # What does not fit is not copied first, as strides and conversions want.
            self._check_shape(rule, (1, *value.shape) if single else value.shape, single, batch)
        array = self._read(name, value, rule.dtype, casting)
        if single:
            array = array[None]
        rows, given = self._check_shape(rule, array.shape, single, batch)
        if rule.reshape is not None:
            array = array.reshape(rows + _fill(rule.reshape, rule.dims, given))
        return rule, array

    def _check_shape(
        self, rule: InputRule, shape: tuple[int, ...], single: bool, batch: int
    ) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Return the batch dimension, if there is one, and the others."""
        if self.max_batch_size:
            self._check_batch(rule, shape, single, batch)
        rows, given = (shape[:1], shape[1:]) if self.max_batch_size else ((), shape)
        if rule.dims != (-2,) and not fits(given, rule.dims):
            scalar = rule.reshape == () and given == ()
            if not scalar:
                raise wrong_shape(self.model, rule.name, shape, rule.dims, self.max_batch_size, single)
        return rows, given

    def _check_batch(self, rule: InputRule, shape: tuple[int, ...], single: bool, batch: int) -> None:
        expected = f"[batch, {inner(rule.dims)}] with a batch of 1 to {self.max_batch_size}"
        if not shape:
            raise refused(self.model, "input", rule.name, expected, "a scalar")
        rows = shape[0]
        if rule.dims != (-2,) and len(shape) == len(rule.dims) and not single:
            return  # one sample without its batch: `wrong_shape` says so
        if rows == 0:
            got = f"shape {list(shape)}, a batch of 0"
            raise refused(self.model, "input", rule.name, expected, got)
        if rows > self.max_batch_size:
            raise InvalidInputError(
                f"model {self.model!r}, input {rule.name!r}: got a batch of {rows}, expected at most "
                f"max_batch_size {self.max_batch_size}; send fewer rows at a time{self.limit_hint}",
                input=rule.name,
                expected=f"a batch of at most {self.max_batch_size}",
                got=f"a batch of {rows}",
            )
        if batch and rows != batch:
            raise InvalidInputError(
                f"model {self.model!r}, input {rule.name!r}: got a batch of {rows} where another input of "
                f"the request has {batch}",
                input=rule.name,
                expected=f"a batch of {batch}",
                got=f"a batch of {rows}",
            )

    def _reshape_output(self, rule: OutputRule, array: Array) -> Array:
        rows = array.shape[:1] if self.max_batch_size else ()
        given = array.shape[len(rows) :]
        return array.reshape(rows + _fill(rule.dims, rule.reshape or (), given))

    def _wanted(self, given: Any) -> tuple[OutputRule, ...]:
        outputs = (given,) if isinstance(given, str) else given
        outputs = tuple(outputs) if isinstance(outputs, Iterable) else ()
        if not outputs:
            expected = "a list of output names, or None for all outputs"
            got = shortened_repr(given)
            raise InvalidInputError(
                f"model {self.model!r}, outputs: got {got}, expected {expected}", expected=expected, got=got
            )
        found: list[OutputRule] = []
        for name in outputs:
            if not isinstance(name, str):
                raise unknown_name(self.model, "output", name, list(self.output_rules))
            rule = self.output_rules.get(name)
            if rule is None and name in self._not_tensors:
                kind = self._not_tensors[name]
                raise refused(self.model, "output", name, "the name of a tensor", f"the name of a {kind}")
            if rule is None:
                raise unknown_name(self.model, "output", name, list(self.output_rules))
            if rule not in found:
                found.append(rule)
        return tuple(found)


def _public(rule: InputRule | OutputRule, batch: tuple[int, ...], optional: bool) -> TensorSpec:
    shape = () if rule.reshape == () and not batch else batch + rule.dims
    return TensorSpec(rule.name, rule.dtype, shape, optional=optional)


def _fill(wanted: tuple[int, ...], stated: tuple[int, ...], given: tuple[int, ...]) -> tuple[int, ...]:
    """Put the sizes given for the -1s of ``stated`` into the -1s of ``wanted``, in order, as Triton does."""
    sizes = [size for size, dim in zip(given, stated, strict=False) if dim == -1]
    if len(sizes) != wanted.count(-1):
        # The file's own dims are open where the configuration's are not: the count settles it.
        rest = prod(given) // max(1, prod(dim for dim in wanted if dim != -1))
        sizes = [rest] + [1] * (wanted.count(-1) - 1)
    left = iter(sizes)
    return tuple(next(left) if dim == -1 else dim for dim in wanted)
