"""What a .onnx file says of itself, read without onnxruntime, the onnx package or its weights."""

from ascend_infer.onnx_file.reader import OnnxFile, read
from ascend_infer.onnx_file.relax import relax_declared_shapes

__all__ = ["OnnxFile", "read", "relax_declared_shapes"]
