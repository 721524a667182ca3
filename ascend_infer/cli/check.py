"""``ascend-infer check``: everything that is wrong in a repository or model directory, at once."""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from ascend_infer.cli.argument_types import existing_place, path_text

__all__ = ["HELP", "NAME", "add_arguments", "run"]

NAME = "check"
HELP = "find every mistake in a repository's or model's config.pbtxt and files, without loading a model"

_EXAMPLES = """\
examples:
  ascend-infer check model_repository
  ascend-infer check model_repository/resnet50 --strict
  ascend-infer check model_repository --json | jq '.findings[] | .file'
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.description = (
        "Checks each config.pbtxt against Triton's rules and against its .om and .onnx files. A finding is one "
        "line, file:line:column: error: what and how to mend it. Exit code: 0 no errors, 1 errors (with --strict "
        "also warnings), 2 nothing to check."
    )
    parser.epilog = _EXAMPLES
    parser.add_argument("path", type=path_text, metavar="PATH", help="model repository or model directory")
    parser.add_argument("--json", action="store_true", help="print the findings as JSON")
    parser.add_argument("--strict", action="store_true", help="let warnings fail the check too")
    parser.add_argument(
        "--allow-path",
        action="append",
        default=[],
        type=existing_place,
        metavar="DIR",
        help="a folder outside a model directory that its configuration may name files in",
    )


def run(args: argparse.Namespace) -> int:
    """Check, print, return the exit code."""
    from dataclasses import asdict, replace

    from ascend_infer.cli.inspection.described_file import read_spec
    from ascend_infer.cli.inspection.repository_listing import model_folders
    from ascend_infer.cli.printing import print_json, printable
    from ascend_infer.errors import ModelFileError
    from ascend_infer.lint import lint
    from ascend_infer.types import ModelSpec

    path = Path(args.path)

    def read(file: Path) -> ModelSpec:
        try:
            return read_spec(file)
        except ModelFileError as error:
            # The finding names the file already.
            raise ModelFileError(str(error).removeprefix(f"{file}: "), path=str(file)) from error

    found = lint(path, read_spec=read, allow_paths=args.allow_path)
    findings = [replace(finding, file=_as_given(finding.file, path)) for finding in found]
    models = len(model_folders(path)) or 1
    errors = sum(finding.severity == "error" for finding in findings)
    warnings = len(findings) - errors
    if args.json:
        print_json(
            {
                "path": str(path),
                "models": models,
                "errors": errors,
                "warnings": warnings,
                "findings": [asdict(finding) for finding in findings],
            }
        )
    else:
        for finding in findings:
            print(printable(finding, lines=True))
        print(", ".join((_count(models, "model"), _count(errors, "error"), _count(warnings, "warning"))))
    return 1 if errors or (args.strict and warnings) else 0


def _as_given(file: str | None, path: Path) -> str | None:
    """Return a file's path below ``path`` as the user began it, which terminals and editors can open."""
    if file is None or path.is_absolute() or not os.path.isabs(file):
        return file
    root = os.path.abspath(path)
    inside = file == root or file.startswith(root + os.sep)
    return os.path.normpath(path / os.path.relpath(file, root)) if inside else file


def _count(number: int, word: str) -> str:
    return f"{number} {word}" if number == 1 else f"{number} {word}s"
