"""The same inputs through two models, devices or versions: how far apart, and what that looks like."""

from ascend_infer.comparison.agreement import OutputAgreement
from ascend_infer.comparison.comparison import Comparison
from ascend_infer.comparison.finding import Finding
from ascend_infer.comparison.run import compare
from ascend_infer.comparison.tolerance import Tolerance

__all__ = ["Comparison", "Finding", "OutputAgreement", "Tolerance", "compare"]
