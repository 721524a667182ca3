from __future__ import annotations

import copy
import pickle
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx_models as made
import pytest
from scale_model import CONFIG, ONE, scale_directory

import ascend_infer as ai
from ascend_infer.errors import (
    ClosedError,
    CopyError,
    DeadlineExceededError,
    DeviceNotFoundError,
    InvalidInputError,
    InvalidOptionError,
    ModelExecutionError,
    UnclosedResourceWarning,
)

pytest.importorskip("onnxruntime")


@pytest.fixture
def scale(tmp_path: Path) -> Path:
    return scale_directory(tmp_path)


def test_the_highest_version_serves(scale: Path) -> None:
    with ai.Session(scale) as session:
        assert session.version == 2
        assert session.infer({"x": ONE})["y"].tolist() == [[2, 2, 2, 2]]


@pytest.mark.parametrize("way", ["number", "text", "folder"])
def test_an_old_version_stays_loadable(scale: Path, way: str) -> None:
    session = {
        "number": lambda: ai.Session(scale, version=1),
        "text": lambda: ai.Session(scale, version="1"),
        "folder": lambda: ai.Session(scale / "1"),
    }[way]()
    with session:
        assert session.version == 1
        result = session.infer({"x": ONE})
        assert result.version == 1
        assert result["y"].tolist() == [[1, 1, 1, 1]]


def test_properties(scale: Path) -> None:
    with ai.Session(str(scale)) as session:
        assert session.name == "scale"
        assert [str(spec) for spec in session.inputs] == ["x: FP32[-1, 4]"]
        assert [str(spec) for spec in session.outputs] == ["y: FP32[-1, 4]"]
        assert session.config.max_batch_size == 8
        assert session.device == "cpu"
        assert session.path == str(scale)
        assert "onnxruntime" in session.details["runtime"]
        assert "scale version 2 on cpu" in repr(session)
        for text in ("scale", "version 2", "batches up to 8", "?×4"):
            assert text in session._repr_html_()
    assert "closed" in repr(session)
    assert "closed" in session._repr_html_()


def test_every_way_to_give_inputs(scale: Path) -> None:
    with ai.Session(scale) as session:
        for result in (
            session.infer({"x": ONE}),
            session.infer(ONE),
            session(ONE),
            session(x=ONE),
            session.infer({"x": [[1, 1, 1, 1]]}),
            session.infer({"x": ONE.astype(">f4")}),
            session.infer({"x": np.ones((1, 4), np.int8)}, cast="safe"),
        ):
            assert result["y"].tolist() == [[2, 2, 2, 2]]
        assert session.run(["y"], {"x": ONE})[0].tolist() == [[2, 2, 2, 2]]
        assert len(session.run(None, {"x": ONE})) == 1
        assert session.infer({"x": ONE[0]}, batched=False)["y"].shape == (4,)
        with pytest.raises(InvalidInputError, match="one bare array"):
            session(ONE, ONE)
        with pytest.raises(InvalidInputError, match="misses input 'x'"):
            session.infer()


def test_a_result_is_a_mapping_with_its_story(scale: Path) -> None:
    with ai.Session(scale) as session:
        result = session.infer({"x": ONE}, request_id="r7")
        assert dict(result).keys() == {"y"}
        assert (len(result), list(result), result.request_id) == (1, ["y"], "r7")
        assert (result.model, result.version, result.device) == ("scale", 2, "cpu")
        assert result.timing.total_ns == sum(result.timing[:4]) > 0
        assert result.timing.compute_infer_ns > 0
        assert "y: float32[1, 4]" in repr(result)
        assert "2 to 2" in result._repr_html_()
        with pytest.raises(KeyError):
            result["z"]
    again = pickle.loads(pickle.dumps(result))
    assert again["y"].tolist() == result["y"].tolist()
    assert again.timing == result.timing
    assert again.top_k()[0][0].label == "ant"


def test_top_k_uses_the_label_file(scale: Path) -> None:
    with ai.Session(scale) as session:
        result = session.infer({"x": np.array([[1, 4, 2, 3], [9, 0, 0, 0]], np.float32)})
        assert [[(r.label, r.score) for r in row] for row in result.top_k("y", 2)] == [
            [("bee", 8), ("dog", 6)],
            [("ant", 18), ("bee", 0)],
        ]
        first = result.top_k(k=1, softmax=True)[0][0]
        assert first.score == pytest.approx(np.exp(8) / np.exp([2, 8, 4, 6]).sum())
        single = session.infer({"x": np.array([1, 4, 2, 3], np.float32)}, batched=False)
        assert [r.index for r in single.top_k("y", 2)] == [1, 3]
        with pytest.raises(InvalidInputError, match="outputs 'y'"):
            result.top_k("z")


def test_max_batch_size_in_place_of_the_configurations(scale: Path) -> None:
    ten = np.ones((10, 4), np.float32)
    with (
        ai.Session(scale) as session,
        pytest.raises(InvalidInputError, match="batch of 10.*max_batch_size 8"),
    ):
        session.infer({"x": ten})
    with ai.Session(scale, max_batch_size=16) as session:
        assert session.infer({"x": ten})["y"].shape == (10, 4)


def test_a_batch_dimension_that_nobody_stated_says_nothing_of_one_request(tmp_path: Path) -> None:
    # Both tensors begin with -1, as those of a detector do whose rows are the boxes that it found.
    model = made.model_directory(tmp_path, "net", made.failing_reshape())
    x = np.ones(4, np.float32)
    with ai.Session(model, device="cpu") as session:
        assert session.infer(x)["y"].shape == (2, 2)
        assert session.infer(x, timeout=60)["y"].shape == (2, 2)
        assert session.submit(x).result()["y"].shape == (2, 2)
        assert [result["y"].shape for result in session.map([x, x[:2]])] == [(2, 2), (1, 2)]
    refused = pytest.raises(ModelExecutionError, match=r"came back with shape \[2, 2\] for a batch of 4 rows")
    with ai.Session(model, device="cpu", max_batch_size=4) as session, refused:  # stated
        session.infer(x)


def test_a_failing_request_leaves_the_session_usable(tmp_path: Path) -> None:
    with ai.Session(made.write(made.failing_reshape(), tmp_path / "net.onnx")) as session:
        for _ in range(3):
            with pytest.raises(ModelExecutionError, match="'net' failed"):
                session.infer({"x": np.ones(3, np.float32)})
            assert session.infer({"x": np.ones(4, np.float32)})["y"].shape == (2, 2)


def long_run(times: int = 10**9) -> dict[str, Any]:
    return {"times": np.array(times), "x": np.ones((192, 192), np.float32)}


def test_a_deadline_ends_a_run_and_frees_the_instance(tmp_path: Path) -> None:
    with ai.Session(made.write(made.looping(), tmp_path / "net.onnx")) as session:
        out = {"y": np.zeros((192, 192), np.float32)}
        with pytest.raises(DeadlineExceededError, match="timeout") as caught:
            session.infer(long_run(), timeout=0.05, out=out)
        assert caught.value.timeout == 0.05
        assert isinstance(caught.value, TimeoutError)
        assert session.infer(long_run(1), timeout=60)["y"].shape == (192, 192)
        assert not out["y"].any()


@pytest.mark.parametrize("timeout", ["1", float("nan"), True, object()])
def test_a_timeout_is_a_number(scale: Path, timeout: Any) -> None:
    with ai.Session(scale) as session, pytest.raises(InvalidOptionError, match="timeout"):
        session.infer({"x": ONE}, timeout=timeout)


def test_many_threads_get_their_own_results(scale: Path) -> None:
    wrong: list[object] = []
    with ai.Session(scale, instances=2) as session:

        def work(seed: int) -> None:
            for step in range(100):
                value = np.full((1 + step % 3, 4), seed * 1000 + step, np.float32)
                got = session.infer({"x": value}, timeout=60 if step % 2 else None)["y"]
                if not np.array_equal(got, value * 2):
                    wrong.append((seed, step, got))

        threads = [threading.Thread(target=work, args=(seed,)) for seed in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert not wrong


def test_close_is_idempotent_and_use_afterwards_is_named(scale: Path) -> None:
    session = ai.Session(scale)
    kept = session.infer({"x": ONE})
    session.close()
    session.close()
    assert session.closed
    assert kept["y"].tolist() == [[2, 2, 2, 2]]
    for use in (
        lambda: session.infer({"x": ONE}),
        lambda: session.inputs,
        lambda: session.__enter__(),
        lambda: pickle.dumps(session),
    ):
        with pytest.raises(ClosedError, match="closed"):
            use()


def test_requests_under_way_keep_their_results_when_it_closes(tmp_path: Path) -> None:
    session = ai.Session(made.write(made.looping(), tmp_path / "net.onnx"))
    started, results = threading.Event(), []

    def work() -> None:
        started.set()
        try:
            results.append(session.infer(long_run(300), timeout=60)["y"].shape)
        except ClosedError:
            results.append("too late")

    thread = threading.Thread(target=work)
    thread.start()
    started.wait()
    session.close()
    thread.join(60)
    # It either ran to its end or came too late; it is never lost half way.
    assert results in (["too late"], [(192, 192)])


def test_a_dropped_session_warns_and_leaves_nothing(scale: Path) -> None:
    session = ai.Session(scale)
    session.infer({"x": ONE})
    with pytest.warns(UnclosedResourceWarning, match="'scale' was dropped"):
        del session


def test_a_pickled_session_opens_again_by_itself(scale: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(scale.parent)
    with ai.Session("scale", version=1, threads=1, cast="safe") as session:
        data = pickle.dumps(session)
    monkeypatch.chdir("/")
    again = pickle.loads(data)
    assert "unopened" in repr(again)
    with again:
        assert again.version == 1
        assert again.details["threads"] == "1"
        assert again.infer({"x": ONE.astype(np.int8)})["y"].tolist() == [[1, 1, 1, 1]]
    never = pickle.loads(data)
    never.close()
    with pytest.raises(ClosedError):
        never.infer({"x": ONE})


def test_live_sessions_are_not_copied(scale: Path) -> None:
    with ai.Session(scale) as session:
        for copier in (copy.copy, copy.deepcopy):
            with pytest.raises(CopyError, match="cannot be copied"):
                copier(session)
    options = {"stream": object()}
    with (
        ai.Session(scale, providers=[("CPUExecutionProvider", options)]) as session,
        pytest.raises(CopyError, match="'stream'"),
    ):
        pickle.dumps(session)


def test_a_named_device_is_never_replaced(scale: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for device in ("npu", "npu:1"):
        with pytest.raises(DeviceNotFoundError) as caught:
            ai.Session(scale, device=device)
        assert caught.value.device == device
    with pytest.raises(DeviceNotFoundError, match="CANN installations") as caught:
        ai.Session(scale, device="npu")
    assert caught.value.tried
    monkeypatch.setenv("ASCEND_INFER_DEVICE", "npu")
    with pytest.raises(DeviceNotFoundError):
        ai.Session(scale)
    monkeypatch.setenv("ASCEND_INFER_DEVICE", "nonsense")
    with pytest.raises(InvalidOptionError, match="ASCEND_INFER_DEVICE"):
        ai.Session(scale)
    with ai.Session(scale, device="cpu") as session:
        assert session.device == "cpu"


def test_the_choice_of_device_is_said_once(scale: Path, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level("INFO", logger="ascend_infer"), ai.Session(scale) as session:
        session.infer({"x": ONE})
    said = [record for record in caplog.records if record.levelname == "INFO"]
    assert len(said) == 1
    for part in ("'scale' version 2", "on cpu", "onnxruntime"):
        assert part in said[0].getMessage()


def test_instances_follow_the_configuration(scale: Path) -> None:
    text = CONFIG + "instance_group [ { count: 2 kind: KIND_GPU gpus: [0] }, { count: 1 kind: KIND_CPU } ]"
    (scale / "config.pbtxt").write_text(text)
    with ai.Session(scale) as session:
        assert session.details["instances"] == "3"
        assert [item.name.rpartition("_")[2] for item in session.instances] == ["0", "1", "2"]
        assert {(item.device, item.slots) for item in session.instances} == {("cpu", 1)}
    with ai.Session(scale, instances=1) as session:
        assert session.details["instances"] == "1"


def test_an_unopened_copy_opens_for_any_question(scale: Path) -> None:
    with ai.Session(scale) as session:
        data = pickle.dumps(session)
    for ask in ("name", "inputs", "outputs", "config", "device", "version", "details"):
        again = pickle.loads(data)
        assert getattr(again, ask) is not None
        again.close()


@pytest.mark.parametrize(
    ("timeout", "said"), [(-1, "-1 s"), (0, "0 s"), (-0.25, "-0.25 s"), (1e-6, "1e-06 s")]
)
@pytest.mark.parametrize("batching", [None, True])
def test_a_timeout_that_is_over_is_told_as_it_was_given(
    scale: Path, timeout: float, said: str, batching: bool | None
) -> None:
    with ai.Session(scale, batching=batching) as session:
        ways: list[Callable[[], Any]] = [
            lambda: session.infer({"x": ONE}, timeout=timeout),
            lambda: session.submit({"x": ONE}, timeout=timeout).result(),
            lambda: list(session.map([{"x": ONE}], timeout=timeout)),
        ]
        for way in ways:
            try:
                way()
            except DeadlineExceededError as error:
                assert f"the timeout of {said}" in str(error)
                assert error.timeout == pytest.approx(timeout)
            else:
                assert timeout > 0
