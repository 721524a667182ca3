"""Run trained models on Huawei Ascend NPUs, or without one, in your own process.

Importing this touches no device, loads no extension and starts no thread; what needs more is imported at
its first use.
"""

from ascend_infer._version import __version__

__all__ = ["__version__"]
