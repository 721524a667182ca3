"""``ascend-infer compile``: make an .om model of an ONNX model for a chip."""

from __future__ import annotations

import argparse
import logging
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from ascend_infer.cli.argument_types import existing_place, path_text, version_text

if TYPE_CHECKING:
    from ascend_infer.doctor.environment import Environment

__all__ = ["HELP", "NAME", "add_arguments", "run"]

NAME = "compile"
HELP = "make an .om model of an ONNX model for a chip, with CANN's atc"

_EXAMPLES = """\
examples:
  ascend-infer compile model_repository/resnet50 --soc Ascend310P3
  ascend-infer compile model.onnx --soc Ascend910B3 -o model.om --option precision_mode_v2=origin
  ascend-infer compile model_repository/ocr --soc Ascend310P3 --dry-run
  ascend-infer compile model.onnx --option dynamic_dims="1,160;1,320" -o model.om
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    from ascend_infer.compile.compiler import TIME_LIMIT

    parser.description = (
        "Builds atc's command line from config.pbtxt (shapes, batch gears, its parameters atc.<option>) and runs it, "
        "unless the same was compiled before: results are kept below ASCEND_INFER_CACHE (default "
        "~/.cache/ascend_infer). Prints the model's path. Exit code: 0 done, 2 wrong arguments or the compiler's "
        "errors."
    )
    parser.epilog = _EXAMPLES
    parser.add_argument(
        "model", type=path_text, metavar="MODEL", help="model directory, version directory or .onnx file"
    )
    parser.add_argument(
        "--soc", metavar="NAME", help="the chip, such as Ascend310P3; by default this machine's"
    )
    parser.add_argument(
        "--version",
        type=version_text,
        metavar="N",
        help="version of a model directory; by default the one served",
    )
    parser.add_argument("--dry-run", action="store_true", help="print the command, run nothing")
    parser.add_argument("-o", "--output", metavar="FILE", help="write a copy of the model here")
    parser.add_argument(
        "--option", action="append", default=[], metavar="NAME=VALUE",
        help="an option of atc; goes before the configuration's, an empty value takes that away",
    )  # fmt: skip
    parser.add_argument(
        "--atc", metavar="FILE", help="the compiler; by default on the PATH, else in CANN's folders"
    )
    parser.add_argument("--cache-dir", metavar="DIR", help="where results are kept")
    parser.add_argument(
        "--time-limit", type=float, default=TIME_LIMIT, metavar="SECONDS",
        help=f"for the compiler (default {TIME_LIMIT:g})",
    )  # fmt: skip
    parser.add_argument(
        "--allow-path", action="append", default=[], type=existing_place, metavar="DIR",
        help="a folder outside the model directory that its configuration may name files in",
    )  # fmt: skip
    parser.add_argument("-v", "--verbose", action="store_true", help="show the compiler's progress")


def run(args: argparse.Namespace) -> int:
    """Compile, or say how; print the path."""
    from ascend_infer.cli.printing import note, printable
    from ascend_infer.compile import compile_onnx, plan_compile
    from ascend_infer.compile.subject import find_subject
    from ascend_infer.doctor.environment import Environment

    options = _options(args.option)
    subject = find_subject(args.model, version=args.version, allow_paths=args.allow_path)
    if args.output is not None:
        _refuse_source(args.output, subject.onnx)
    environment = Environment.current()
    soc = args.soc or _own_soc(environment)
    if args.dry_run:
        plan = plan_compile(
            subject.onnx, config=subject.config, soc=soc, atc=args.atc, cache_dir=args.cache_dir,
            options=options, allow_paths=args.allow_path, environment=environment, need_atc=False,
        )  # fmt: skip
        for text in plan.notes:
            note(text)
        if plan.atc is None:
            note("atc was not found on this machine")
        note(f"precision: {plan.command.precision}")
        there = "is there already" if plan.entry.is_whole() else "would be written"
        note(f"{plan.entry.model} {there}")
        print(printable(plan.text))
        return 0
    with _progress(args.verbose):
        path = compile_onnx(
            subject.onnx, config=subject.config, soc=soc, atc=args.atc, cache_dir=args.cache_dir,
            options=options, allow_paths=args.allow_path, environment=environment, timeout=args.time_limit,
        )  # fmt: skip
    if args.output is not None:
        path = _copy(path, Path(args.output))
    print(printable(path))
    return 0


def _options(words: list[str]) -> dict[str, str]:
    from ascend_infer.errors import InvalidOptionError

    options = {}
    for word in words:
        name, equals, value = word.partition("=")
        if not equals or not name:
            raise InvalidOptionError(f"--option {word}: expected NAME=VALUE", option="option", got=word)
        options[name] = value
    return options


def _own_soc(environment: Environment) -> str:
    from ascend_infer.compile import soc_of_this_machine
    from ascend_infer.errors import InvalidOptionError

    found = soc_of_this_machine(environment)
    if found is None:
        raise InvalidOptionError(
            "--soc is missing, and no NPU of this machine answers: name the chip that will run the model, such as "
            "--soc Ascend310P3 (npu-smi info shows it there)",
            option="soc",
        )
    return found


def _refuse_source(output: str, onnx: Path) -> None:
    """Refuse, before anything is compiled, an output in place of what it is made of."""
    from ascend_infer import onnx_file
    from ascend_infer.errors import InvalidOptionError
    from ascend_infer.same_file import is_same_file

    for place in (onnx, *(onnx.parent / name for name in onnx_file.read(onnx).external_data)):
        if is_same_file(output, place):
            what = "the model itself" if place == onnx else "a file of the model"
            raise InvalidOptionError(
                f"--output {output} is {what}, {place}, which would be lost; give another name",
                option="output",
                got=output,
            )


def _copy(model: Path, target: Path) -> Path:
    """Copy a model out of the cache, its external weights beside it; the model replaces another at once."""
    import shutil

    from ascend_infer.errors import InvalidOptionError

    if target.is_dir() or not target.absolute().parent.is_dir():
        why = "is a folder" if target.is_dir() else f"cannot be written: there is no folder {target.parent}"
        raise InvalidOptionError(f"--output {target} {why}", option="output", got=str(target))
    weights = model.parent / "weight"
    temporary = target.with_name(f".{target.name}.{os.urandom(4).hex()}")
    try:
        if weights.is_dir():
            shutil.copytree(weights, target.parent / "weight", dirs_exist_ok=True)
        shutil.copyfile(model, temporary)
        os.replace(temporary, target)
    except OSError as error:
        if error.filename == os.fspath(model) and error.filename2 is None:
            raise  # the cache's own file, which could not be opened
        # What copying names is that file first, or the temporary one; shutil.Error has a list of such.
        reason = error.strerror or "; ".join(str(why) for *_, why in error.args[0])
        raise InvalidOptionError(
            f"--output {target} cannot be written: {reason}", option="output", got=str(target)
        ) from error
    finally:
        with suppress(OSError):
            temporary.unlink()
    return target


@contextmanager
def _progress(verbose: bool) -> Iterator[None]:
    """Show the log of compiling on standard error."""
    logger = logging.getLogger("ascend_infer.compile")
    level = logger.level
    if not verbose:
        yield
        return
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(logging.Formatter("%(message)s"))
    handler.addFilter(lambda record: record.levelno < logging.WARNING)  # those are shown anyway
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    try:
        yield
    finally:
        logger.removeHandler(handler)
        logger.setLevel(level)
