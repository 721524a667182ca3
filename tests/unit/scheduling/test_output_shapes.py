"""A model whose outputs have other shapes than it states: its requests fail, alone and in company."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from held_model import LIMIT, HeldModel, HeldSession, rows

from ascend_infer import Batching
from ascend_infer.errors import ModelExecutionError

WAYS: dict[str, Callable[[HeldSession, Any], Any]] = {
    "infer": lambda session, x: session.infer(x),
    "infer with a timeout": lambda session, x: session.infer(x, timeout=LIMIT),
    "submit": lambda session, x: session.submit(x).result(LIMIT),
    "map": lambda session, x: next(session.map([x])),
}


def giving(shape: tuple[int, ...], second: tuple[int, ...] | None = None) -> HeldModel:
    model = HeldModel()
    shapes = {"y": shape, "z": second or shape}
    model.answer = lambda run: [np.zeros(shapes[name], np.float32) for name in run.outputs]
    return model


@pytest.mark.parametrize("batching", [None, Batching()], ids=["direct", "batches"])
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("shape", [(1, 4), (3, 4), (4,), (), (2, 3), (2, 4, 1)])
def test_a_request_by_itself_fails_too(batching: Batching | None, way: str, shape: tuple[int, ...]) -> None:
    with HeldSession(giving(shape), batching=batching) as session:
        expected = rf"output 'y' came back with shape \[{', '.join(map(str, shape))}\].* expected \[2, 4\]"
        with pytest.raises(ModelExecutionError, match=expected):
            WAYS[way](session, rows(1, 2))
        counted = session.counters.snapshot()
        assert (counted.successes, counted.failures) == (0, (0, 0, 1, 0))
        session.models[0].answer = session.models[0].computed
        assert WAYS[way](session, rows(1, 2))["y"].shape == (2, 4)


def test_each_of_several_outputs_is_looked_at() -> None:
    with HeldSession(giving((2, 4), (2, 5))) as session:
        assert session.infer(rows(1, 2), ["y"])["y"].shape == (2, 4)
        for chosen in (None, ["z"], ["z", "y"]):
            with pytest.raises(ModelExecutionError, match=r"'z' came back with shape \[2, 5\]"):
                session.infer(rows(1, 2), chosen)


def test_open_dims_may_be_any() -> None:
    with HeldSession(giving((2, 7), (2, 0)), dims=(-1,)) as session:
        assert session.infer(rows(1, 2))["z"].shape == (2, 0)
        with pytest.raises(ModelExecutionError, match=r"expected \[1, -1\]"):
            session.infer(rows(1))


def test_without_a_batch_the_first_dimension_is_one_of_the_dims() -> None:
    with HeldSession(giving((5, 4)), max_batch_size=0, dims=(-1, 4)) as session:
        assert session.infer(rows(1, 2))["y"].shape == (5, 4)
        session.models[0].answer = lambda run: [np.zeros((5, 3), np.float32)] * 2
        with pytest.raises(
            ModelExecutionError, match=r"shape \[5, 3\]; expected \[-1, 4\]. Correct the output's dims"
        ):
            session.infer(rows(1, 2))
