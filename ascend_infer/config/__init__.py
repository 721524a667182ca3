"""Model configuration: config.pbtxt read, checked, completed from the model file, and written.

Depends on ``types``, ``errors`` and ``diagnostic`` only; touches no device and opens no model file.
"""

from ascend_infer.config.completion import Completed, complete
from ascend_infer.config.json_form import from_json, to_dict, to_json
from ascend_infer.config.model_config import ModelConfig
from ascend_infer.config.normalise import normalise
from ascend_infer.config.parse import ParsedConfig, load_config, parse_config
from ascend_infer.config.pbtxt import to_pbtxt

__all__ = [
    "Completed",
    "ModelConfig",
    "ParsedConfig",
    "complete",
    "from_json",
    "load_config",
    "normalise",
    "parse_config",
    "to_dict",
    "to_json",
    "to_pbtxt",
]
