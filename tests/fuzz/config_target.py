"""The parser of config.pbtxt: what it accepts is written back as the same configuration."""

from __future__ import annotations

import json

from ascend_infer.config import from_json, parse_config, to_json, to_pbtxt
from ascend_infer.errors import ConfigError

__all__ = ["feed"]


def feed(data: bytes) -> None:
    try:
        config = parse_config(data.decode("utf-8", "replace")).config
    except ConfigError as error:
        str(error)
        return
    text = to_pbtxt(config)
    # repr, because NaN is not itself.
    assert repr(parse_config(text).config) == repr(config), text
    json.loads(to_json(config))
    assert repr(from_json(to_json(config))) == repr(config), to_json(config)
