"""What a .onnx file says of itself, read without onnxruntime, the onnx package or its weights."""

from ascend_infer.onnx_file.reader import OnnxFile, read
from ascend_infer.onnx_file.relax import relax_declared_shapes
from ascend_infer.onnx_file.timed_by_shapes import timed_by_shapes
from ascend_infer.onnx_file.value_limits import ValueLimit, input_limits

__all__ = ["OnnxFile", "ValueLimit", "input_limits", "read", "relax_declared_shapes", "timed_by_shapes"]
