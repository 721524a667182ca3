"""Opening model directories: what is one, which version is meant, which files belong to it."""

import os
from pathlib import Path

import pytest
from model_files import make

from ascend_infer.errors import ConfigError, ModelNotFoundError
from ascend_infer.model_directory import ModelDirectory, examine_directory

CONFIG = """
platform: "ge"
max_batch_size: 8
input [ { name: "images" data_type: TYPE_FP32 dims: [3, 8, 8] } ]
output [ { name: "prob" data_type: TYPE_FP32 dims: [2] label_filename: "labels.txt" } ]
"""


@pytest.fixture
def resnet(tmp_path):
    files = {
        "config.pbtxt": CONFIG,
        "1/model.om": b"",
        "2/model.om": b"",
        "10/model.om": b"",
        "10/model.onnx": b"",
        "labels.txt": "cat\n\n",
    }
    return make(tmp_path / "resnet", files)


def test_everything_of_an_ordinary_directory(resnet):
    directory = ModelDirectory.open(resnet)
    assert (directory.name, directory.path) == ("resnet", resnet)
    assert directory.config.name == "resnet"
    assert directory.config.backend == "npu_ge"
    assert directory.versions == (1, 2, 10)
    assert directory.selected == (10,)
    assert directory.pinned is None
    assert directory.warnings == ()
    assert directory.parsed.position("max_batch_size") == (3, 17)
    assert directory.parsed.file == str(resnet / "config.pbtxt")
    assert directory.labels("prob") == ["cat", ""]
    with pytest.raises(LookupError):
        directory.labels("images")


def test_versions_are_the_highest_or_asked_for(resnet):
    directory = ModelDirectory.open(resnet)
    assert directory.resolve_version() == 10
    assert (
        directory.resolve_version(-1)
        == directory.resolve_version("")
        == directory.resolve_version("-1")
        == 10
    )
    assert directory.resolve_version(1) == directory.resolve_version("1") == 1
    for missing in (3, "3", "01", "x", "1.5", "../1", -2):
        with pytest.raises(ModelNotFoundError, match="1, 2, 10"):
            directory.resolve_version(missing)


@pytest.mark.parametrize(
    ("policy", "selected"),
    [
        ("latest { num_versions: 2 }", (2, 10)),
        ("latest { num_versions: 9 }", (1, 2, 10)),
        ("all { }", (1, 2, 10)),
        ("specific { versions: [2, 1, 7] }", (1, 2)),
        ("specific { versions: [7] }", ()),
    ],
)
def test_version_policies(resnet, policy, selected):
    make(resnet, {"config.pbtxt": CONFIG + f"version_policy {{ {policy} }}"})
    directory = ModelDirectory.open(resnet)
    assert directory.selected == selected
    if not selected:
        with pytest.raises(ModelNotFoundError, match="1, 2, 10"):
            directory.resolve_version()


def test_a_version_folder_pins_its_version(resnet, monkeypatch):
    directory = ModelDirectory.open(resnet / "2")
    assert (directory.path, directory.name, directory.pinned) == (resnet, "resnet", 2)
    assert directory.resolve_version() == 2
    assert directory.resolve_version(1) == 1
    monkeypatch.chdir(resnet / "2")
    for path in (".", "../2", ""):
        assert ModelDirectory.open(path).resolve_version() == 2
    assert ModelDirectory.open("..").name == "resnet"


def test_a_version_folder_without_any_configuration(tmp_path):
    make(tmp_path, {"net/3/model.onnx": b""})
    directory = ModelDirectory.open(tmp_path / "net" / "3")
    assert (directory.name, directory.pinned, directory.config.backend) == ("net", 3, "onnxruntime")


def test_a_model_may_be_named_like_a_version(tmp_path):
    make(tmp_path, {"7/1/model.onnx": b""})
    assert ModelDirectory.open(tmp_path / "7").name == "7"
    assert ModelDirectory.open(tmp_path / "7").pinned is None


def test_odd_folders_are_warned_about_and_not_loaded(tmp_path):
    make(
        tmp_path / "m",
        {
            f"{name}/model.onnx": b""
            for name in ("1", "-2", "1.5", "7x", "05", "v3", "warmup", "configs", "assets")
        },
    )
    directory = ModelDirectory.open(tmp_path / "m")
    assert directory.versions == (1,)
    assert sorted(str(each.got) for each in directory.warnings) == ["'-2'", "'05'", "'1.5'", "'7x'", "'v3'"]


def test_version_zero_and_huge_numbers(tmp_path):
    make(tmp_path / "m", {"0/model.onnx": b"", "99999999999999999999/model.onnx": b""})
    directory = ModelDirectory.open(tmp_path / "m")
    assert directory.versions == (0,)
    assert len(directory.warnings) == 1


@pytest.mark.parametrize(
    ("names", "backend"),
    [
        (["model.om", "model.onnx"], "acl"),
        (["model.onnx", "model.py"], "onnxruntime"),
        (["model.pt"], "pytorch"),
        (["model.plan", "model.onnx"], "tensorrt"),
        (["model.xml"], "openvino"),
    ],
)
def test_the_backend_is_told_from_the_files(tmp_path, names, backend):
    directory = ModelDirectory.open(make(tmp_path / "m", {f"1/{name}": b"" for name in names}))
    assert directory.config.backend == backend
    assert directory.model_file(1).exists


def test_files_of_unknown_names_are_explained(tmp_path):
    make(tmp_path / "m", {"1/resnet.onnx": b""})
    with pytest.raises(ConfigError, match="default_model_filename") as caught:
        ModelDirectory.open(tmp_path / "m")
    assert "resnet.onnx" in str(caught.value)
    make(tmp_path / "m", {"config.pbtxt": 'default_model_filename: "resnet.onnx"'})
    directory = ModelDirectory.open(tmp_path / "m")
    assert directory.config.backend == "onnxruntime"
    assert directory.model_file(1).exists


def test_model_files_and_their_twins(resnet):
    directory = ModelDirectory.open(resnet)
    assert directory.model_file(10) == directory.model_file(10, ".om")
    assert directory.model_file(10, ".onnx").path == resnet / "10" / "model.onnx"
    assert directory.model_file(10, ".onnx").exists
    assert not directory.model_file(1, ".onnx").exists
    assert directory.model_file(1, ".onnx").path == resnet / "1" / "model.onnx"


def test_twins_of_a_named_file(tmp_path):
    make(
        tmp_path / "m",
        {"config.pbtxt": 'default_model_filename: "net.om"', "1/net.om": b"", "1/model.onnx": b""},
    )
    directory = ModelDirectory.open(tmp_path / "m")
    assert directory.config.backend == "acl"
    assert directory.model_file(1, ".onnx").path.name == "model.onnx"
    make(tmp_path / "m", {"1/net.onnx": b""})
    assert directory.model_file(1, ".onnx").path.name == "net.onnx"


def test_the_ge_backend_takes_the_first_onnx_file(tmp_path):
    make(tmp_path / "m", {"config.pbtxt": 'backend: "npu_ge"', "1/b.onnx": b"", "1/a.onnx": b""})
    assert ModelDirectory.open(tmp_path / "m").model_file(1, ".onnx").path.name == "a.onnx"
    make(tmp_path / "n", {"config.pbtxt": 'backend: "onnxruntime"', "1/a.onnx": b""})
    assert not ModelDirectory.open(tmp_path / "n").model_file(1).exists


def test_names_must_agree(resnet):
    make(resnet, {"config.pbtxt": CONFIG + 'name: "other"'})
    for path in (resnet, resnet / "2"):
        with pytest.raises(ConfigError) as caught:
            ModelDirectory.open(path)
        assert caught.value.field == "name"
        assert (caught.value.line, caught.value.column) == (6, 7)


def test_what_is_no_model_is_named(tmp_path):
    with pytest.raises(ModelNotFoundError, match="does not exist"):
        ModelDirectory.open(tmp_path / "nothing" / "at" / "all")
    (tmp_path / "empty").mkdir()
    with pytest.raises(ModelNotFoundError, match="empty directory"):
        ModelDirectory.open(tmp_path / "empty")
    make(tmp_path, {"docs/readme.txt": "x", "loose/model.onnx": b"", "file.om": b""})
    with pytest.raises(ModelNotFoundError, match=r"readme\.txt"):
        ModelDirectory.open(tmp_path / "docs")
    with pytest.raises(ModelNotFoundError, match="no version folder; move model.onnx to"):
        ModelDirectory.open(tmp_path / "loose")
    with pytest.raises(ModelNotFoundError, match="is a file"):
        ModelDirectory.open(tmp_path / "file.om")
    with pytest.raises(ModelNotFoundError, match="cannot be read"):
        ModelDirectory.open("a\0b")


def test_near_misses_are_suggested(resnet):
    with pytest.raises(ModelNotFoundError, match=r"did you mean .*resnet\?"):
        ModelDirectory.open(resnet.with_name("resnet5"))
    with pytest.raises(ModelNotFoundError, match="1, 2, 10"):
        ModelDirectory.open(resnet / "4")
    with pytest.raises(ModelNotFoundError, match=f"its model directory is {resnet}"):
        ModelDirectory.open(resnet / "config.pbtxt")
    with pytest.raises(ModelNotFoundError, match=f"its model directory is {resnet}"):
        ModelDirectory.open(resnet / "1" / "model.om")


def test_a_repository_names_its_models(resnet):
    make(resnet.parent, {"bert/config.pbtxt": 'backend: "python"', "notes/readme": ""})
    with pytest.raises(
        ModelNotFoundError, match=r"repository of 2 models.*bert, resnet; did you mean .*bert\?"
    ):
        ModelDirectory.open(resnet.parent)


def test_a_configuration_without_versions_opens_and_says_so_when_one_is_needed(tmp_path):
    make(tmp_path / "m", {"config.pbtxt": 'backend: "onnxruntime"'})
    directory = ModelDirectory.open(tmp_path / "m")
    assert directory.versions == directory.selected == ()
    with pytest.raises(ModelNotFoundError, match="none"):
        directory.resolve_version()


def test_an_ensemble_needs_no_version_folder(tmp_path):
    text = """
    platform: "ensemble"
    input { name: "x" data_type: TYPE_FP32 dims: 4 } output { name: "y" data_type: TYPE_FP32 dims: 4 }
    ensemble_scheduling { step {
      model_name: "a" model_version: -1 input_map { key: "x" value: "x" } output_map { key: "y" value: "y" } } }
    """
    make(tmp_path / "e", {"config.pbtxt": text})
    directory = ModelDirectory.open(tmp_path / "e")
    assert directory.resolve_version() == 1
    assert len(directory.warnings) == 1


def test_a_python_model_states_its_tensors_or_completes_them(tmp_path):
    make(tmp_path / "m", {"1/model.py": "class TritonPythonModel: pass"})
    with pytest.raises(ConfigError, match="states neither inputs nor outputs"):
        ModelDirectory.open(tmp_path / "m")
    make(
        tmp_path / "m",
        {"config.pbtxt": 'input { name: "x" dims: 3 } output { name: "y" data_type: TYPE_FP32 dims: 3 }'},
    )
    with pytest.raises(ConfigError, match="must specify 'data_type'"):
        ModelDirectory.open(tmp_path / "m")
    make(tmp_path / "m", {"1/model.py": "def auto_complete_config(c): return c"})
    assert ModelDirectory.open(tmp_path / "m").config.backend == "python"


def test_the_configuration_is_a_directory_binary_or_misspelt(tmp_path):
    (tmp_path / "m" / "config.pbtxt").mkdir(parents=True)
    with pytest.raises(ConfigError, match="is a directory"):
        ModelDirectory.open(tmp_path / "m")
    make(tmp_path / "n", {"config.pbtxt": b"\0\1", "1/model.onnx": b""})
    with pytest.raises(ConfigError, match="binary"):
        ModelDirectory.open(tmp_path / "n")
    make(tmp_path / "o", {"config.pbtext": "", "1/model.onnx": b""})
    warning = ModelDirectory.open(tmp_path / "o").warnings[0]
    assert warning.hint == "rename it to config.pbtxt"


def test_every_error_of_a_configuration_comes_with_the_exception(tmp_path):
    make(tmp_path / "m", {"config.pbtxt": "name = a\nmax_batchsize: 1", "1/model.onnx": b""})
    with pytest.raises(ConfigError) as caught:
        ModelDirectory.open(tmp_path / "m")
    assert [each.line for each in caught.value.diagnostics] == [1, 1, 2]
    directory, found = examine_directory(tmp_path / "m")
    assert directory is None
    assert len(found) == 3


def test_missing_labels_name_the_field(resnet):
    (resnet / "labels.txt").unlink()
    with pytest.raises(ConfigError) as caught:
        ModelDirectory.open(resnet).labels("prob")
    assert (caught.value.field, caught.value.line) == ("output[0].label_filename", 5)


def test_nothing_stays_open(resnet):
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(5):
        ModelDirectory.open(resnet).labels("prob")
        with pytest.raises(ModelNotFoundError):
            ModelDirectory.open(resnet.parent)
    assert len(os.listdir("/proc/self/fd")) == before


@pytest.mark.parametrize("named", ["nosuchfile", ".", "./", "model.plan", "model.om", "a" * 300])
def test_a_named_model_file_of_another_kind_has_no_twin_to_stand_in(tmp_path, named):
    config = f'platform: "onnxruntime_onnx"\ndefault_model_filename: "{named}"\n'
    directory = ModelDirectory.open(make(tmp_path / "m", {"config.pbtxt": config, "1/model.onnx": b""}))
    assert not any(directory.model_file(1, suffix).exists for suffix in ("", ".om", ".onnx"))


def test_a_named_model_file_of_its_kind_may_be_run_from_its_twin(tmp_path):
    for platform, named in (("ge", "net.om"), ("tensorrt_plan", "model.plan")):
        config = f'platform: "{platform}"\ndefault_model_filename: "{named}"\n'
        directory = ModelDirectory.open(
            make(tmp_path / platform, {"config.pbtxt": config, "1/model.onnx": b""})
        )
        assert directory.model_file(1, ".onnx").exists


def test_what_stands_where_a_version_folder_should_is_named(tmp_path):
    root = make(tmp_path / "m", {"config.pbtxt": "max_batch_size: 0\n", "1": b""})
    (root / "2").symlink_to("2")
    (root / "3").symlink_to("nowhere")
    os.mkfifo(root / "4")
    with pytest.raises(ConfigError) as refused:
        ModelDirectory.open(root)
    for words in (
        "'1' is a file, no version folder",
        "'2' is a link that leads back to itself",
        "'3' is a link whose target is missing",
        "'4' is a pipe",
    ):
        assert words in str(refused.value)
    assert "backend cannot be told" not in str(refused.value)
    make(root, {"5/model.onnx": b""})
    assert len(ModelDirectory.open(root).warnings) == 4


def test_without_a_configuration_too(tmp_path):
    with pytest.raises(ModelNotFoundError, match=r"got 1 \(a file\)"):
        ModelDirectory.open(make(tmp_path / "m", {"1": b""}))


def test_a_version_folder_that_cannot_be_read(tmp_path, monkeypatch):
    root = make(tmp_path / "m", {"1/model.onnx": b""})
    listdir = os.listdir

    def forbidden(path):
        if Path(path).name == "1":
            raise PermissionError(13, "Permission denied", str(path))
        return listdir(path)

    monkeypatch.setattr(os, "listdir", forbidden)
    with pytest.raises(ConfigError, match="version folder 1 cannot be read: Permission denied") as refused:
        ModelDirectory.open(root)
    assert "backend cannot be told" not in str(refused.value)


def test_a_version_that_no_number_holds(tmp_path):
    root = make(tmp_path / "m", {"99999999999999999999/model.onnx": b"", "1/model.onnx": b""})
    assert "at most 9223372036854775807" in str(ModelDirectory.open(root).warnings[0])


def test_a_pipe_is_no_directory(tmp_path):
    os.mkfifo(tmp_path / "m")
    with pytest.raises(ModelNotFoundError, match="m is a pipe, not a model directory"):
        ModelDirectory.open(tmp_path / "m")
