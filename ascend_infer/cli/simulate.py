"""``ascend-infer simulate``: programs for a card on a machine without one, and the models for that."""

from __future__ import annotations

import argparse
import json
import os
import subprocess
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from ascend_infer.cli.argument_parser import ArgumentParser
from ascend_infer.cli.argument_types import gigabytes, whole
from ascend_infer.cli.printing import note
from ascend_infer.errors import InvalidOptionError
from ascend_infer.regular_file import open_regular, read_regular

if TYPE_CHECKING:
    from ascend_infer.simulator import SimulatorOptions
    from ascend_infer.types import Gear

__all__ = ["HELP", "NAME", "add_arguments", "run"]

_LARGEST_CONFIG = 1 << 20

NAME = "simulate"
HELP = "run a program that was built for an NPU on a simulated one, or make models for that"

_DESCRIPTION = """\
Runs PROGRAM, unmodified, with the simulator in place of CANN's libraries libascendcl.so, libacl_rt.so and
libacl_mdl.so, and exits with its exit code. Or makes a model for the simulator of an ONNX model.

examples:
  ascend-infer simulate -- ./resnet50_sample model.om
  ascend-infer simulate --devices 2 --faults "aclrtMalloc@3=207001" -- python infer.py
  ascend-infer simulate compile model.onnx -o model.om --batch 1,2,4,8
  ascend-infer simulate describe model.om      a real .om with AIPP, before it runs beside its model.onnx
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.description = _DESCRIPTION
    parser.add_argument("--devices", type=whole(0), metavar="N", help="how many cards the machine has (1)")
    parser.add_argument("--soc", metavar="NAME", help="which card (Ascend310P3)")
    parser.add_argument("--hbm-gb", type=gigabytes, metavar="GB", help="memory of each card (16)")
    parser.add_argument(
        "--faults", metavar="PLAN", help='what goes wrong: "aclrtMalloc@3=207001; device:1@lost after 2s"'
    )
    parser.add_argument(
        "--virtual-time", action="store_true", help="modelled work takes no time on the clock"
    )
    parser.add_argument("--fp16", action="store_true", help="round models' inputs and outputs to float16")
    parser.add_argument("--threads", type=whole(0), metavar="N", help="of onnxruntime, for each model")
    parser.add_argument("--config", metavar="FILE", help="all options as JSON (docs/simulator.md lists them)")
    parser.add_argument(
        "--report", metavar="FILE", help="write calls, memory and violations there at the end"
    )
    parser.add_argument(
        "words", nargs=argparse.REMAINDER, metavar="-- PROGRAM ... | compile ... | describe ..."
    )


def run(args: argparse.Namespace) -> int:
    """Do it and return the exit code: the program's own, or 0."""
    words: list[str] = list(args.words)
    given = words[:1] == ["--"]
    if given:
        words = words[1:]
    if not words:
        raise InvalidOptionError(
            "got nothing to do, expected `-- PROGRAM ...`, `compile` or `describe`", option="words"
        )
    if not given and words[0] == "compile":
        return _compile(words[1:])
    if not given and words[0] == "describe":
        return _describe(words[1:])
    return _program(words, _options(args))


def _options(args: argparse.Namespace) -> SimulatorOptions:
    from ascend_infer.simulator import SimulatorOptions, TimeModel

    options = SimulatorOptions()
    if args.config:
        try:
            values = json.loads(read_regular(args.config, _LARGEST_CONFIG).decode("utf-8"))
            if not isinstance(values, dict):
                raise ValueError(f"got a JSON {type(values).__name__}, expected an object")
            own = {key: values.pop(key) for key in list(values) if key in TimeModel.__dataclass_fields__}
            options = SimulatorOptions(**values, time=TimeModel(**own))
        except OSError as error:
            raise InvalidOptionError(f"--config {args.config}: {error.strerror}", option="config") from error
        except (ValueError, TypeError, RecursionError) as error:
            raise InvalidOptionError(f"--config {args.config}: {error}", option="config") from error
    for key in ("devices", "soc", "faults", "threads"):
        if getattr(args, key) is not None:
            options = replace(options, **{key: getattr(args, key)})
    if args.hbm_gb is not None:
        options = replace(options, hbm_bytes=int(args.hbm_gb * 2**30))
    if args.report:
        _check_report(args.report)
        options = replace(options, log_path=str(Path(args.report).absolute()), call_log=True)
    return replace(
        options,
        virtual_time=options.virtual_time or args.virtual_time,
        fp16=options.fp16 or args.fp16,
    )


def _check_report(path: str) -> None:
    """Refuse, before the program runs, what its report cannot be written to.

    Raises
    ------
    InvalidOptionError
    """
    folder = Path(path).absolute().parent
    if Path(path).is_dir():
        raise InvalidOptionError(
            f"--report {path}: expected a file, it is a directory", option="report", got=path
        )
    if not folder.is_dir():
        raise InvalidOptionError(
            f"--report {path}: expected a file in a directory that is there; {folder} is not",
            option="report",
            got=path,
        )


def _program(words: Sequence[str], options: SimulatorOptions) -> int:
    from ascend_infer.simulator import program_environment

    with program_environment(options) as environment:
        try:
            code = subprocess.call(list(words), env=environment)
        except OSError as error:
            raise InvalidOptionError(
                f"{words[0]} cannot be started: {error.strerror}", option="words", got=words[0]
            ) from error
    if code < 0:
        note(f"{words[0]} was ended by signal {-code}")
        return 128 - code
    return code


def _compile(words: Sequence[str]) -> int:
    from ascend_infer import onnx_file
    from ascend_infer.simulator import compile_model
    from ascend_infer.simulator.aipp_file import read_aipp_file

    parser = ArgumentParser(prog="ascend-infer simulate compile")
    parser.add_argument("onnx", metavar="MODEL.onnx")
    parser.add_argument("-o", "--output", required=True, metavar="MODEL.om")
    kind = parser.add_mutually_exclusive_group()
    kind.add_argument("--batch", metavar="1,2,4", help="batch sizes to choose from")
    kind.add_argument("--hw", metavar="'224,224;448,448'", help="image sizes, height and width")
    kind.add_argument("--dims", metavar="'1,128;4,256'", help="values of all open dimensions, by gear")
    kind.add_argument("--dynamic", action="store_true", help="keep the open dimensions open")
    parser.add_argument(
        "--input-shape", metavar="'x:1,3,-1,-1;y:1'", default="", help="shapes in place of the model's own"
    )
    parser.add_argument("--aipp", metavar="FILE", help="static AIPP, in the format of ATC's --insert_op_conf")
    parser.add_argument("--soc", default="", metavar="NAME", help="the card it pretends to be for")
    parser.add_argument("--fp16", action="store_true", help="round inputs and outputs to float16")
    args = parser.parse_args(list(words))
    if args.aipp:
        _refuse_pipes(args.aipp)
    names = [tensor.name for tensor in onnx_file.read(args.onnx).spec.inputs]
    compile_model(
        args.onnx,
        args.output,
        input_shapes=_shapes(args.input_shape),
        gears=_gears(args),
        dynamic=args.dynamic,
        aipp=read_aipp_file(args.aipp, names) if args.aipp else None,
        soc=args.soc,
        fp16=args.fp16,
    )
    print(f"{args.output}: for the simulator only, CANN refuses it")
    return 0


def _refuse_pipes(path: str) -> None:
    try:
        os.close(open_regular(path)[0])
    except OSError as error:
        raise InvalidOptionError(f"--aipp {path}: {error.strerror}", option="aipp", got=path) from error


def _describe(words: Sequence[str]) -> int:
    from ascend_infer.simulator import describe_model

    parser = ArgumentParser(prog="ascend-infer simulate describe")
    parser.add_argument("model", metavar="MODEL.om")
    args = parser.parse_args(list(words))
    written = describe_model(args.model)
    print(written or f"{args.model}: no static AIPP, nothing to write")
    return 0


def _numbers(option: str, text: str) -> tuple[int, ...]:
    try:
        return tuple(int(word) for word in text.split(","))
    except ValueError:
        raise InvalidOptionError(
            f"--{option}: got {text!r}, expected whole numbers with commas between", option=option, got=text
        ) from None


def _gears(args: argparse.Namespace) -> list[Gear]:
    from ascend_infer.types import Gear

    if args.batch is not None:
        return [Gear("batch", (size,)) for size in _numbers("batch", args.batch)]
    if args.hw is not None:
        return [Gear("hw", _numbers("hw", part)) for part in args.hw.split(";") if part.strip()]
    if args.dims is not None:
        return [Gear("dims", _numbers("dims", part)) for part in args.dims.split(";") if part.strip()]
    return []


def _shapes(text: str) -> dict[str, tuple[int, ...]]:
    shapes = {}
    for part in text.split(";"):
        if part.strip():
            # An input's name may hold colons itself.
            name, _, dims = part.strip().rpartition(":")
            shapes[name] = _numbers("input-shape", dims)
    return shapes
