"""``ascend-infer infer``: run a model once on what files and words give it."""

from __future__ import annotations

import argparse
import logging
import re
from typing import TYPE_CHECKING, Any

from ascend_infer.cli.argument_types import existing_place, path_text, version_text, whole

if TYPE_CHECKING:
    from ascend_infer.result import InferResult
    from ascend_infer.session import Session

__all__ = ["HELP", "NAME", "add_arguments", "run"]

NAME = "infer"
HELP = "run a model on arrays, pictures, numbers or text, and show or save what it gives"

_EXAMPLES = """\
examples:
  ascend-infer infer model.onnx --input photo.jpg --preset imagenet --top-k 5 --softmax
  ascend-infer infer model_repository/resnet50 --input images=batch.npy --out results.npz
  ascend-infer infer model_repository/add --input A=[1,2,3] --input B=b.npz:weights --json
  ascend-infer infer model.onnx --random --shape x=1x3x320x320 --repeat 100

VALUE of --input [NAME=]VALUE:
  array.npy, arrays.npz, arrays.npz:member   numpy files
  photo.jpg                                  a picture; repeat --input for a batch of them
  data.bin                                   raw numbers of the input's type and shape
  [1, 2.5], 3, values.json                   JSON
  text:hello                                 text, for BYTES inputs
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.description = (
        "Loads the model, runs it, prints its outputs. A value that is exactly one sample gets the batch dimension "
        "it lacks. Results go to standard output, notes and errors to standard error."
    )
    parser.epilog = _EXAMPLES
    parser.add_argument(
        "model", type=path_text, metavar="MODEL", help="model directory, version directory, .onnx or .om file"
    )
    parser.add_argument(
        "-i", "--input", action="append", default=[], metavar="[NAME=]VALUE",
        help="what to feed an input; the name may be left out where there is one",
    )  # fmt: skip
    fill = parser.add_mutually_exclusive_group()
    fill.add_argument("--zeros", action="store_true", help="feed zeros to the inputs that are not given")
    fill.add_argument(
        "--random", action="store_true", help="feed random numbers to the inputs that are not given"
    )
    parser.add_argument("--seed", type=whole(0), metavar="N", help="of --random, for the same numbers again")
    parser.add_argument(
        "--shape", action="append", default=[], metavar="[NAME=]1x3x224x224",
        help="shape of a made-up or raw input",
    )  # fmt: skip
    parser.add_argument(
        "--preset", metavar="NAME",
        help="how pictures are prepared (imagenet, raw, ...) or a preset's fields as JSON; by default the parameter "
        "preprocess of config.pbtxt",
    )  # fmt: skip
    parser.add_argument("--size", metavar="224|224x320", help="height x width of prepared pictures")
    parser.add_argument(
        "--max-pixels",
        type=whole(1),
        metavar="N",
        help="width times height of the largest picture that is decoded",
    )
    parser.add_argument(
        "--cast", choices=("no", "safe", "same_kind", "unsafe"), default="no",
        help="which conversions of data types are done, in numpy's words (default no)",
    )  # fmt: skip
    parser.add_argument(
        "-o",
        "--output",
        action="append",
        default=[],
        metavar="NAME",
        help="an output that is wanted (default all)",
    )
    parser.add_argument("--top-k", type=whole(1), metavar="K", help="show the K highest scores of each row")
    parser.add_argument("--softmax", action="store_true", help="turn scores into probabilities for --top-k")
    parser.add_argument(
        "--labels", metavar="FILE", help="labels, one a line or JSON; by default the output's label_filename"
    )
    parser.add_argument("--out", metavar="FILE", help="save the outputs: .npz, or .npy for one")
    parser.add_argument("--json", action="store_true", help="print the result as JSON, every value of it")
    parser.add_argument(
        "--repeat", type=whole(1), metavar="N", help="run N times more and show the model's time"
    )
    parser.add_argument(
        "--version",
        type=version_text,
        metavar="N",
        help="the model's version; by default the one that serves",
    )
    parser.add_argument(
        "--device", default="auto", metavar="DEVICE", help="auto (default), cpu, npu, npu:N, sim"
    )
    parser.add_argument(
        "--allow-path", action="append", default=[], type=existing_place, metavar="DIR",
        help="a folder outside the model directory that the configuration may name files in",
    )  # fmt: skip
    parser.add_argument("-v", "--verbose", action="store_true", help="say how the model runs, and where")


def run(args: argparse.Namespace) -> int:
    """Load, feed, run, show, return the exit code."""
    from ascend_infer.cli.feeding.feed import make_feed
    from ascend_infer.cli.feeding.options import FeedOptions
    from ascend_infer.cli.printing import note, print_json
    from ascend_infer.cli.results.ranking import rank_outputs, read_labels
    from ascend_infer.cli.results.saving import check_target, save_outputs
    from ascend_infer.cli.results.shown import result_json, result_lines, times_json, times_line
    from ascend_infer.session import Session
    from ascend_infer.trial_inputs.of_session import limits_of

    if args.out is not None:
        check_target(args.out)
    labels = None if args.labels is None else read_labels(args.labels)
    options = FeedOptions(
        inputs=args.input,
        shapes=args.shape,
        preset=args.preset,
        size=args.size,
        max_pixels=args.max_pixels,
        fill="zeros" if args.zeros else "random" if args.random else None,
        seed=args.seed,
    )
    if args.verbose:
        _tell_everything()
    with Session(
        args.model, version=args.version, device=args.device, cast=args.cast, allow_paths=args.allow_path
    ) as session:
        limits = limits_of(session) if args.random else None
        feed = make_feed(options, session.inputs, session.config, session.name, limits)
        _check_given(session, feed)
        result = _first_run(session, feed, args.output)
        runs = [
            session.infer(feed, args.output or None).timing.compute_infer_ns / 1e6
            for _ in range(args.repeat or 0)
        ]
        rankings = rank_outputs(result, session.config, args.top_k, args.softmax, labels)
    if args.out is not None:
        save_outputs(args.out, result)
    if args.json:
        value = result_json(result, rankings)
        if runs:
            value["repeat"] = times_json(runs)
        print_json(value)
    else:
        for line in result_lines(result, rankings):
            print(line)
        if runs:
            print(times_line(runs))
    if args.out is not None:
        note(f"wrote {args.out}: {', '.join(result)}")
    return 0


def _first_run(session: Session, feed: dict[str, Any], outputs: list[str]) -> InferResult:
    """Run once; what the library advises in Python is said in the command line's own words."""
    from ascend_infer.errors import InvalidInputError

    try:
        return session.infer(feed, outputs or None)
    except InvalidInputError as error:
        text = re.sub(r"infer\(\.\.\., cast='(\w+)'\)", r"--cast \1", str(error))
        raise InvalidInputError(text, input=error.input, expected=error.expected, got=error.got) from error


def _check_given(session: Session, feed: dict[str, Any]) -> None:
    """Refuse missing inputs in the command line's own words."""
    from ascend_infer.errors import InvalidInputError
    from ascend_infer.refusal import missing_inputs

    absent = [tensor for tensor in session.inputs if tensor.name not in feed and not tensor.optional]
    if absent:
        error = missing_inputs(session.name, absent, list(feed))
        raise InvalidInputError(
            f"{error}; give each with --input {absent[0].name}=VALUE, or --zeros or --random for a trial",
            input=error.input,
            expected=error.expected,
            got=error.got,
        )


def _tell_everything() -> None:
    for handler in logging.getLogger("ascend_infer").handlers:
        handler.setLevel(logging.INFO)
    logging.getLogger("ascend_infer").setLevel(logging.INFO)
