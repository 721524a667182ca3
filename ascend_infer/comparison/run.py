"""Running the same requests through two sessions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from ascend_infer.comparison.agreement import OutputAgreement
from ascend_infer.comparison.case import Case
from ascend_infer.comparison.comparison import Comparison
from ascend_infer.comparison.finding import Finding
from ascend_infer.comparison.half_precision import find_half_precision
from ascend_infer.comparison.lost_rows import find_lost_rows
from ascend_infer.comparison.pairing import Pairing
from ascend_infer.comparison.swapped import find_swapped_inputs, find_swapped_outputs
from ascend_infer.comparison.tolerance import Tolerance
from ascend_infer.errors import AscendInferError, InvalidInputError
from ascend_infer.trial_inputs.of_session import has_batch

if TYPE_CHECKING:
    from ascend_infer.session import Session

__all__ = ["compare"]

Array = np.ndarray[Any, np.dtype[Any]]
Feed = Mapping[str, Any]

#: How many times smaller a guess has to make the difference of a second request, which only confirms the first.
_MUCH_AGAIN = 4


def compare(
    session_a: Session,
    session_b: Session,
    inputs: Feed | Iterable[Feed],
    *,
    rtol: float = 1e-3,
    atol: float | None = None,
    explain: bool = True,
) -> Comparison:
    """Run the same inputs through two sessions and say how well they agree.

    Parameters
    ----------
    session_a, session_b : Session
        Two files, versions or devices. A is the one that is taken to be right. They may be the same session.
    inputs : mapping of str to array-like, or iterable of them
        Requests, by A's input names. Tensors of B are found by name, or by their place where no name is the same.
    rtol, atol : float
        An element is within tolerance where ``|a - b| <= atol + rtol * |a|``; ``atol`` is a ten-thousandth of the
        largest absolute value of A's output where left out.
    explain : bool
        Where they differ, find out what that looks like: swapped channels, lost rows, half precision. This runs B, on
        the first two requests that differ, up to some sixty times more, and on the CPU copies of the models.

    Returns
    -------
    Comparison

    Raises
    ------
    InvalidInputError
        There is no request, B takes an input that A has not, or an input does not fit; a note says whose error it is.
    InvalidOptionError
    ModelExecutionError

    Notes
    -----
    Blocks. The sessions stay open and may be used by others meanwhile. Inputs are read only.
    """
    tolerance = Tolerance(rtol, atol)
    pairing = Pairing.of(session_a, session_b)
    agreements = {name: OutputAgreement(name, other) for name, other in pairing.outputs.items()}
    batched = has_batch(session_a) and has_batch(session_b)
    count = 0
    case: Case | None = None
    second: Case | None = None
    for feed in _requests(inputs):
        count += 1
        arrays = {name: np.asarray(value) for name, value in feed.items()}
        with _named("A", session_a):
            result_a = session_a.infer(arrays)
        with _named("B", session_b):
            result_b = session_b.infer(pairing.feed_for_b(arrays))
        answers_a = {name: result_a[name] for name in pairing.outputs}
        answers_b = {name: result_b[other] for name, other in pairing.outputs.items()}
        apart = False
        for name, agreement in agreements.items():
            gap = agreement.add(answers_a[name], answers_b[name], tolerance)
            apart = apart or gap is None or not gap.within
        # The first that is out of tolerance, else the first that is not the same bit for bit.
        if (case is None or (apart and case.within)) and not all(
            one.identical for one in agreements.values()
        ):
            case = Case(session_a, session_b, pairing, tolerance, arrays, answers_a, answers_b, batched)
        elif second is None and apart:
            second = Case(
                session_a, session_b, pairing, tolerance, arrays, answers_a, answers_b, batched, _MUCH_AGAIN
            )
    if not count:
        raise InvalidInputError("got no request to compare on, expected one or more", got="none")
    explained = _explained(case, second) if case is not None and explain else []
    findings = [*explained, *_plain_facts(pairing, agreements)]
    return Comparison(
        _label(session_a), _label(session_b), count, tolerance, agreements, tuple(findings), pairing.notes
    )


def _requests(inputs: Feed | Iterable[Feed]) -> Iterator[Feed]:
    if isinstance(inputs, Mapping):
        yield inputs
    else:
        yield from inputs


def _explained(case: Case, second: Case | None) -> list[Finding]:
    """Return the first explanation that a trial bears out, else the first that could not be tried, in a list."""
    # Rounding goes before orders of the input: it foretells every element, an order only has to come near.
    guesses = (
        [find_half_precision]
        if case.within
        else [find_lost_rows, find_half_precision, find_swapped_inputs, find_swapped_outputs]
    )
    untried: list[Finding] = []
    for guess in guesses:
        found = guess(case)
        if found is None:
            continue
        if not found.verified:
            untried.append(found)
        elif guess is not find_swapped_inputs or second is None or _is_same(found, guess(second)):
            return [found]
    return untried[:1]


def _is_same(found: Finding, again: Finding | None) -> bool:
    """Tell whether a guess holds again: of many orders, one may be near by luck where an answer is a single number."""
    return again is not None and (again.kind, again.tensor) == (found.kind, found.tensor)


def _plain_facts(pairing: Pairing, agreements: Mapping[str, OutputAgreement]) -> list[Finding]:
    found = [
        Finding("missing_output", f"{who} has no output {name!r}", tensor=name)
        for who, names in (("B", pairing.missing), ("A", pairing.extra))
        for name in names
    ]
    for name, one in agreements.items():
        if not one.same_shape:
            shapes: Sequence[list[int]] = [list(shape) for shape in one.shapes]
            found.append(
                Finding(
                    "other_shape", f"output {name!r} is {shapes[0]} in A and {shapes[1]} in B", tensor=name
                )
            )
        in_a, in_b, apart = one.not_finite
        if apart:
            found.append(
                Finding(
                    "not_finite",
                    f"output {name!r} has {in_a} NaN or infinite elements in A and {in_b} in B, {apart} of them not at "
                    "the same places",
                    tensor=name,
                )
            )
        if not one.same_type:
            found.append(
                Finding(
                    "other_type",
                    f"output {name!r} is {one.types[0]} in A and {one.types[1]} in B",
                    tensor=name,
                )
            )
    return found


@contextmanager
def _named(letter: str, session: Session) -> Iterator[None]:
    """Add to an error whose it is."""
    try:
        yield
    except AscendInferError as error:
        error.add_note(f"while running {letter}, {_label(session)}")
        raise


def _label(session: Session) -> str:
    version = "" if session.version is None else f" version {session.version}"
    return f"{session.name}{version} on {session.device}"
