"""``ascend-infer compare``: the same inputs through two models, versions or devices."""

from __future__ import annotations

import argparse
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

from ascend_infer.cli.argument_types import existing_place, path_text, version_text, whole

if TYPE_CHECKING:
    from ascend_infer.comparison import Comparison
    from ascend_infer.session import Session

__all__ = ["HELP", "NAME", "add_arguments", "run"]

NAME = "compare"
HELP = "run the same inputs through two models, versions or devices, and say how far apart the answers are and why"

_EXAMPLES = """\
examples:
  ascend-infer compare model.onnx model_fp16.onnx
  ascend-infer compare model_repository/resnet50 --version-a 1 --version-b 2 --input photo.jpg
  ascend-infer compare model_repository/resnet50 --device-a cpu --device-b npu --rtol 0.01
  ascend-infer compare encoder.onnx quantized.onnx --shape ids:128 --shape mask:128 --rounds 10
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.description = (
        "Runs A and B on the same requests, random ones where none are given, and compares output by output: cosine, "
        "largest absolute and relative difference, class agreement, NaN and infinities. Where they differ it tries out "
        "whether channels are swapped, rows of a batch lost or weights rounded. Exit code: 0 the same or within "
        "tolerance, 1 they differ, 2 wrong arguments or an error."
    )
    parser.epilog = _EXAMPLES
    parser.add_argument(
        "a",
        type=path_text,
        metavar="A",
        help="the model that is taken to be right: directory, .onnx or .om file",
    )
    parser.add_argument(
        "b", nargs="?", type=path_text, metavar="B", help="the other one; A again where left out"
    )
    for letter in "ab":
        parser.add_argument(
            f"--device-{letter}",
            metavar="DEVICE",
            help=f"where {letter.upper()} runs: auto, cpu, npu, npu:N, sim",
        )
    parser.add_argument("--device", default="auto", metavar="DEVICE", help="where both run (default auto)")
    for letter in "ab":
        parser.add_argument(
            f"--version-{letter}", type=version_text, metavar="N", help=f"{letter.upper()}'s version"
        )
    parser.add_argument(
        "-i", "--input", action="append", default=[], metavar="[NAME=]VALUE",
        help="what to feed an input of A, as for infer; the others are made up",
    )  # fmt: skip
    parser.add_argument(
        "--preset", metavar="NAME", help="how pictures are prepared; by default the parameter preprocess of A"
    )
    parser.add_argument("--size", metavar="224|224x320", help="height x width of prepared pictures")
    parser.add_argument(
        "--shape", action="append", default=[], metavar="NAME:d,d",
        help="sizes of a made-up input with open dimensions, the batch not counted",
    )  # fmt: skip
    parser.add_argument(
        "--range",
        action="append",
        default=[],
        metavar="NAME:lo,hi",
        help="bounds of a made-up input's values",
    )
    parser.add_argument(
        "-b", "--batch", type=whole(1), metavar="N",
        help="rows of made-up requests (default 4 where the model takes a batch)",
    )  # fmt: skip
    parser.add_argument(
        "--rounds", type=whole(1), metavar="N", help="made-up requests, each with other numbers (default 3)"
    )
    parser.add_argument("--seed", type=whole(0), default=0, metavar="N", help="of the made-up numbers (0)")
    parser.add_argument(
        "--rtol", type=_tolerance, default=1e-3, metavar="X", help="relative tolerance (default 0.001)"
    )
    parser.add_argument(
        "--atol", type=_tolerance, metavar="X",
        help="absolute tolerance (default a ten-thousandth of an output's largest value)",
    )  # fmt: skip
    parser.add_argument(
        "--exact", action="store_true", help="exit with 1 also where they are only within tolerance"
    )
    parser.add_argument(
        "--no-explain", action="store_true", help="do not try out what the difference looks like"
    )
    parser.add_argument("--json", action="store_true", help="print the comparison as JSON")
    parser.add_argument(
        "--allow-path", action="append", default=[], type=existing_place, metavar="DIR",
        help="a folder outside the model directory that a configuration may name files in",
    )  # fmt: skip


def run(args: argparse.Namespace) -> int:
    """Load both, run, compare, print, return the exit code."""
    from ascend_infer.cli.printing import note, print_json
    from ascend_infer.comparison import Tolerance, compare
    from ascend_infer.errors import AscendInferError, InvalidOptionError

    Tolerance(args.rtol, args.atol)
    if args.b is None and (args.device_a, args.version_a) == (args.device_b, args.version_b):
        raise InvalidOptionError(
            "got one model and nothing that is to differ; give B, or --version-a and --version-b, or --device-a and "
            "--device-b",
            option="b",
        )
    with ExitStack() as stack:
        a, b = (stack.enter_context(session) for session in _sessions(args))
        feeds = _feeds(args, a, b)
        try:
            found = compare(a, b, feeds, rtol=args.rtol, atol=args.atol, explain=not args.no_explain)
        except AscendInferError as error:
            for text in getattr(error, "__notes__", ()):
                note(text)
            raise
    if args.json:
        print_json(found.to_dict())
    else:
        _show(found)
    wrong = found.verdict == "differs" or (args.exact and found.verdict != "same")
    return 1 if wrong else 0


def _sessions(args: argparse.Namespace) -> list[Session]:
    from ascend_infer.session import Session

    first = Session(
        args.a, version=args.version_a, device=args.device_a or args.device, allow_paths=args.allow_path
    )
    try:
        second = Session(
            args.b or args.a,
            version=args.version_b,
            device=args.device_b or args.device,
            allow_paths=args.allow_path,
        )
    except BaseException:
        first.close()
        raise
    return [first, second]


def _feeds(args: argparse.Namespace, a: Session, b: Session) -> list[dict[str, Any]]:
    """Return the requests: what is given, with the rest made up anew for each round."""
    import numpy as np

    from ascend_infer.cli.feeding.feed import make_feed
    from ascend_infer.cli.feeding.options import FeedOptions
    from ascend_infer.cli.measuring.named_values import parse_ranges, parse_sizes
    from ascend_infer.errors import InvalidOptionError
    from ascend_infer.trial_inputs import InputMaker
    from ascend_infer.trial_inputs.of_session import has_batch, limits_of

    options = FeedOptions(inputs=args.input, preset=args.preset, size=args.size)
    given = make_feed(options, a.inputs, a.config, a.name)
    shapes = parse_sizes(args.shape, a.inputs, a.name)
    ranges = parse_ranges(args.range, a.inputs, a.name)
    for option, names in (("shape", shapes), ("range", ranges)):
        for name in names:
            if name in given:
                raise InvalidOptionError(
                    f"--{option} is for inputs that are made up; input {name!r} is given",
                    option=option,
                    got=name,
                )
    left = [
        item for item in a.inputs if item.name not in given and (not item.optional or item.name in shapes)
    ]
    for ignored, option in ((args.batch, "--batch"), (args.rounds, "--rounds")):
        if ignored is not None and not left:
            raise InvalidOptionError(
                f"{option} is for inputs that are made up, and all are given", option=option, got=ignored
            )
    if not left:
        return [given]
    batched = has_batch(a)
    rows = next((len(array) for array in given.values() if batched and array.ndim), None)
    maker = InputMaker(
        a.name,
        a.inputs,
        batched,
        rows or args.batch or _usual_rows(batched, a, b),
        shapes,
        ranges,
        limits_of(a),
    )
    feeds = []
    for number in range(args.rounds or 3):
        random = np.random.default_rng(args.seed + number)
        feeds.append({**given, **{item.name: maker.make_input(item, random) for item in left}})
    return feeds


def _usual_rows(batched: bool, *sessions: Session) -> int:
    """Return how many rows a made-up request has: enough to see one that is lost, no more than both take."""
    limits = [session.config.max_batch_size for session in sessions if session.config.max_batch_size]
    fixed = [
        item.shape[0]
        for session in sessions
        for item in session.inputs
        if item.shape[:1] and item.shape[0] > 0
    ]
    if not batched:
        return 1
    return min([4, *limits, *fixed])


def _show(found: Comparison) -> None:
    from ascend_infer.cli.printing import columns, note, printable
    from ascend_infer.comparison.shown import HEAD, output_row

    for text in found.notes:
        note(text)
    requests = "1 request" if found.requests == 1 else f"{found.requests} requests"
    print(printable(f"A: {found.a}"))
    print(printable(f"B: {found.b}"))
    for line in columns([HEAD, *map(output_row, found.outputs.values())]):
        print(line)
    print(printable(f"{requests}: {found.sentence}"))


def _tolerance(text: str) -> float:
    from ascend_infer.trial_inputs.value_range import parse_number

    number = parse_number(text)
    if number is None or number < 0:
        raise argparse.ArgumentTypeError(f"got {text!r}, expected a number of 0 or more")
    return float(number)
