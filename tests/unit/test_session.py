from __future__ import annotations

import copy
import pickle
import threading
from pathlib import Path
from typing import Any

import numpy as np
import onnx_models as made
import pytest
from onnx import TensorProto, helper

import ascend_infer as ai
from ascend_infer.errors import (
    ClosedError,
    ConfigError,
    CopyError,
    DeadlineExceededError,
    DeviceNotFoundError,
    InvalidInputError,
    InvalidOptionError,
    ModelExecutionError,
    ModelLoadError,
    ModelNotFoundError,
    UnclosedResourceWarning,
)

pytest.importorskip("onnxruntime")

ONE = np.ones((1, 4), np.float32)
CONFIG = """
name: "scale"
platform: "onnxruntime_onnx"
max_batch_size: 8
input [ { name: "x" data_type: TYPE_FP32 dims: [ 4 ] } ]
output [ { name: "y" data_type: TYPE_FP32 dims: [ 4 ] label_filename: "labels.txt" } ]
"""


@pytest.fixture
def scale(tmp_path: Path) -> Path:
    """Versions 1 and 2 of a model that multiplies by its version number."""
    folder = tmp_path / "scale"
    for version in (1, 2):
        made.write(made.scale(version), folder / str(version) / "model.onnx")
    (folder / "config.pbtxt").write_text(CONFIG)
    (folder / "labels.txt").write_text("ant\nbee\ncat\ndog\n")
    return folder


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


def test_a_version_that_is_not_there_is_named_with_those_that_are(scale: Path) -> None:
    with pytest.raises(ModelNotFoundError, match="1, 2"):
        ai.Session(scale, version=3)


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
        assert result.timing.total_ns == sum(result.timing) > 0
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


def test_out_arrays_are_filled(scale: Path) -> None:
    with ai.Session(scale) as session:
        out = np.zeros((1, 4), np.float32)
        for _ in range(3):  # on the worker first, on the caller's thread afterwards
            out[:] = 0
            result = session.infer({"x": ONE}, out={"y": out})
            assert result["y"] is out
            assert out.tolist() == [[2, 2, 2, 2]]
        flat = np.zeros(4, np.float32)
        session.infer({"x": ONE[0]}, out={"y": flat}, batched=False)
        assert flat.tolist() == [2, 2, 2, 2]


def test_max_batch_size_in_place_of_the_configurations(scale: Path) -> None:
    ten = np.ones((10, 4), np.float32)
    with (
        ai.Session(scale) as session,
        pytest.raises(InvalidInputError, match="batch of 10.*max_batch_size 8"),
    ):
        session.infer({"x": ten})
    with ai.Session(scale, max_batch_size=16) as session:
        assert session.infer({"x": ten})["y"].shape == (10, 4)


def test_without_a_configuration_the_limit_is_tritons_and_says_so(tmp_path: Path) -> None:
    folder = made.model_directory(tmp_path, "net", made.scale(3))
    with ai.Session(folder) as session:
        assert session.config.max_batch_size == 4
        with pytest.raises(InvalidInputError, match="Triton's default"):
            session.infer({"x": np.ones((5, 4), np.float32)})


def test_a_bare_file_has_no_limit_and_no_version(tmp_path: Path) -> None:
    path = made.write(made.scale(3), tmp_path / "net.onnx")
    with ai.Session(path) as session:
        assert (session.name, session.version) == ("net", None)
        assert session.infer({"x": np.ones((100, 4), np.float32)})["y"].shape == (100, 4)
    with pytest.raises(ModelNotFoundError, match="no versions"):
        ai.Session(path, version=1)


def test_names_with_punctuation_scalars_and_text(tmp_path: Path) -> None:
    model = made.model_of(
        [
            helper.make_node("Identity", ["serving_default_input:0"], ["out/a.b:0"]),
            helper.make_node("Identity", ["sr"], ["rate"]),
            helper.make_node("Identity", ["text"], ["echo"]),
        ],
        [
            made.value("serving_default_input:0", TensorProto.FLOAT, ["n", 2]),
            made.value("sr", TensorProto.INT64, []),
            made.value("text", TensorProto.STRING, ["m"]),
        ],
        [
            made.value("out/a.b:0", TensorProto.FLOAT, ["n", 2]),
            made.value("rate", TensorProto.INT64, []),
            made.value("echo", TensorProto.STRING, ["m"]),
        ],
    )
    for place in (
        made.write(model, tmp_path / "bare.onnx"),
        made.model_directory(tmp_path, "net", model),
    ):
        with ai.Session(place) as session:
            result = session.infer(
                {
                    "serving_default_input:0": np.ones((2, 2), np.float32),
                    "sr": 16000,
                    "text": np.array([b"abc", "ä"], object),
                }
            )
            assert result["out/a.b:0"].shape == (2, 2)
            assert int(result["rate"].reshape(-1)[0]) == 16000
            assert result["echo"].tolist() == [b"abc", "ä".encode()]
            assert "BYTES" in result._repr_html_()
            with pytest.raises(InvalidInputError, match="no scores to rank"):
                result.top_k("echo")


def test_declared_shapes_that_are_dummies_run_when_the_configuration_says_so(tmp_path: Path) -> None:
    model = made.identity(dims=(10, 3, 32, 32))
    picture = np.ones((1, 3, 64, 48), np.float32)
    with ai.Session(made.write(model, tmp_path / "net.onnx")) as session, pytest.raises(InvalidInputError):
        session.infer({"x": picture})
    folder = made.model_directory(
        tmp_path,
        "net",
        model,
        """input { name: "x" data_type: TYPE_FP32 dims: [ -1, 3, -1, -1 ] }
           output { name: "y" data_type: TYPE_FP32 dims: [ -1, 3, -1, -1 ] }""",
    )
    with ai.Session(folder) as session:
        assert session.infer({"x": picture})["y"].shape == (1, 3, 64, 48)


def test_outputs_of_unknown_rank(tmp_path: Path) -> None:
    model = made.model_of(
        [helper.make_node("Reshape", ["x", "shape"], ["y"])],
        [made.value("x", TensorProto.FLOAT, None), made.value("shape", TensorProto.INT64, ["r"])],
        [made.value("y", TensorProto.FLOAT, None)],
    )
    with ai.Session(made.write(model, tmp_path / "net.onnx")) as session:
        feed = {"x": np.ones((2, 6), np.float32), "shape": np.array([3, 2, 2])}
        assert session.infer(feed)["y"].shape == (3, 2, 2)


def test_an_output_that_is_no_tensor_is_refused_by_name(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    model = made.model_of(
        [helper.make_node("Identity", ["x"], ["y"]), helper.make_node("SequenceConstruct", ["x"], ["seq"])],
        [made.value("x", TensorProto.FLOAT, [2])],
        [
            made.value("y", TensorProto.FLOAT, [2]),
            helper.make_tensor_sequence_value_info("seq", TensorProto.FLOAT, None),
        ],
    )
    with ai.Session(made.write(model, tmp_path / "net.onnx")) as session:
        assert "'seq' is a sequence" in caplog.text
        assert list(session.infer({"x": np.ones(2, np.float32)})) == ["y"]
        with pytest.raises(InvalidInputError, match="name of a sequence"):
            session.infer({"x": np.ones(2, np.float32)}, outputs=["seq"])


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


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"instances": 0}, "instances: got 0"),
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


@pytest.mark.parametrize("path", ["", "a\0b", 3, None, b"bytes"])
def test_a_path_is_a_path(path: Any) -> None:
    with pytest.raises(InvalidOptionError, match="path"):
        ai.Session(path)


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


@pytest.mark.parametrize(
    ("break_it", "error", "text"),
    [
        (lambda d: (d / "2/model.onnx").unlink(), ModelNotFoundError, "2/model.onnx is not there"),
        (
            lambda d: (d / "2/model.onnx").rename(d / "2/net.onnx"),
            ModelNotFoundError,
            "default_model_filename",
        ),
        (lambda d: (d / "2/model.onnx").write_bytes(b""), ModelLoadError, "empty"),
        (lambda d: (d / "labels.txt").unlink(), ConfigError, "labels.txt"),
        (lambda d: (d / "config.pbtxt").write_text("name: scale"), ConfigError, "quote"),
        (lambda d: (d / "config.pbtxt").write_text(CONFIG.replace("[ 4 ]", "[ 5 ]")), ConfigError, "5"),
        (
            lambda d: (d / "config.pbtxt").write_text(
                CONFIG.replace('platform: "onnxruntime_onnx"', 'backend: "python"')
            ),
            ModelLoadError,
            "python models do not run",
        ),
        (lambda d: (d / "2/model.onnx").rename(d / "2/model.om"), ModelLoadError, "no model.onnx beside it"),
    ],
)
def test_a_broken_directory_is_named(scale: Path, break_it: Any, error: type[Exception], text: str) -> None:
    if "model.om" in text or "no model.onnx" in text:
        (scale / "config.pbtxt").write_text('platform: "ge"')
    break_it(scale)
    with pytest.raises(error, match=text):
        ai.Session(scale)


def test_a_model_for_another_framework_runs_from_its_twin(scale: Path) -> None:
    (scale / "config.pbtxt").write_text(CONFIG.replace("onnxruntime_onnx", "tensorrt_plan"))
    with ai.Session(scale) as session:
        assert session.infer({"x": ONE})["y"].tolist() == [[2, 2, 2, 2]]


def test_instances_follow_the_configuration(scale: Path) -> None:
    text = CONFIG + "instance_group [ { count: 2 kind: KIND_GPU gpus: [0] }, { count: 1 kind: KIND_CPU } ]"
    (scale / "config.pbtxt").write_text(text)
    with ai.Session(scale) as session:
        assert session.details["instances"] == "3"
    with ai.Session(scale, instances=1) as session:
        assert session.details["instances"] == "1"


def warmup(kind: str, **changes: Any) -> str:
    size, count, dims = changes.get("batch_size", 2), changes.get("count", 3), changes.get("dims", "4")
    return (
        f'{CONFIG} model_warmup [ {{ name: "w" batch_size: {size} count: {count} inputs {{ key: "x" '
        f"value: {{ data_type: TYPE_FP32 dims: [ {dims} ] {kind} }} }} }} ]"
    )


@pytest.mark.parametrize("kind", ["zero_data: true", "random_data: true", 'input_data_file: "x.bin"'])
def test_warm_up_runs_before_the_first_request(
    scale: Path, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from ascend_infer.backends.onnx import OnnxExecutable

    runs: list[np.ndarray[Any, Any]] = []
    execute = OnnxExecutable.execute

    def recorded(self: Any, inputs: Any, *others: Any) -> Any:
        runs.append(inputs["x"])
        return execute(self, inputs, *others)

    monkeypatch.setattr(OnnxExecutable, "execute", recorded)
    (scale / "warmup").mkdir()
    (scale / "warmup" / "x.bin").write_bytes(np.arange(4, dtype=np.float32).tobytes())
    (scale / "config.pbtxt").write_text(warmup(kind))
    with ai.Session(scale):
        assert [run.shape for run in runs] == [(2, 4)] * 3
    if "file" in kind:
        assert runs[0].tolist() == [[0, 1, 2, 3]] * 2
    assert runs[0].any() == ("zero" not in kind)


def test_a_warm_up_that_fails_is_named(tmp_path: Path) -> None:
    config = """platform: "onnxruntime_onnx" max_batch_size: 0
        model_warmup [ { name: "odd" batch_size: 1 inputs { key: "x" value: {
            data_type: TYPE_FP32 dims: [ 3 ] zero_data: true } } } ]"""
    folder = made.model_directory(tmp_path, "net", made.failing_reshape(), config)
    with pytest.raises(ModelLoadError, match="warmup sample 'odd'.*Reshape"):
        ai.Session(folder)


def test_a_short_warm_up_file_is_named(scale: Path) -> None:
    (scale / "warmup").mkdir()
    (scale / "warmup" / "x.bin").write_bytes(bytes(7))
    (scale / "config.pbtxt").write_text(warmup('input_data_file: "x.bin"'))
    with pytest.raises((ModelLoadError, ConfigError), match="x.bin"):
        ai.Session(scale)
    (scale / "config.pbtxt").write_text(warmup('input_data_file: "../../x.bin"'))
    with pytest.raises((ModelLoadError, ConfigError), match="x.bin"):
        ai.Session(scale)


@pytest.mark.parametrize(
    "field", ["sequence_batching { direct {} }", "model_transaction_policy { decoupled: true }"]
)
def test_what_cannot_run_yet_is_refused_by_its_field(scale: Path, field: str) -> None:
    (scale / "config.pbtxt").write_text(CONFIG + field)
    with pytest.raises(ModelLoadError, match=field.split(" ")[0]):
        ai.Session(scale)


def test_random_warm_ups_of_every_kind_of_number(tmp_path: Path) -> None:
    kinds = {"b": "TYPE_BOOL", "i": "TYPE_INT8", "f": "TYPE_FP16", "s": "TYPE_STRING"}
    codes = {"b": TensorProto.BOOL, "i": TensorProto.INT8, "f": TensorProto.FLOAT16, "s": TensorProto.STRING}
    model = made.model_of(
        [helper.make_node("Identity", [name], [f"{name}_out"]) for name in kinds],
        [made.value(name, code, ["n", 2]) for name, code in codes.items()],
        [made.value(f"{name}_out", code, ["n", 2]) for name, code in codes.items()],
    )
    inputs = "".join(
        f'inputs {{ key: "{name}" value: {{ data_type: {kind} dims: [ 2 ] random_data: true }} }} '
        for name, kind in kinds.items()
    )
    config = f'platform: "onnxruntime_onnx" max_batch_size: 2 model_warmup [ {{ name: "w" batch_size: 1 {inputs} }} ]'
    with ai.Session(made.model_directory(tmp_path, "net", model, config)) as session:
        assert len(session.inputs) == 4


def test_a_warm_up_reads_text_in_tritons_form(tmp_path: Path) -> None:
    config = """platform: "onnxruntime_onnx" max_batch_size: 0 model_warmup [ { name: "w" batch_size: 1
        inputs { key: "x" value: { data_type: TYPE_STRING dims: [ 2 ] input_data_file: "t" } } } ]"""
    folder = made.model_directory(tmp_path, "net", made.identity(TensorProto.STRING, ["n"]), config)
    (folder / "warmup").mkdir()
    (folder / "warmup" / "t").write_bytes(b"\x02\0\0\0ab\0\0\0\0")
    with ai.Session(folder) as session:
        assert session.infer(["a"])["y"].tolist() == [b"a"]
    (folder / "warmup" / "t").write_bytes(b"\x02\0\0\0ab\x09\0\0\0")
    with pytest.raises((ModelLoadError, ConfigError), match="BYTES"):
        ai.Session(folder)


def test_what_a_path_may_lead_to(scale: Path, tmp_path: Path) -> None:
    with pytest.raises(ModelNotFoundError, match="give its directory"):
        ai.Session(scale / "config.pbtxt")
    (tmp_path / "net.om").write_bytes(b"IMOD")
    with pytest.raises(ModelLoadError, match="no model.onnx beside it"):
        ai.Session(tmp_path / "net.om")
    made.write(made.scale(5.0), tmp_path / "net.onnx")
    with ai.Session(tmp_path / "net.om") as session:
        assert session.infer({"x": ONE})["y"].tolist() == [[5, 5, 5, 5]]
    (scale / "2" / "model.onnx").unlink()
    with pytest.raises(ModelNotFoundError, match="folder is empty"):
        ai.Session(scale)
    (scale / "2" / "weights.bin").write_bytes(b"")
    with pytest.raises(ModelNotFoundError, match=r"holds weights\.bin"):
        ai.Session(scale)


def test_an_unopened_copy_opens_for_any_question(scale: Path) -> None:
    with ai.Session(scale) as session:
        data = pickle.dumps(session)
    for ask in ("name", "inputs", "outputs", "config", "device", "version", "details"):
        again = pickle.loads(data)
        assert getattr(again, ask) is not None
        again.close()


def test_an_array_that_is_input_and_output_at_once_gives_the_right_numbers(tmp_path: Path) -> None:
    model = made.model_of(
        [helper.make_node("MatMul", ["x", "x"], ["y"])],
        [made.value("x", TensorProto.FLOAT, [64, 64])],
        [made.value("y", TensorProto.FLOAT, [64, 64])],
    )
    x = np.random.default_rng(0).standard_normal((64, 64)).astype(np.float32)
    with ai.Session(made.write(model, tmp_path / "net.onnx")) as session:
        expected = session.infer(x)["y"].copy()
        for _ in range(3):
            both = x.copy()
            assert session.infer(both, out={"y": both})["y"] is both
            assert np.array_equal(both, expected)
            memory = bytearray(x.tobytes())
            out = np.frombuffer(memory, np.float32).reshape(64, 64)
            session.infer({"x": np.frombuffer(memory, np.float32).reshape(64, 64)}, out=out)
            assert np.array_equal(out, expected)


def test_two_outputs_cannot_share_an_array(tmp_path: Path) -> None:
    with ai.Session(made.write(made.add_sub(), tmp_path / "net.onnx")) as session:
        both = np.zeros((1, 4), np.float32)
        for second in (both, both[:]):
            with pytest.raises(InvalidInputError, match="overlaps that of 'S'"):
                session.infer({"A": ONE, "B": ONE}, out={"S": both, "D": second})
        with pytest.raises(InvalidInputError, match="expected a dict of arrays for 'S', 'D'"):
            session.infer({"A": ONE, "B": ONE}, out=both)
        with pytest.raises(InvalidInputError, match="got list"):
            session.infer({"A": ONE, "B": ONE}, out=[both])
        session.infer({"A": ONE, "B": ONE}, outputs="S", out=both)
        assert both.tolist() == [[2] * 4]


def test_out_with_a_reshape_of_open_dims(tmp_path: Path) -> None:
    config = """platform: "onnxruntime_onnx" max_batch_size: 8
        input { name: "x" data_type: TYPE_FP32 dims: [ -1, 2 ] reshape { shape: [ -1, 1, 2 ] } }
        output { name: "y" data_type: TYPE_FP32 dims: [ -1, 2 ] reshape { shape: [ -1, 1, 2 ] } }"""
    folder = made.model_directory(tmp_path, "net", made.identity(dims=("n", "m", 1, 2)), config)
    given = np.arange(12, dtype=np.float32).reshape(2, 3, 2)
    with ai.Session(folder) as session:
        out = np.zeros((2, 3, 2), np.float32)
        for _ in range(2):
            out[:] = 0
            assert session.infer(given, out=out)["y"] is out
            assert np.array_equal(out, given)


def test_scalars_stay_scalars(tmp_path: Path) -> None:
    model = made.identity(dims=())
    for place in (made.write(model, tmp_path / "net.onnx"), made.model_directory(tmp_path, "net", model)):
        with ai.Session(place) as session:
            assert session.outputs[0].shape == ()
            assert session.infer(np.float32(3))["y"].shape == ()
            assert session.run(None, {"x": 3.0})[0].shape == ()
            out = np.zeros((), np.float32)
            session.infer(3.0, out=out)
            assert out == 3


def test_an_input_with_a_value_of_its_own_may_be_given_when_the_configuration_names_it(
    tmp_path: Path,
) -> None:
    model = made.scale(2.0)
    model.graph.input.append(made.value("factor", TensorProto.FLOAT, []))
    with ai.Session(made.write(model, tmp_path / "net.onnx")) as session:
        assert [spec.name for spec in session.inputs] == ["x"]
    config = """platform: "onnxruntime_onnx" max_batch_size: 0
        input { name: "x" data_type: TYPE_FP32 dims: [ -1, 4 ] }
        input { name: "factor" data_type: TYPE_FP32 dims: [ 1 ] reshape { shape: [ ] } optional: true }"""
    with ai.Session(made.model_directory(tmp_path, "net", model, config)) as session:
        assert session.infer({"x": ONE})["y"].tolist() == [[2] * 4]
        assert session.infer({"x": ONE, "factor": 5.0})["y"].tolist() == [[5] * 4]


def test_eight_bit_floats_run_though_no_configuration_can_name_them(tmp_path: Path) -> None:
    ml_dtypes = pytest.importorskip("ml_dtypes")
    model = made.model_of(
        [helper.make_node("Cast", ["x"], ["y"], to=TensorProto.FLOAT)],
        [made.value("x", TensorProto.FLOAT8E5M2, ["n", 2])],
        [made.value("y", TensorProto.FLOAT, ["n", 2])],
        opset=19,
        ir_version=9,
    )
    for place in (made.write(model, tmp_path / "net.onnx"), made.model_directory(tmp_path, "net", model)):
        with ai.Session(place) as session:
            given = np.array([[1.5, -2]], ml_dtypes.float8_e5m2)
            assert session.infer(given)["y"].tolist() == [[1.5, -2]]
            assert "FP8_E5M2" in str(session.inputs[0])


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


def test_names_that_are_no_utf8(tmp_path: Path) -> None:
    import os

    folder = os.fsencode(tmp_path) + b"/bad\xff"
    os.mkdir(folder)
    place = Path(os.fsdecode(folder)) / "net.onnx"
    with ai.Session(made.write(made.scale(2.0), place)) as session:
        assert session.infer(ONE)["y"].tolist() == [[2] * 4]


def test_what_is_in_the_way_is_named(scale: Path, tmp_path: Path) -> None:
    (tmp_path / "link.onnx").symlink_to("nowhere")
    with pytest.raises(ModelNotFoundError, match="a link whose target is missing"):
        ai.Session(tmp_path / "link.onnx")
    (scale / "config.pbtxt").unlink()
    (scale / "config.pbtxt").mkdir()
    with pytest.raises(ConfigError, match="error: config.pbtxt is a directory") as caught:
        ai.Session(scale)
    assert "no path" not in str(caught.value)
