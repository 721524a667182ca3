"""The extension's OrtSession: arrays in, arrays out, through onnxruntime's own library."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx_models as made
import pytest
from onnx import TensorProto, helper

from ascend_infer.backends.onnx_library import find_library
from ascend_infer.errors import CopyError, InvalidInputError, InvalidOptionError, LibraryError

native = pytest.importorskip("ascend_infer._native")
pytest.importorskip("onnxruntime")

ONE = np.ones((2, 4), np.float32)


def library() -> Path:
    found = find_library()
    if found is None:
        pytest.skip("the installed onnxruntime has no library that C can load")
    return found


def opened(model: onnx.ModelProto, shapes: Sequence[Any] | None = None, **settings: Any) -> Any:
    session = native.open_ort_session(library(), model.SerializeToString(), **settings)
    if shapes is not None:
        session.expect(shapes)
    return session


def test_it_says_what_the_model_takes_and_gives(tmp_path: Path) -> None:
    session = native.open_ort_session(library(), made.write(made.add_sub(), tmp_path / "ä.onnx"))
    assert session.inputs == (("A", 1, (-1, 4), False), ("B", 1, (-1, 4), False))
    assert [item[0] for item in session.outputs] == ["S", "D"]
    assert session.version == native.ort_version(library())
    assert session.version.split(".")[0].isdecimal()
    assert repr(session) == "<OrtSession A, B -> S, D>"


@pytest.mark.parametrize("shapes", [None, [((0, 0), 4), None], [((0, 0), 4), ((1, 0), 4)]], ids=str)
@pytest.mark.parametrize("rows", [0, 2, 5000])
def test_results_are_the_callers(shapes: Sequence[Any] | None, rows: int) -> None:
    session = opened(made.add_sub(), shapes)
    given = np.arange(rows * 4, dtype=np.float32).reshape(rows, 4)
    total, difference = session.run([given, given], (0, 1))
    assert np.array_equal(total, given * 2)
    assert not difference.any()
    assert not np.shares_memory(total, difference)
    again = session.run([given, given], (0,))[0]
    assert not np.shares_memory(total, again)
    del session
    gc.collect()
    total += 1
    assert np.array_equal(total, again + 1)
    assert total.flags.writeable
    assert total.flags.c_contiguous


def test_results_come_in_the_order_asked_for() -> None:
    session = opened(made.add_sub())
    difference, total = session.run([ONE * 3, ONE], (1, 0))
    assert (difference[0, 0], total[0, 0]) == (2, 4)


@pytest.mark.parametrize("rows", [2, 5000])
def test_an_output_that_passes_an_input_on_is_a_copy(rows: int) -> None:
    session = opened(made.identity())
    given = np.ones((rows, 4), np.float32)
    [got] = session.run([given], (0,))
    given[:] = 7
    assert got.max() == 1


@pytest.mark.parametrize("elements", [2, 5000])
def test_a_weight_that_is_an_output_stays_the_models(elements: int) -> None:
    model = made.model_of(
        [helper.make_node("Identity", ["w"], ["y"]), helper.make_node("Identity", ["x"], ["z"])],
        [made.value("x", TensorProto.FLOAT, [1])],
        [made.value("y", TensorProto.FLOAT, [None]), made.value("z", TensorProto.FLOAT, [1])],
        {"w": np.ones(elements, np.float32)},
    )
    session = opened(model)
    [first] = session.run([np.ones(1, np.float32)], (0,))
    first[:] = 5
    [second] = session.run([np.ones(1, np.float32)], (0,))
    assert second.max() == 1


def test_outputs_are_written_in_place_where_they_fit() -> None:
    session = opened(made.add_sub(), [((0, 0), 4), None])
    target = np.zeros((2, 4), np.float32)
    total, difference = session.run([ONE, ONE], (0, 1), [target, target.copy()])
    assert total is target
    assert target.min() == 2
    assert difference.max() == 0
    for other in (np.zeros((3, 4), np.float32), np.zeros((2, 4)), np.zeros((2, 8), np.float32)[:, ::2], "x"):
        assert session.run([ONE, ONE], (0,), [other])[0] is not other
    frozen = np.zeros((2, 4), np.float32)
    frozen.flags.writeable = False
    assert session.run([ONE, ONE], (0,), [frozen])[0] is not frozen
    with pytest.raises(InvalidInputError, match="got 1 arrays, expected 2"):
        session.run([ONE, ONE], (0, 1), [target])


def test_a_model_that_gives_another_shape_than_it_says() -> None:
    doubled = made.model_of(
        [helper.make_node("Concat", ["x", "x"], ["y"], axis=0), helper.make_node("Identity", ["x"], ["z"])],
        [made.value("x", TensorProto.FLOAT, ["n", 4])],
        [made.value(name, TensorProto.FLOAT, ["n", 4]) for name in "yz"],
    )
    session = opened(doubled, [((0, 0), 4)] * 2)
    target = np.zeros((2, 4), np.float32)
    for _ in range(3):
        y, z = session.run([ONE], (0, 1))
        assert (y.shape, z.shape) == ((4, 4), (2, 4))
        assert y.min() == z.min() == 1
    assert session.run([ONE], (1,), [target])[0] is target
    fresh = opened(doubled, [((0, 0), 4)] * 2)
    assert [answer[0].shape for answer in fresh.run_many([[ONE]] * 3, (0,))] == [(4, 4)] * 3
    # Neither what cannot be had at all nor what does not fit the input is asked for in vain.
    assert opened(doubled, [(2**40, 2**40), None]).run([ONE], (0,))[0].shape == (4, 4)
    assert opened(doubled, [((0, 5), 4), None]).run([ONE], (0,))[0].shape == (4, 4)


def test_a_scalar_and_many_axes() -> None:
    model = made.identity(dims=())
    [got] = opened(model, [()]).run([np.array(2.5, np.float32)], (0,))
    assert (got.shape, float(got)) == ((), 2.5)
    [got] = opened(model).run([np.array(2.5, np.float32)], (0,))
    assert (got.shape, float(got)) == ((), 2.5)
    deep = np.ones((1,) * 9 + (2,), np.float32)
    assert opened(made.identity(dims=deep.shape)).run([deep], (0,))[0].shape == deep.shape


@pytest.mark.parametrize(
    ("arrays", "text"),
    [
        ([ONE.astype(np.float64), ONE], r"input 'A': got float64 array, expected .* of float32"),
        ([ONE, ONE.astype(">f4")], "input 'B': got >f4 array"),
        ([ONE, np.ones((2, 8), np.float32)[:, ::2]], "C-contiguous"),
        ([ONE, [1.0]], "got list"),
        ([ONE], "input 'B' is missing"),
        ([None, ONE], "input 'A' is missing"),
        ([ONE] * 3, "got 3 inputs, expected at most 2"),
    ],
)
def test_wrong_inputs_are_named(arrays: list[Any], text: str) -> None:
    session = opened(made.add_sub())
    with pytest.raises(InvalidInputError, match=text):
        session.run(arrays, (0,))
    [answer, good] = session.run_many([arrays, [ONE, ONE]], (0,))
    assert isinstance(answer, InvalidInputError)
    assert good[0].min() == 2


def test_wrong_outputs_are_refused() -> None:
    session = opened(made.add_sub())
    with pytest.raises(InvalidInputError, match="'S' is asked for twice"):
        session.run([ONE, ONE], (0, 1, 0))
    for index in (2, 10**9):
        with pytest.raises(IndexError):
            session.run([ONE, ONE], (index,))
    with pytest.raises(OverflowError):
        session.run([ONE, ONE], (-1,))
    with pytest.raises(TypeError):
        session.run([ONE, ONE], ("S",))
    with pytest.raises(InvalidOptionError, match="one for each of 2 outputs"):
        session.expect([None])


def test_an_input_with_a_value_of_its_own_may_be_left_out() -> None:
    model = made.scale(2.0)
    model.graph.input.append(made.value("factor", TensorProto.FLOAT, []))
    session = opened(model)
    assert [(item[0], item[3]) for item in session.inputs] == [("x", False), ("factor", True)]
    assert session.run([ONE], (0,))[0].max() == 2
    assert session.run([ONE, None], (0,))[0].max() == 2
    assert session.run([ONE, np.array(5, np.float32)], (0,))[0].max() == 5


def test_what_is_no_tensor_and_text_are_told() -> None:
    model = made.model_of(
        [helper.make_node("SequenceConstruct", ["x"], ["seq"]), helper.make_node("Identity", ["t"], ["u"])],
        [made.value("x", TensorProto.FLOAT, [2]), made.value("t", TensorProto.STRING, [1])],
        [
            helper.make_tensor_sequence_value_info("seq", TensorProto.FLOAT, None),
            made.value("u", TensorProto.STRING, [1]),
        ],
    )
    session = opened(model)
    assert [item[1] for item in session.outputs] == [0, 8]
    with pytest.raises(InvalidInputError, match="input 't'"):
        session.run([np.ones(2, np.float32), np.array(["a"], object)], (0,))


def test_failures_have_code_and_text() -> None:
    session = opened(made.failing_reshape())
    for _ in range(3):
        with pytest.raises(native.OrtError, match="Reshape") as caught:
            session.run([np.ones(3, np.float32)], (0,))
        assert caught.value.code != 0
        assert caught.value.text == str(caught.value)
        assert session.run([np.ones(4, np.float32)], (0,))[0].shape == (2, 2)
    good, bad, last = session.run_many([[np.ones(size, np.float32)] for size in (4, 3, 2)], (0,))
    assert (good[0].shape, last[0].shape) == ((2, 2), (1, 2))
    assert isinstance(bad, native.OrtError)


def test_models_and_settings_that_onnxruntime_refuses(tmp_path: Path) -> None:
    for source in (b"", b"no model", tmp_path / "nothing.onnx"):
        with pytest.raises(native.OrtError) as caught:
            native.open_ort_session(library(), source)
        assert caught.value.code in (2, 3, 7)
    with pytest.raises(native.OrtError):
        opened(made.identity(), graph_level=55)
    session = opened(
        made.identity(),
        intra_threads=2,
        inter_threads=2,
        parallel=True,
        graph_level=1,
        mem_arena=False,
        mem_pattern=False,
        session_entries=[("session.intra_op.allow_spinning", "0")],
        run_entries=[("memory.enable_memory_arena_shrinkage", "")],
    )
    assert session.run([ONE], (0,))[0].all()


def test_a_file_that_is_no_onnxruntime(tmp_path: Path) -> None:
    with pytest.raises(LibraryError, match=r"nothing\.so"):
        native.open_ort_session(tmp_path / "nothing.so", b"")
    with pytest.raises(LibraryError, match="no onnxruntime"):
        native.ort_version("libm.so.6")


def long_run(times: int) -> list[Any]:
    return [np.array(times, np.int64), np.ones((192, 192), np.float32)]


def test_a_run_is_stopped_from_another_thread() -> None:
    session = opened(made.looping())
    stop = session.new_stop()
    ended: list[Exception] = []

    def work() -> None:
        try:
            session.run(long_run(10**9), (0,), None, stop)
        except native.OrtError as error:
            ended.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    stop.terminate()
    thread.join(60)
    assert not thread.is_alive()
    assert "terminate" in str(ended[0])
    assert session.run(long_run(1), (0,), None, session.new_stop())[0].shape == (192, 192)
    answers = session.run_many([long_run(10**9)] * 3, (0,), stop)
    assert [type(answer) for answer in answers] == [native.OrtError] * 3
    stop.terminate()


@pytest.mark.parametrize("timed_by_shapes", [False, True])
def test_many_threads_get_their_own_answers(timed_by_shapes: bool) -> None:
    session = opened(made.add_sub())
    session.expect([((0, 0), 4), None], timed_by_shapes=timed_by_shapes)
    wrong: list[Any] = []

    def work(number: int) -> None:
        for step in range(300):
            given = np.full((1 + step % 3, 4), number * 1000 + step, np.float32)
            if step % 3:
                answers = [session.run([given, given], (0, 1))]
            else:
                answers = session.run_many([[given, given]] * 4, (0, 1))
            wrong.extend(
                answer
                for answer in answers
                if not np.array_equal(answer[0], given * 2)
                or answer[1].any()
                or answer[1].shape != given.shape
            )

    threads = [threading.Thread(target=work, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_it_can_be_neither_copied_nor_made() -> None:
    import copy
    import pickle

    session = opened(made.identity())
    for attempt in (copy.copy, pickle.dumps):
        with pytest.raises(CopyError):
            attempt(session)
    with pytest.raises(TypeError, match="open_ort_session"):
        native.OrtSession()
    with pytest.raises(TypeError, match="new_stop"):
        native.OrtStop()


CHILD = """
import os, sys
import numpy as np
from ascend_infer import _native
from ascend_infer.errors import ForkError

library, model = sys.argv[1:]
def opened():
    return _native.open_ort_session(library, model, intra_threads=3)
one = np.ones((2, 4), np.float32)
session = opened()
before = session.run([one], (0,))[0]
child = os.fork()
if child == 0:
    try:
        session.run([one], (0,))
    except ForkError:
        del session
        sys.exit(0 if np.array_equal(opened().run([one], (0,))[0], before) else 3)
    os._exit(4)
code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
assert np.array_equal(session.run([one], (0,))[0], before)
assert "onnxruntime" not in sys.modules
sys.exit(code)
"""


def test_a_forked_child_is_told_and_loads_its_own_and_nothing_is_left_at_home(tmp_path: Path) -> None:
    path = made.write(made.scale(2.0), tmp_path / "model.onnx")
    home = tmp_path / "home"
    home.mkdir()
    environment = {key: value for key, value in os.environ.items() if key != "ORT_DISABLE_TELEMETRY"}
    environment |= {"HOME": str(home), "XDG_CACHE_HOME": str(home / "cache")}
    ran = subprocess.run(
        [sys.executable, "-W", "ignore::DeprecationWarning", "-c", CHILD, library(), path],
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert (ran.returncode, ran.stderr) == (0, "")
    assert list(home.iterdir()) == []
