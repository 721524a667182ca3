"""Linting whole repositories: everything wrong, of all models, at once."""

import os
from pathlib import Path

import pytest

from ascend_infer import onnx_file
from ascend_infer.errors import ModelFileError, ModelNotFoundError
from ascend_infer.lint import lint
from ascend_infer.types import DataType, ModelSpec, TensorSpec

TENSORS = """
input { name: "X" data_type: TYPE_FP32 dims: [4] }
output { name: "Y" data_type: TYPE_FP32 dims: [4] }
"""
MODEL = 'backend: "onnxruntime"\nmax_batch_size: 8' + TENSORS


def make(root: Path, files: dict[str, str | bytes]) -> Path:
    for name, content in files.items():
        file = root / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content.encode() if isinstance(content, str) else content)
    return root


def step(model, x, y, version="model_version: -1"):
    return (
        f'{{ model_name: "{model}" {version} input_map {{ key: "X" value: "{x}" }} '
        f'output_map {{ key: "Y" value: "{y}" }} }}'
    )


def ensemble(*steps, batch=8, tensors=TENSORS):
    head = f'platform: "ensemble"\nmax_batch_size: {batch}{tensors}'
    return f"{head}ensemble_scheduling {{ step [ {', '.join(steps)} ] }}"


def spec_of(*, dtype=DataType.FP32, shape=(-1, 4)):
    tensors = TensorSpec("X", dtype, shape), TensorSpec("Y", DataType.FP32, shape)
    return ModelSpec("onnx", (tensors[0],), (tensors[1],))


def test_a_good_repository_is_silent(tmp_path):
    make(
        tmp_path,
        {
            "a/config.pbtxt": MODEL,
            "a/1/model.onnx": b"",
            "e/config.pbtxt": ensemble(step("a", "X", "Y")),
            "e/1/keep": b"",
            ".git/config": b"",
            "README.md": b"",
        },
    )
    assert lint(tmp_path, read_spec=lambda _: spec_of(), has_npu=False) == ()
    assert lint(tmp_path / "a") == ()
    assert lint(tmp_path / "e") == ()


def test_everything_of_every_model_at_once(tmp_path):
    make(
        tmp_path,
        {
            "syntax/config.pbtxt": "max_batchsize: 8\nname = x",
            "syntax/1/model.onnx": b"",
            "rules/config.pbtxt": MODEL
            + 'dynamic_batching { preferred_batch_size: [0, 16] }\noutput { name: "Z" label_filename: "none" }',
            "rules/2/readme": b"",
            "rules/7x/model.onnx": b"",
            "noversion/config.pbtxt": MODEL,
            "stray/notes.txt": b"",
        },
    )
    found = lint(tmp_path, has_npu=True)
    by_model = {}
    for each in found:
        by_model.setdefault(Path(each.file).relative_to(tmp_path).parts[0], []).append(each)
    assert len(by_model["syntax"]) == 3
    assert {each.field for each in by_model["rules"]} == {
        None,
        "dynamic_batching.preferred_batch_size[0]",
        "dynamic_batching.preferred_batch_size[1]",
        "output[1].label_filename",
        "default_model_filename",
    }
    assert ["at least one version" in each.message for each in by_model["noversion"]] == [True]
    assert len(by_model["stray"]) == 1


def test_what_is_no_repository_raises(tmp_path):
    with pytest.raises(ModelNotFoundError):
        lint(tmp_path / "none")
    with pytest.raises(ModelNotFoundError):
        lint(tmp_path)


def test_configurations_are_checked_against_their_files(tmp_path):
    make(
        tmp_path,
        {"a/config.pbtxt": MODEL, "a/1/model.onnx": b"", "b/config.pbtxt": MODEL, "b/1/model.onnx": b""},
    )

    def read_spec(path):
        if path.parts[-3] == "a":
            return spec_of(dtype=DataType.INT8, shape=(-1, 5))
        raise ModelFileError(f"{path} is damaged", path=str(path))

    found = lint(tmp_path, read_spec=read_spec)
    assert [each.field for each in found if each.file.endswith("a/config.pbtxt")] == [
        "input[0].data_type",
        "input[0].dims",
        "output[0].dims",
    ]
    assert all("1/model.onnx" in each.message for each in found[:3])
    assert [each.file for each in found if "damaged" in each.message] == [str(tmp_path / "b/1/model.onnx")]


def test_a_twin_will_do_and_nothing_will_not(tmp_path):
    make(tmp_path, {"a/config.pbtxt": 'platform: "tensorrt_plan"' + TENSORS, "a/1/model.onnx": b""})
    assert lint(tmp_path / "a") == ()
    (tmp_path / "a/1/model.onnx").rename(tmp_path / "a/1/other.bin")
    found = lint(tmp_path / "a")
    assert "no model file" in found[0].message
    assert found[0].got == "other.bin"


def test_groups_for_devices_are_warnings_without_one(tmp_path):
    groups = "instance_group [ { kind: KIND_GPU gpus: [0, 1] }, { gpus: 0 }, { kind: KIND_CPU } ]"
    make(tmp_path, {"a/config.pbtxt": MODEL + groups, "a/1/model.onnx": b""})
    found = lint(tmp_path / "a", has_npu=False)
    assert [(each.severity, each.field) for each in found] == [
        ("warning", "instance_group[0].kind"),
        ("warning", "instance_group[1].gpus"),
    ]
    assert lint(tmp_path / "a", has_npu=True) == ()


def test_passive_groups_alone_are_a_warning(tmp_path):
    for groups, fields in (
        ("instance_group [ { passive: true }, { passive: true } ]", ["instance_group[0].passive"]),
        ("instance_group [ { passive: true }, { } ]", []),
    ):
        make(tmp_path, {"a/config.pbtxt": MODEL + groups, "a/1/model.onnx": b""})
        found = lint(tmp_path / "a")
        assert [(each.severity, each.field) for each in found] == [("warning", field) for field in fields]


def test_warm_up_files_and_their_sizes(tmp_path):
    warmup = """
    model_warmup { name: "w" batch_size: 1 inputs {
      key: "X" value { data_type: TYPE_FP32 dims: 4 input_data_file: "%s" } } }"""
    make(tmp_path / "a", {"1/model.onnx": b"", "warmup/good": b"0" * 16, "warmup/short": b"0" * 15})
    for name, words in (("good", None), ("short", "15 bytes"), ("none", "not there"), ("../../b", "refused")):
        make(tmp_path / "a", {"config.pbtxt": MODEL + warmup % name})
        found = lint(tmp_path / "a")
        if words is None:
            assert found == ()
        else:
            assert words in found[0].message
            assert found[0].field == 'model_warmup[0].inputs["X"].input_data_file'


def test_initial_states(tmp_path):
    sequence = """
    sequence_batching { state { input_name: "i" output_name: "o" data_type: TYPE_FP32 dims: 1
      initial_state { name: "s" data_type: TYPE_FP32 dims: 1 data_file: "zeros" } } }"""
    make(tmp_path / "a", {"config.pbtxt": MODEL + sequence, "1/model.onnx": b""})
    assert "not there" in lint(tmp_path / "a")[0].message
    make(tmp_path / "a", {"initial_state/zeros": b"0000"})
    assert lint(tmp_path / "a") == ()


def test_labels_are_counted(tmp_path):
    config = MODEL.replace('output { name: "Y"', 'output { name: "Y" label_filename: "labels.txt"')
    make(tmp_path / "a", {"config.pbtxt": config, "1/model.onnx": b"", "labels.txt": "a\nb\n"})
    found = lint(tmp_path / "a")
    assert (found[0].severity, found[0].got, found[0].expected) == ("warning", "2", "4")


def errors(found):
    return [each for each in found if each.severity == "error"]


@pytest.fixture
def members(tmp_path):
    return make(
        tmp_path,
        {
            "a/config.pbtxt": MODEL,
            "a/1/model.onnx": b"",
            "whole/config.pbtxt": 'backend: "onnxruntime"' + TENSORS.replace("[4]", "[-1, 4]"),
            "whole/1/model.onnx": b"",
            "bad/config.pbtxt": "max_batch_size: -1",
            "bad/1/model.onnx": b"",
        },
    )


@pytest.mark.parametrize(
    ("config", "field", "words"),
    [
        (ensemble(step("hole", "X", "Y")), "ensemble_scheduling.step[0].model_name", "did you mean 'whole'?"),
        (ensemble(step("bad", "X", "Y")), "ensemble_scheduling.step[0].model_name", "non-negative"),
        (
            ensemble(step("a", "X", "Y", "model_version: 5")),
            "ensemble_scheduling.step[0].model_version",
            "required version 5",
        ),
        (
            ensemble(step("a", "X", "Y", "")),
            "ensemble_scheduling.step[0].model_version",
            "write model_version: -1",
        ),
        (ensemble(step("a", "X", "Y"), batch=16), "max_batch_size", "maximum batch size 16"),
        (
            ensemble(step("a", "X", "Y")).replace('"X" value', '"Z" value'),
            'ensemble_scheduling.step[0].input_map["Z"]',
            "non-existing input 'Z'",
        ),
        (
            ensemble(step("a", "X", "Y")).replace('output_map { key: "Y"', 'output_map { key: "Z"'),
            'ensemble_scheduling.step[0].output_map["Z"]',
            "non-existing output 'Z'",
        ),
        (
            ensemble(step("a", "X", "Y"), tensors=TENSORS.replace("FP32", "INT8", 1)),
            'ensemble_scheduling.step[0].input_map["X"]',
            "TYPE_INT8",
        ),
        (ensemble(step("e", "X", "Y")), "ensemble_scheduling.step[0].model_name", "e -> e"),
        # A model that does not batch may take [-1, 4] where one that does takes [4].
        (ensemble(step("whole", "X", "Y")), None, None),
        (ensemble(step("a", "X", "mid"), step("whole", "mid", "Y")), None, None),
    ],
)
def test_ensembles_and_their_members(members, config, field, words):
    make(members, {"e/config.pbtxt": config, "e/1/keep": b""})
    found = [each for each in errors(lint(members)) if each.file == str(members / "e/config.pbtxt")]
    alone = errors(lint(members / "e"))
    if field is None:
        assert found == alone == []
        return
    assert any(each.field == field and words in str(each) for each in found), [str(each) for each in found]
    assert [each.field for each in alone] == [each.field for each in found]
    assert all(each.line is not None for each in found)


def test_an_input_that_is_not_mapped(members):
    config = MODEL + 'input { name: "Z" data_type: TYPE_FP32 dims: 1 }'
    make(
        members,
        {
            "two/config.pbtxt": config,
            "two/1/model.onnx": b"",
            "e/config.pbtxt": ensemble(step("two", "X", "Y")),
        },
    )
    assert any("'Z' in model 'two' is not mapped" in each.message for each in lint(members))
    make(members, {"two/config.pbtxt": config.replace('name: "Z"', 'name: "Z" optional: true')})
    assert not any("not mapped" in each.message for each in lint(members))


def test_ensembles_in_a_circle(tmp_path):
    names = "pqr"
    for index, name in enumerate(names):
        make(
            tmp_path,
            {f"{name}/config.pbtxt": ensemble(step(names[(index + 1) % 3], "X", "Y")), f"{name}/1/k": b""},
        )
    found = errors(lint(tmp_path))
    assert {Path(each.file).parent.name for each in found} == set(names)
    assert any("p -> q -> r -> p" in each.message for each in found)


def test_an_ensemble_of_a_broken_ensemble(members):
    make(members, {"inner/config.pbtxt": ensemble(step("none", "X", "Y")), "inner/1/k": b""})
    make(members, {"e/config.pbtxt": ensemble(step("inner", "X", "Y")), "e/1/k": b""})
    found = errors(lint(members))
    assert any("'inner', which cannot be loaded" in each.message for each in found)


def test_a_step_fed_by_two_decoupled_models(tmp_path):
    decoupled = (
        'backend: "python"\nmax_batch_size: 8' + TENSORS + "model_transaction_policy { decoupled: true }"
    )
    both = MODEL + 'input { name: "X2" data_type: TYPE_FP32 dims: [4] }'
    joined = step("join", "m1", "Y").replace(
        "input_map {", 'input_map { key: "X2" value: "m2" } input_map {', 1
    )
    make(
        tmp_path,
        {
            "d1/config.pbtxt": decoupled,
            "d1/1/model.py": "",
            "d2/config.pbtxt": decoupled,
            "d2/1/model.py": "",
            "join/config.pbtxt": both,
            "join/1/model.onnx": b"",
            "e/config.pbtxt": ensemble(step("d1", "X", "m1"), step("d2", "X", "m2"), joined),
            "e/1/k": b"",
        },
    )
    found = errors(lint(tmp_path))
    assert [each.field for each in found] == ["ensemble_scheduling.step[2]"]
    assert "'d1', 'd2'" in found[0].message


def test_an_ensemble_cannot_reach_outside_its_repository(tmp_path):
    make(
        tmp_path,
        {"outside/config.pbtxt": MODEL, "repo/e/config.pbtxt": ensemble(step("../outside", "X", "Y"))},
    )
    assert any("not available" in each.message for each in lint(tmp_path / "repo" / "e"))


def test_unreadable_folders_do_not_stop_the_others(tmp_path):
    make(tmp_path, {"a/config.pbtxt": MODEL, "a/1/model.onnx": b""})
    os.symlink("loop", tmp_path / "loop")
    (tmp_path / "c").mkdir()
    found = lint(tmp_path)
    assert [each.file for each in found] == [str(tmp_path / "c")]


def test_warnings_of_completion_and_refused_model_files(tmp_path):
    make(tmp_path, {"a/config.pbtxt": MODEL.replace("[4]", "[-1]"), "a/1/model.onnx": b""})
    om = ModelSpec("om", spec_of(shape=(2, 4)).inputs, spec_of(shape=(2, 4)).outputs)
    found = lint(tmp_path / "a", read_spec=lambda _: om)
    assert [(each.severity, each.field) for each in found] == [("warning", "max_batch_size")]
    make(tmp_path, {"a/config.pbtxt": MODEL + 'default_model_filename: "../../out.onnx"', "out.onnx": b""})
    found = lint(tmp_path / "a", read_spec=lambda _: om)
    assert [each.field for each in found] == ["default_model_filename"]
    assert lint(tmp_path / "a", allow_paths=[tmp_path]) == ()


def test_versions_that_the_policy_names_and_nobody_has(tmp_path):
    config = MODEL + "version_policy { specific { versions: [1, 5] } }"
    make(tmp_path, {"a/config.pbtxt": config, "a/1/model.onnx": b""})
    found = lint(tmp_path / "a")
    assert [(each.severity, each.field) for each in found] == [
        ("warning", "version_policy.specific.versions[1]")
    ]


def test_data_files_that_are_there_and_are_none(tmp_path):
    warmup = """
    model_warmup { name: "w" batch_size: 1 inputs {
      key: "X" value { data_type: TYPE_FP32 dims: 4 input_data_file: "data" } } }"""
    make(tmp_path / "a", {"config.pbtxt": MODEL + warmup, "1/model.onnx": b"", "warmup/x": b""})
    data = tmp_path / "a/warmup/data"
    os.mkfifo(data)
    assert "'data' is a pipe" in lint(tmp_path / "a")[0].message
    data.unlink()
    data.mkdir()
    assert "'data' is a directory" in lint(tmp_path / "a")[0].message
    data.rmdir()
    data.symlink_to("gone")
    assert "'data' is a link whose target is missing" in lint(tmp_path / "a")[0].message


def test_a_pipe_as_a_label_file_or_a_model_is_not_waited_for(tmp_path):
    config = MODEL.replace('output { name: "Y"', 'output { name: "Y" label_filename: "labels.txt"')
    make(tmp_path / "a", {"config.pbtxt": config, "1/x": b""})
    os.mkfifo(tmp_path / "a/labels.txt")
    os.mkfifo(tmp_path / "a/1/model.onnx")
    found = lint(tmp_path / "a", read_spec=lambda path: onnx_file.read(path).spec)
    assert any("labels.txt is a pipe" in each.message for each in found)
    assert any("model.onnx: it is a pipe" in each.message for each in found)


def test_empty_lines_at_the_end_of_a_label_file_are_no_labels(tmp_path):
    config = MODEL.replace('output { name: "Y"', 'output { name: "Y" label_filename: "labels.txt"')
    make(tmp_path / "a", {"config.pbtxt": config, "1/model.onnx": b"", "labels.txt": "a\nb\nc\nd\n\n \n"})
    assert lint(tmp_path / "a") == ()


def test_a_model_link_without_target_is_told(tmp_path):
    make(tmp_path / "a", {"config.pbtxt": MODEL, "1/x": b""})
    (tmp_path / "a/1/model.onnx").symlink_to("gone.onnx")
    assert lint(tmp_path / "a")[0].got == "a link to gone.onnx, which is not there"


def test_a_folder_of_a_repository_that_must_not_be_read(tmp_path, monkeypatch):
    make(tmp_path, {"a/config.pbtxt": MODEL, "a/1/model.onnx": b"", "b/config.pbtxt": MODEL})
    scandir = os.scandir

    def forbidden(path):
        if os.fspath(path).endswith("/b"):
            raise PermissionError(13, "Permission denied", str(path))
        return scandir(path)

    monkeypatch.setattr(os, "scandir", forbidden)
    (found,) = lint(tmp_path)
    assert str(found) == f"{tmp_path / 'b'}: error: cannot be read: Permission denied"
