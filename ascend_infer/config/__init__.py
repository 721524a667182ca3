"""Model configuration: config.pbtxt read, checked, completed from the model file, and written.

Depends on ``types``, ``errors`` and ``diagnostic`` only; touches no device and opens no model file.
"""

from ascend_infer.config.completion import Completed, complete
from ascend_infer.config.model_config import ModelConfig
from ascend_infer.config.parse import ParsedConfig, load_config, parse_config

__all__ = ["Completed", "ModelConfig", "ParsedConfig", "complete", "load_config", "parse_config"]
