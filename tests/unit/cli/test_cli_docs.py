"""docs/cli.md shows what the commands print: each is run here in the repository that the page describes."""

from __future__ import annotations

import re
import shlex
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
from cli_run import Cli
from onnx import TensorProto, helper
from onnx_models import model_of, value, write
from PIL import Image

from ascend_infer.cli.commands import COMMANDS
from ascend_infer.om import write_simulator_model
from ascend_infer.types import DataType, Gear, ModelSpec, TensorSpec

PAGE = Path(__file__).parents[3] / "docs" / "cli.md"
#: The command and what it printed, standard error first.
SHOWN = re.findall(
    r"^\$ ascend-infer (.*)\n((?:(?!\$ |```).*\n)*)", PAGE.read_text(encoding="utf-8"), re.MULTILINE
)

CONFIG = """\
platform: "onnxruntime_onnx"
max_batch_size: 8
input [ { name: "images" data_type: TYPE_FP32 dims: [3, 8, 8] } ]
output [ { name: "prob" data_type: TYPE_FP32 dims: [3] label_filename: "labels.txt" } ]
dynamic_batching { preferred_batch_size: [4, 8] max_queue_delay_microseconds: 100 }
parameters { key: "preprocess" value { string_value: "unit" } }
"""
MISTAKEN = """\
platform: "onnxruntime_onnx"
max_batch_sise: 8
input [ { name: "images" data_type: TYPE_FLOAT dims: [3, 8, 8] } ]
output [ { name: "prob" data_type: TYPE_FP32 dims: [3] } ]
"""


def build(root: Path) -> None:
    """Lay out the page's repository and files below ``root``."""
    nodes = [
        helper.make_node("GlobalAveragePool", ["images"], ["means"]),
        helper.make_node("Flatten", ["means"], ["prob"]),
    ]
    tensors = value("images", TensorProto.FLOAT, ["n", 3, 8, 8]), value("prob", TensorProto.FLOAT, ["n", 3])
    model = model_of(nodes, tensors[:1], tensors[1:])
    repository = root / "model_repository"
    for name, config in (("colours", CONFIG), ("mistaken", MISTAKEN)):
        write(model, repository / name / "1" / "model.onnx")
        (repository / name / "config.pbtxt").write_text(config)
    (repository / "colours" / "labels.txt").write_text("red\ngreen\nblue\n")
    write(model, root / "colours.onnx")
    spec = ModelSpec(
        "onnx",
        (TensorSpec("images", DataType.FP32, (-1, 3, 8, 8)),),
        (TensorSpec("prob", DataType.FP32, (-1, 3)),),
        gears=tuple(Gear("batch", (size,)) for size in (1, 2, 4, 8)),
    )
    write_simulator_model(
        root / "colours.om", onnx=model.SerializeToString(), spec=spec, name="colours", soc="Ascend310P3"
    )
    pixels = np.zeros((16, 16, 3), np.uint8)
    pixels[..., 1], pixels[..., 2] = 204, 51
    Image.fromarray(pixels).save(root / "leaf.png")
    np.save(root / "batch.npy", np.zeros((2, 3, 8, 8), np.float32))


def comparable(text: str) -> str:
    """Leave out what differs between machines and releases of the packages that make the files."""
    text = re.sub(r"[\d.]+ (B|KiB|MiB|ms)\b", r"N \1", text)
    text = re.sub(r"\d[\d.e+]*(%| rows/s| s;| workers,| instances)", r"N\1", text)
    kept = [line for line in text.splitlines() if "runs here" not in line]
    return "\n".join(re.sub(r" {2,}", "  ", line) for line in kept).strip()


def test_the_page_shows_every_command() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert [name for name in COMMANDS if f"## {name}" not in text] == []
    assert len(SHOWN) >= 8


@pytest.mark.parametrize(("line", "shown"), SHOWN)
def test_what_is_shown_is_what_is_printed(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, line: str, shown: str
) -> None:
    words = shlex.split(line)
    if words[0] in ("infer", "score") and find_spec("onnxruntime") is None:
        pytest.skip("onnxruntime is not installed")
    if {"sim", "simulate"} & set(words) and find_spec("ascend_infer._native") is None:
        pytest.skip("the compiled parts are not built")
    monkeypatch.setenv("ASCEND_INFER_DEVICE", "cpu")
    build(tmp_path)
    monkeypatch.chdir(tmp_path)
    done = cli(*words)
    assert comparable(done.err + done.out) == comparable(shown)
