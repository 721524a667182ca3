"""What the simulator costs: an empty call, an enqueue, and EfficientNet-Lite0 against onnxruntime's C API alone.

Run it with ``python benchmarks/sim_calls.py [MODEL.onnx]`` (an image classifier, input 1x3x224x224, output 1x1000). It
needs g++, and onnxruntime for the model.
"""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

from ascend_infer import onnx_file
from ascend_infer.simulator import compile_model, library_path, onnxruntime_path

ROOT = Path(__file__).parents[1]
THREADS = 1


def main(words: list[str]) -> int:
    print("$", shlex.join([Path(sys.executable).name, *sys.argv]))
    with tempfile.TemporaryDirectory() as folder:
        library = library_path()
        program = Path(folder, "sim_calls")
        sources = [
            "network_onnx",
            "network_plain",
            "model_info",
            "om_file",
            "dtypes",
            "options",
            "json",
            "clock",
        ]
        command = ["g++", "-std=c++17", "-O2", ROOT / "benchmarks/sim_calls.cpp"]
        command += [ROOT / f"_ext/sim/{name}.cpp" for name in sources]
        command += ["-o", program, library, f"-Wl,-rpath,{library.parent}", "-pthread", "-ldl"]
        subprocess.run(command, check=True)
        arguments = []
        if words:
            onnx, om = Path(words[0]), Path(folder, "model.om")
            spec = onnx_file.read(onnx).spec
            compile_model(onnx, om, input_shapes={spec.inputs[0].name: (1, 3, 224, 224)})
            names = [spec.inputs[0].name, spec.outputs[0].name]
            arguments = [str(onnxruntime_path()), str(onnx), str(om), str(THREADS), *names]
        config = {"threads": THREADS}
        if words:
            config["onnxruntime"] = arguments[0]
        environment = {**os.environ, "ACLSIM_CONFIG": json.dumps(config)}
        environment["LD_LIBRARY_PATH"] = f"{library.parent}:{environment.get('LD_LIBRARY_PATH', '')}"
        return subprocess.run([program, *arguments], env=environment, check=False).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
