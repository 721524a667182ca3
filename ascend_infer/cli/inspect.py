"""``ascend-infer inspect``: what a model is, what to feed it, what comes out, where it runs."""

from __future__ import annotations

import argparse
from pathlib import Path

from ascend_infer.cli.argument_types import existing_place, path_text, version_text

__all__ = ["HELP", "NAME", "add_arguments", "run"]

NAME = "inspect"
HELP = "show what a model is: what to feed it, what comes out, where it runs, what is odd about it"

_EXAMPLES = """\
examples:
  ascend-infer inspect model_repository                   all models, one line each
  ascend-infer inspect model_repository/resnet50          one model, its highest version
  ascend-infer inspect model.om                           a bare file; needs neither CANN nor an NPU
  ascend-infer inspect model.onnx --config > config.pbtxt the configuration that serves it
  ascend-infer inspect model.om --json | jq .inputs
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.description = (
        "Reads a model's description without loading it: no NPU, CANN or onnxruntime is needed, and no "
        "weight is read."
    )
    parser.epilog = _EXAMPLES
    parser.add_argument(
        "path",
        type=path_text,
        metavar="PATH",
        help="model repository, model directory, version directory, .onnx or .om file",
    )
    parser.add_argument(
        "--config", action="store_true", help="print the config.pbtxt that serves the model, nothing left out"
    )
    parser.add_argument(
        "--json", action="store_true", help="print JSON (with --config: Triton's JSON form of it)"
    )
    parser.add_argument(
        "--version",
        type=version_text,
        metavar="N",
        help="the version to look at; by default the one that serves",
    )
    parser.add_argument(
        "--allow-path",
        action="append",
        default=[],
        type=existing_place,
        metavar="DIR",
        help="a folder outside the model directory that the configuration may name files in",
    )


def run(args: argparse.Namespace) -> int:
    """Read, print, return the exit code."""
    from ascend_infer.cli.inspection.report import make_report
    from ascend_infer.cli.inspection.repository_listing import list_repository, listing_text, model_folders
    from ascend_infer.cli.inspection.served_config import config_text, served_config
    from ascend_infer.cli.inspection.subject import open_subject
    from ascend_infer.cli.inspection.text import report_text
    from ascend_infer.cli.printing import print_json
    from ascend_infer.config import to_dict

    path = Path(args.path)
    folders = [] if args.config or args.version is not None else model_folders(path)
    if folders:
        models = list_repository(path, folders, args.allow_path)
        if args.json:
            listed = [model.to_json() for model in models]
            print_json({"kind": "repository", "path": str(path), "models": listed})
        else:
            print(listing_text(path, models), end="")
        return 0
    subject = open_subject(path, args.version, args.allow_path)
    if args.config:
        config = served_config(subject)
        if args.json:
            print_json(to_dict(config))
        else:
            print(config_text(subject, config), end="")
        return 0
    report = make_report(subject, args.version, args.allow_path)
    if args.json:
        print_json(report.to_json())
    else:
        print(report_text(report), end="")
    return 0
