"""How much of a thing there may be; apart from what uses it, since a session's options need it at import."""

from __future__ import annotations

__all__ = ["MOST_INSTANCES"]

#: Instances of a model, slots of one and threads of one: more are a slip, and would be opened for minutes.
MOST_INSTANCES = 1024
