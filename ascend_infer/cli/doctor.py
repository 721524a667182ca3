"""``ascend-infer doctor``: what is wrong with this machine, and what to type."""

from __future__ import annotations

import argparse

from ascend_infer.cli.argument_types import path_text

__all__ = ["HELP", "NAME", "add_arguments", "run"]

NAME = "doctor"
HELP = "find out what is wrong with this machine's NPU, CANN or Python packages, and what to type"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    from ascend_infer.doctor.diagnosis import TIME_LIMIT

    parser.description = (
        "Checks device nodes, driver, CANN, environment, libraries and packages; with MODEL also whether "
        "that model would load. Exit code: 0 models run here (having no NPU is no problem), 1 something must "
        "be mended first, 2 wrong arguments."
    )
    parser.add_argument(
        "model", nargs="?", type=path_text, metavar="MODEL", help=".om, .onnx, model directory or repository"
    )
    parser.add_argument("--json", action="store_true", help="print the report as JSON")
    parser.add_argument("-v", "--verbose", action="store_true", help="show the evidence of every check")
    parser.add_argument(
        "--device",
        metavar="DEVICE",
        help="what you want: auto, npu, npu:N (then having none is a problem), cpu, sim; default "
        "ASCEND_INFER_DEVICE, else auto",
    )
    parser.add_argument(
        "--time-limit",
        type=float,
        default=TIME_LIMIT,
        metavar="SECONDS",
        help=f"for all child processes together (default {TIME_LIMIT:g})",
    )


def run(args: argparse.Namespace) -> int:
    """Examine, print, return the exit code."""
    from ascend_infer.cli.printing import print_json
    from ascend_infer.doctor import examine

    report = examine(args.model, device=args.device, time_limit=args.time_limit)
    if args.json:
        print_json(report.to_dict())
    else:
        print(report.to_text(verbose=args.verbose), end="")
    return report.exit_code
