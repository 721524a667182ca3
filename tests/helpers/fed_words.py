"""Words of the command line, as tests feed them."""

from __future__ import annotations

from typing import Any

from ascend_infer.cli.feeding.feed import make_feed
from ascend_infer.cli.feeding.options import FeedOptions
from ascend_infer.config import ModelConfig
from ascend_infer.config.model_config import ModelParameter
from ascend_infer.types import DataType, TensorSpec

X = TensorSpec("x", DataType.FP32, (-1, 4))
PICTURE = TensorSpec("images", DataType.FP32, (-1, 3, 8, 12))


def feed(
    word: str | list[str], *tensors: TensorSpec, max_batch_size: int = 0, parameter: str = "", **options: Any
) -> dict[str, Any]:
    words = [word] if isinstance(word, str) else word
    parameters = {"preprocess": ModelParameter(parameter)} if parameter else {}
    config = ModelConfig(name="m", max_batch_size=max_batch_size, parameters=parameters)
    return make_feed(FeedOptions(inputs=words, **options), tensors or (X,), config, "m")
