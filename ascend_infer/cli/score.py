"""``ascend-infer score``: run a model over a data set."""

from __future__ import annotations

import argparse
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

from ascend_infer.cli.argument_types import auto_or_whole, existing_place, path_text, version_text, whole

if TYPE_CHECKING:
    from ascend_infer.session import Session

__all__ = ["HELP", "NAME", "add_arguments", "run"]

NAME = "score"
HELP = "run a model over a folder of pictures or a data file, safe against crashes"

_EXAMPLES = """\
examples:
  ascend-infer score model_repository/efficientnet photos/ --out scores.parquet
  ascend-infer score model.onnx "photos/**/*.jpg" --out top1.csv --preset imagenet --top-k 1 --labels labels.txt
  ascend-infer score model_repository/ranker rows.parquet --out scored.parquet --device npu:0 --device npu:1
  ascend-infer score model.onnx table.csv --id-column key --out scores.jsonl --json

Interrupted, killed or out of disk: the same command goes on where it was, to the same bytes.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.description = (
        "Reads, prepares, runs and writes at the same time, in the order of the source. A row that cannot be read or "
        "run has the reason in the column error. Exit code: 0 done, 1 done and some rows failed, 2 wrong arguments or "
        "an error that ended the run, 130 Ctrl-C."
    )
    parser.epilog = _EXAMPLES
    parser.add_argument("model", type=path_text, metavar="MODEL", help="model directory, .onnx or .om file")
    parser.add_argument(
        "source", type=path_text, metavar="SOURCE",
        help="folder or pattern of pictures or .parquet, .arrow, .feather files; one such, .npy, .npz, .csv, .jsonl",
    )  # fmt: skip
    parser.add_argument(
        "--out", required=True, type=path_text, metavar="FILE",
        help=".parquet, .csv or .jsonl, or a folder for .npz files",
    )  # fmt: skip
    parser.add_argument(
        "--form", choices=("parquet", "csv", "jsonl", "npz"), help="of the output, whatever its name"
    )
    parser.add_argument(
        "--preset", metavar="NAME",
        help="how pictures are prepared (imagenet, raw, ...) or a preset's fields as JSON; by default the parameter "
        "preprocess of config.pbtxt",
    )  # fmt: skip
    parser.add_argument("--size", metavar="224|224x320", help="height x width of prepared pictures")
    parser.add_argument(
        "--max-pixels", type=whole(1), metavar="N", help="of the largest picture that is decoded"
    )
    parser.add_argument("--id-column", metavar="NAME", help="the column that names rows (default id)")
    parser.add_argument("--column", metavar="NAME", help="the column that holds pictures or their paths")
    parser.add_argument(
        "-o", "--output", action="append", default=[], metavar="NAME", help="an output that is wanted (default all)"
    )  # fmt: skip
    parser.add_argument(
        "--top-k", type=whole(0), metavar="K",
        help="labels and scores of the K best in place of the values (default 5 where there are labels; 0: the values)",
    )  # fmt: skip
    parser.add_argument("--softmax", action="store_true", help="turn scores into probabilities for --top-k")
    parser.add_argument("--labels", metavar="FILE", help="labels, one a line or JSON")
    parser.add_argument(
        "--cast", choices=("no", "safe", "same_kind", "unsafe"),
        help="which conversions of data types are done, in numpy's words (default no)",
    )  # fmt: skip
    parser.add_argument(
        "--batch", type=auto_or_whole, default="auto", metavar="N", help="rows of a run (default auto: measured)"
    )  # fmt: skip
    parser.add_argument(
        "--workers", type=auto_or_whole, default="auto", metavar="N", help="threads (default auto)"
    )
    parser.add_argument(
        "--part-rows", type=whole(1), metavar="N", help="rows that are written at a time (default up to 1024)"
    )
    parser.add_argument(
        "--max-errors", type=whole(0), metavar="N", help="end when more rows than that failed"
    )
    again = parser.add_mutually_exclusive_group()
    again.add_argument(
        "--restart", action="store_true", help="throw away what was begun; to go on, leave it out"
    )
    again.add_argument("--overwrite", action="store_true", help="replace an output that is there")
    parser.add_argument(
        "--version", type=version_text, metavar="N", help="the model's version; by default the one that serves"
    )  # fmt: skip
    parser.add_argument(
        "--device", action="append", default=[], metavar="DEVICE",
        help="auto (default), cpu, npu, npu:N, sim; repeat it to use several",
    )  # fmt: skip
    parser.add_argument(
        "--instances", type=whole(1), metavar="N",
        help="runs at the same time on each device; on the CPU by default one for each core",
    )  # fmt: skip
    parser.add_argument(
        "--threads", type=whole(1), metavar="N",
        help="of one run on the CPU (default 1, or the cores divided by --instances)",
    )  # fmt: skip
    parser.add_argument(
        "--allow-path", action="append", default=[], type=existing_place, metavar="DIR",
        help="a folder outside the model directory that the configuration may name files in",
    )  # fmt: skip
    parser.add_argument("--json", action="store_true", help="print the summary as JSON")
    parser.add_argument("-q", "--quiet", action="store_true", help="show no progress")


def run(args: argparse.Namespace) -> int:
    """Open the model on each device, score, print the summary, return the exit code."""
    from ascend_infer.cli.feeding.picture import picture_size
    from ascend_infer.cli.printing import note, print_json, printable
    from ascend_infer.cli.results.ranking import read_labels
    from ascend_infer.image import MAX_PIXELS
    from ascend_infer.image.fitting import stated_preset
    from ascend_infer.scoring import score

    options: dict[str, Any] = {
        "preprocess": None if args.preset is None else stated_preset(args.preset, "--preset"),
        "size": None if args.size is None else picture_size(args.size),
        "max_pixels": args.max_pixels or MAX_PIXELS,
        "labels": None if args.labels is None else read_labels(args.labels),
        "outputs": args.output or None,
        "resume": not args.restart,
        "progress": False if args.quiet else "auto",
    }
    for name in (
        "form", "id_column", "column", "top_k", "softmax", "cast", "batch", "workers", "part_rows", "max_errors",
        "overwrite",
    ):  # fmt: skip
        options[name] = getattr(args, name)
    with ExitStack() as opened:
        sessions = [opened.enter_context(_open(args, device)) for device in args.device or ["auto"]]
        try:
            summary = score(sessions, args.source, out=args.out, **options)
        except KeyboardInterrupt as interrupt:
            for line in getattr(interrupt, "__notes__", ()):
                note(line)
            raise
    if args.json:
        print_json(summary.to_dict())
    else:
        for line in str(summary).splitlines():
            print(printable(line))
    return 1 if summary.failed else 0


def _open(args: argparse.Namespace, device: str) -> Session:
    from ascend_infer.cpu_budget import cpu_budget
    from ascend_infer.device import choose_device
    from ascend_infer.session import Session

    instances, threads = args.instances, args.threads
    if choose_device(device).target.kind == "cpu" and instances is None:
        # A caller on each core, with one thread for the model too, scores most rows on a CPU.
        instances, threads = cpu_budget(), threads or 1
    return Session(
        args.model,
        version=args.version,
        device=device,
        instances=instances,
        threads=threads,
        allow_paths=args.allow_path,
    )
