"""Making .om models of ONNX models with CANN's compiler ``atc``, once each, into a cache.

``compile_onnx`` does it; ``plan_compile`` says what it would do.
"""

from ascend_infer.compile.compiler import TIME_LIMIT, compile_onnx
from ascend_infer.compile.plan import CompilePlan, plan_compile
from ascend_infer.compile.soc import soc_of_this_machine

__all__ = ["TIME_LIMIT", "CompilePlan", "compile_onnx", "plan_compile", "soc_of_this_machine"]
