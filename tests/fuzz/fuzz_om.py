"""Coverage-guided fuzzing of the .om reader with atheris; the ordinary tests do not run this.

    pip install atheris
    python tests/fuzz/fuzz_om.py --seeds corpus        # write one file of each kind as a start
    python tests/fuzz/fuzz_om.py corpus -max_len=65536 -max_total_time=600

Any exception but ModelFileError is a finding, and so is an input that takes longer than libFuzzer's -timeout.
"""

from __future__ import annotations

import importlib.util
import io
import json
import sys
from pathlib import Path


def write_seeds(folder: Path) -> None:
    """Write a small file of each kind that the reader knows."""
    from ascend_infer import om
    from ascend_infer.types import DataType, Gear, TensorSpec

    place = Path(__file__).parents[1] / "unit" / "om" / "om_bytes.py"
    spec = importlib.util.spec_from_file_location("om_bytes", place)
    assert spec is not None
    assert spec.loader is not None
    builder = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(builder)
    folder.mkdir(parents=True, exist_ok=True)
    for name, make in builder.ALL.items():
        (folder / name).write_bytes(make())
    stream = io.BytesIO()
    om.write_simulator_model(
        stream,
        onnx=b"\x08\x08",
        inputs=[TensorSpec("x", DataType.FP32, (-1, 3, 8, 8))],
        outputs=[TensorSpec("y", DataType.FP32, (-1, 5))],
        gears=[Gear("batch", (1,)), Gear("batch", (4,))],
        aipp={"x": om.OmAipp(input_format=1)},
    )
    (folder / "simulator").write_bytes(stream.getvalue())


def with_true_length(data: bytes) -> bytes:
    """Put the length that the file really has into its header, so that inputs get past the first check."""
    if data[:4] != b"IMOD" or len(data) < 256:
        return data
    out = bytearray(data)
    body = len(data) - 256
    if any(out[0xB8:0xC0]):
        out[0xB8:0xC0] = body.to_bytes(8, "little")
    elif any(out[0x4C:0x50]):
        out[0x4C:0x50] = body.to_bytes(4, "little")
    return bytes(out)


def read_all(data: bytes) -> None:
    """Read one input and everything that can be asked of the model."""
    from ascend_infer import om
    from ascend_infer.errors import ModelFileError

    for case in (data, with_true_length(data)):
        try:
            model = om.read_bytes(case)
            json.dumps(model.to_json())
            model._repr_html_()
            model.spec()
        except ModelFileError:
            pass


def main() -> None:
    if sys.argv[1:2] == ["--seeds"]:
        write_seeds(Path(sys.argv[2]))
        return
    import atheris

    with atheris.instrument_imports(include=["ascend_infer"]):
        import ascend_infer.om  # noqa: F401
    atheris.Setup(sys.argv, read_all)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
