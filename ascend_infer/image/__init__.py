"""Pictures in, batches out, labels back: what stands before and after an image model.

Pillow and numpy do the work; nothing here knows a device, a session or a model. Every function may be called
from any number of threads at once, and changes no setting of Pillow's or of the process.
"""

from ascend_infer.image.batch import Prepared, prepare, prepare_many
from ascend_infer.image.placement import Placement
from ascend_infer.image.presets import PRESETS, preset
from ascend_infer.image.reading import MAX_PIXELS, decode, load
from ascend_infer.image.recipe import Preset
from ascend_infer.image.scores import Label, top_k

__all__ = [
    "MAX_PIXELS",
    "PRESETS",
    "Label",
    "Placement",
    "Prepared",
    "Preset",
    "decode",
    "load",
    "prepare",
    "prepare_many",
    "preset",
    "top_k",
]
