"""What is wrong with the options of a session or of a call is said before anything runs."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scale_model import ONE, scale_directory

import ascend_infer as ai
from ascend_infer.errors import InvalidInputError, InvalidOptionError, ModelNotFoundError

pytest.importorskip("onnxruntime")


@pytest.fixture
def scale(tmp_path: Path) -> Path:
    return scale_directory(tmp_path)


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"instances": 0}, "instances: got 0"),
        ({"instances": 10**6}, "instances: got 1000000, expected a whole number from 1 to 1024"),
        ({"slots": 10**6}, "slots: got 1000000, expected a whole number from 1 to 1024"),
        ({"threads": 10**6}, "threads: got 1000000, expected a whole number from 1 to 1024"),
        ({"threads": "2"}, "threads: got '2'"),
        ({"threads": True}, "threads: got True"),
        ({"max_batch_size": -1}, "max_batch_size: got -1"),
        ({"cast": "yes"}, "cast: got 'yes'"),
        ({"graph_optimization": "max"}, "graph_optimization: got 'max'"),
        ({"providers": "CPUExecutionProvider"}, "providers"),
        ({"providers": [3]}, "providers"),
        ({"device": "gpu"}, "device: got 'gpu'"),
        ({"device": "cpu:1"}, "device: got 'cpu:1'"),
        ({"device": 0}, "device: got 0"),
    ],
)
def test_options_are_checked(scale: Path, options: dict[str, Any], text: str) -> None:
    with pytest.raises(InvalidOptionError, match=text):
        ai.Session(scale, **options)


@pytest.mark.parametrize(
    ("option", "value"),
    [("batched", "no"), ("request_id", 5), ("priority", 2**63), ("timeout", "1")],
)
@pytest.mark.parametrize("call", ["infer", "submit", "ainfer"])
def test_options_of_a_call_are_checked(scale: Path, call: str, option: str, value: object) -> None:
    x = {"x": np.ones((1, 4), np.float32)}
    with ai.Session(scale) as session:

        async def made() -> Any:
            return await session.ainfer(x, **{option: value})

        def called() -> Any:
            return asyncio.run(made()) if call == "ainfer" else getattr(session, call)(x, **{option: value})

        with pytest.raises(InvalidOptionError, match=f"{option}: got {value!r}, expected "):
            called()


def test_map_takes_what_gives_inputs(scale: Path) -> None:
    with ai.Session(scale) as session:
        with pytest.raises(InvalidOptionError, match="iterable: got 3, expected a list, a generator"):
            session.map(3)  # type: ignore[arg-type]
        with pytest.raises(InvalidOptionError, match="batched: got 'no'"):
            session.infer_many([], batched="no")  # type: ignore[arg-type]


def test_a_value_of_any_length_is_shown_cut(scale: Path) -> None:
    for value in (10**1000, 16**9000):  # the latter has more digits than Python writes
        with pytest.raises(InvalidOptionError, match=r"^threads: got (0x)?1(0+)\.\.\., expected"):
            ai.Session(scale, threads=value)


def test_a_number_that_does_not_fit_is_shown_cut(scale: Path) -> None:
    with (
        ai.Session(scale) as session,
        pytest.raises(InvalidInputError, match=r"the number 1(0+)\.\.\., expected"),
    ):
        session.infer({"x": [[10**1000, 0, 0, 0]]})


@pytest.mark.parametrize("version", [-2, "-2", " ", True, -1.0, 1.0, 2**63])
def test_a_version_is_a_whole_number(scale: Path, version: Any) -> None:
    text = re.escape(
        f"version: got {version!r}, expected the number of a version, 0 or more, or None or -1 for"
    )
    with pytest.raises(InvalidOptionError, match=text):
        ai.Session(scale, version=version)


@pytest.mark.parametrize("version", [None, "", -1, "-1", np.int64(-1)])
def test_the_highest_version_as_triton_names_it(scale: Path, version: Any) -> None:
    with ai.Session(scale, version=version) as session:
        assert session.version == 2


def test_versions_by_numbers_of_numpy_s(scale: Path) -> None:
    with ai.Session(scale, version=np.int64(1)) as session:  # type: ignore[arg-type]
        assert session.version == 1


@pytest.mark.parametrize("timeout", [1e10, 1e300, 10**400, float("inf")])
def test_whoever_waits_very_long_gets_the_result(scale: Path, timeout: float) -> None:
    x = {"x": np.ones((1, 4), np.float32)}
    with ai.Session(scale) as session:
        future = session.submit(x, timeout=timeout)
        assert future.result(timeout=timeout)["y"].shape == (1, 4)
        assert future.exception(timeout=timeout) is None
        assert session.infer(x, timeout=timeout)["y"].shape == (1, 4)
        session.close(timeout=timeout)


def test_a_wrong_timeout_of_a_wait_is_refused(scale: Path) -> None:
    x = {"x": np.ones((1, 4), np.float32)}
    with ai.Session(scale) as session:
        future = session.submit(x)
        for wait in (future.result, future.exception, session.close):
            with pytest.raises(InvalidOptionError, match="timeout: got 'x', expected seconds"):
                wait(timeout="x")
        assert not session.closed
        assert session.infer(x)["y"].shape == (1, 4)


def test_mistakes_in_arguments_are_our_own_errors(scale: Path) -> None:
    with ai.Session(scale) as session:
        with pytest.raises(InvalidOptionError, match="cast: got 'SAFE'"):
            session.infer(ONE, cast="SAFE")  # type: ignore[arg-type]
        with pytest.raises(InvalidInputError, match="outputs: got 5"):
            session.infer(ONE, outputs=5)  # type: ignore[arg-type]
        with pytest.raises(InvalidInputError, match="no output"):
            session.infer(ONE, outputs=[["y"]])  # type: ignore[list-item]
        result = session.infer(ONE, timeout=np.float32(60))
        assert result == result
        assert result != session.infer(ONE)
        assert result not in [session.infer(ONE)]
        with pytest.raises(KeyError, match="it has 'y'"):
            result["nope"]
        with pytest.raises(InvalidInputError, match="no input 'self'"):
            session(**{"self": ONE})
    for options in ({"providers": 5}, {"allow_paths": None}, {"allow_paths": [5]}):
        with pytest.raises(InvalidOptionError):
            ai.Session(scale, **options)
    with pytest.raises(ModelNotFoundError, match="too long"):
        ai.Session("a" * 5000)
