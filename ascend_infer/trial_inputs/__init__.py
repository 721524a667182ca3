"""Inputs that are made up for a trial, and that the model can take: types, ranges, token limits, masks."""

from ascend_infer.trial_inputs.maker import InputMaker
from ascend_infer.trial_inputs.value_range import ValueRange

__all__ = ["InputMaker", "ValueRange"]
