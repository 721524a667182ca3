"""What a result keeps alive: its outputs, and none of the request's inputs."""

from __future__ import annotations

import asyncio
import gc
import weakref
from typing import Any

import numpy as np
import pytest
from held_model import HeldModel, HeldSession

from ascend_infer import Batching

OPTIONS = [{}, {"timeout": 60.0}, {"outputs": ["y"]}, {"cast": "unsafe"}]


def run(session: HeldSession, way: str, inputs: Any, options: dict[str, Any]) -> Any:
    if way == "infer":
        return session.infer(inputs, **options)
    if way == "submit":
        return session.submit(inputs, **options).result()
    if way == "map":
        return next(session.map([inputs], **options))

    async def awaited() -> Any:
        return await session.ainfer(inputs, **options)

    return asyncio.run(awaited())


@pytest.mark.parametrize("batching", [None, Batching()], ids=["direct", "batches"])
@pytest.mark.parametrize("way", ["infer", "submit", "map", "ainfer"])
def test_a_result_keeps_no_inputs(batching: Batching | None, way: str) -> None:
    model = HeldModel()
    with HeldSession(model, batching=batching) as session:
        for options in OPTIONS + ([{"priority": 1}] if way != "map" else []):
            given = np.ones((1, 4), np.float64 if "cast" in options else np.float32)
            result = run(session, way, {"x": given}, options)
            # What the model was fed: the array itself, or what it was converted to.
            seen = [weakref.ref(given), *(weakref.ref(one.inputs["x"]) for one in model.runs)]
            del given
            model.runs.clear()
            gc.collect()
            assert [one() is None for one in seen] == [True, True], options
            assert result["y"][0, 0] == 2
