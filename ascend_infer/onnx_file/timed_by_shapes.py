"""Whether how long a model runs follows from the shapes of its inputs alone, whatever their values."""

from __future__ import annotations

from pathlib import Path

from ascend_infer.onnx_file.reader import GRAPH_NODE, OnnxFile, field_text, graph_field, open_onnx
from ascend_infer.wire import BYTES, fields

__all__ = ["timed_by_shapes"]

MODEL_FUNCTIONS = 25
NODE_OP_TYPE, NODE_DOMAIN = 4, 7

#: Beyond, a run is not short enough for it to matter.
_MOST_NODES = 64

#: Operators whose work is bounded by the shapes of what goes in. Not here: loops and branches, and whatever makes a
#: tensor as large as a value says (Range, Expand, Tile, Pad, Resize, ConstantOfShape, OneHot ...).
_BOUNDED = """
Abs Acos Acosh Add And ArgMax ArgMin Asin Asinh Atan Atanh AveragePool BatchNormalization BitShift Cast
Ceil Celu Clip Concat Constant Conv Cos Cosh Div Dropout Elu Equal Erf Exp Flatten Floor GRU Gather
GatherElements GatherND Gelu Gemm GlobalAveragePool GlobalMaxPool Greater GreaterOrEqual
GroupNormalization HardSigmoid HardSwish Identity InstanceNormalization IsInf IsNaN LRN LSTM
LayerNormalization LeakyRelu Less LessOrEqual Log LogSoftmax MatMul Max MaxPool Mean Min Mish Mod Mul
Neg Not Or PRelu Pow RNN Reciprocal ReduceL1 ReduceL2 ReduceLogSum ReduceLogSumExp ReduceMax ReduceMean
ReduceMin ReduceProd ReduceSum ReduceSumSquare Relu Reshape Round Selu Shape Sigmoid Sign Sin Sinh Size
Slice Softmax Softplus Softsign Split Sqrt Squeeze Sub Sum Tan Tanh ThresholdedRelu TopK Transpose
Unsqueeze Where Xor
"""
_BOUNDED_ML = """
ArrayFeatureExtractor Binarizer Imputer LinearClassifier LinearRegressor Normalizer SVMClassifier
SVMRegressor Scaler TreeEnsemble TreeEnsembleClassifier TreeEnsembleRegressor
"""
_BY_DOMAIN = {
    "": frozenset(_BOUNDED.split()),
    "ai.onnx": frozenset(_BOUNDED.split()),
    "ai.onnx.ml": frozenset(_BOUNDED_ML.split()),
}


def timed_by_shapes(path: Path, described: OnnxFile) -> bool:
    """Tell whether inputs of the same shapes always take the same time.

    Parameters
    ----------
    path : Path
    described : OnnxFile
        What ``read`` said of it.

    Returns
    -------
    bool
        False where that cannot be told, and for models that are not small.

    Raises
    ------
    ModelFileError
        The file is no longer what was described.
    """
    if described.nodes > _MOST_NODES:
        return False
    with open_onnx(path) as data:
        if any(field.number == MODEL_FUNCTIONS for field in fields(data)):
            return False
        graph = graph_field(data)
        if graph is None:
            return False
        for node in fields(data, graph.start, graph.end):
            if node.number != GRAPH_NODE or node.wire_type != BYTES:
                continue
            kind = domain = ""
            for part in fields(data, node.start, node.end):
                if part.number == NODE_OP_TYPE and part.wire_type == BYTES:
                    kind = field_text(data, part)
                elif part.number == NODE_DOMAIN and part.wire_type == BYTES:
                    domain = field_text(data, part)
            if kind not in _BY_DOMAIN.get(domain, ()):
                return False
    return True
