"""Gears: which of a model's compiled sizes a request runs in, what is padded for it and cut off again.

``GearChooser(sizes_of_om(om.read("model.om"), batched=True), parameters)`` chooses and learns;
``padding.py`` (numpy) carries a choice out. The rest is pure functions of values.
"""

from ascend_infer.gears.batch_costs import batch_costs
from ascend_infer.gears.choice import GearChoice, GearLaunch
from ascend_infer.gears.chooser import GearChooser
from ascend_infer.gears.cost import Costs, CostTable
from ascend_infer.gears.crop import AxisCrop
from ascend_infer.gears.explanation import GearExplanation, explain_gear
from ascend_infer.gears.of_om import sizes_of_om
from ascend_infer.gears.pad_rules import CropRule, PadRules
from ascend_infer.gears.policy import choose_gear
from ascend_infer.gears.sizes import CompiledSize, ModelSizes, SizedInput, SizedOutput

__all__ = [
    "AxisCrop",
    "CompiledSize",
    "CostTable",
    "Costs",
    "CropRule",
    "GearChoice",
    "GearChooser",
    "GearExplanation",
    "GearLaunch",
    "ModelSizes",
    "PadRules",
    "SizedInput",
    "SizedOutput",
    "batch_costs",
    "choose_gear",
    "explain_gear",
    "sizes_of_om",
]
