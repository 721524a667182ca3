"""``ascend-infer perf``: throughput and latency under load, as perf_analyzer measures and prints them."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ascend_infer.cli.argument_types import existing_place, path_text, version_text, whole

if TYPE_CHECKING:
    from ascend_infer.perf import Levels, Measurement, Settings
    from ascend_infer.session import Session

__all__ = ["HELP", "NAME", "add_arguments", "run"]

NAME = "perf"
HELP = "measure a model's throughput and latency under load, as perf_analyzer does for a server"

_EXAMPLES = """\
examples:
  ascend-infer perf model_repository/resnet50 --concurrency-range 1:8 -f resnet50.csv
  ascend-infer perf model.onnx -b 4 --shape images:3,320,320 --percentile 99 --plot load.png
  ascend-infer perf model_repository/bert --request-rate-range 100:500:100 --request-distribution poisson -l 50
  ascend-infer perf encoder.onnx --shape ids:128 --range ids:0,30521
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments; names and defaults are perf_analyzer's."""
    from ascend_infer.cli.measuring.refused_options import add_refused_options

    parser.description = (
        "Loads the model, sends requests from threads of this process and measures windows until three in a row agree "
        "in throughput and latency. At a request rate, latency counts from when a request was due. Options are "
        "perf_analyzer's; those that are about a server are refused. Exit code: 0 done, 1 a level was not stable or "
        "was over the latency limit, 2 wrong arguments or an error."
    )
    parser.epilog = _EXAMPLES
    parser.add_argument(
        "model", nargs="?", type=path_text, metavar="MODEL",
        help="model directory, version directory, .onnx or .om file",
    )  # fmt: skip
    parser.add_argument("-m", dest="named_model", type=path_text, metavar="MODEL", help="the same")
    load = parser.add_mutually_exclusive_group()
    load.add_argument(
        "--concurrency-range", metavar="START:END:STEP",
        help="callers at the same time (default 1); END 0: until -l is passed",
    )  # fmt: skip
    load.add_argument(
        "--request-rate-range", metavar="START:END:STEP",
        help="requests a second, whether earlier ones are answered or not",
    )  # fmt: skip
    parser.add_argument(
        "--request-distribution", choices=("constant", "poisson"), help="times between requests at a rate (constant)"
    )  # fmt: skip
    parser.add_argument(
        "--max-threads", type=whole(1), metavar="N", help="at a rate: requests in flight at most (default 16)"
    )
    parser.add_argument("-b", type=whole(1), default=1, metavar="N", help="rows of a request (default 1)")
    parser.add_argument(
        "--shape", action="append", default=[], metavar="NAME:d,d",
        help="sizes of an input with open dimensions, the batch not counted",
    )  # fmt: skip
    parser.add_argument(
        "--input-data", default="random", metavar="zero|random|PATH",
        help="what is sent: random (default), zero, a JSON file or a folder in perf_analyzer's form",
    )  # fmt: skip
    parser.add_argument(
        "--range",
        action="append",
        default=[],
        metavar="NAME:lo,hi",
        help="bounds of an input's random values",
    )
    parser.add_argument("--string-data", metavar="TEXT", help="what BYTES inputs are fed")
    parser.add_argument("--string-length", type=whole(0), metavar="N", help="of random text (default 128)")
    parser.add_argument(
        "--random-seed", type=whole(0), default=0, metavar="N", help="of all that is random (0)"
    )
    parser.add_argument(
        "--measurement-mode", choices=("time_windows", "count_windows"), default="time_windows",
        help="windows of a time (default), or of a number of requests",
    )  # fmt: skip
    parser.add_argument(
        "-p",
        "--measurement-interval",
        type=whole(1),
        metavar="MS",
        help="a time window's length (default 5000)",
    )
    parser.add_argument(
        "--measurement-request-count",
        type=whole(1),
        metavar="N",
        help="a count window's requests (default 50)",
    )
    parser.add_argument(
        "-s", "--stability-percentage", type=whole(1), metavar="PERCENT",
        help="three windows in a row may differ by that much (default 10)",
    )  # fmt: skip
    parser.add_argument(
        "-r",
        "--max-trials",
        type=whole(1),
        metavar="N",
        help="windows at most for a level (default 10)",
    )
    parser.add_argument(
        "--percentile", type=whole(1), metavar="P",
        help="the latency that has to be stable and below -l, 1 to 99 (default: the mean)",
    )  # fmt: skip
    parser.add_argument(
        "-l",
        "--latency-threshold",
        type=whole(0),
        default=0,
        metavar="MS",
        help="end at the level that reaches it",
    )
    parser.add_argument(
        "--warmup-request-count",
        type=whole(0),
        default=0,
        metavar="N",
        help="requests before counting (default 0)",
    )
    parser.add_argument(
        "--request-count",
        type=whole(0),
        default=0,
        metavar="N",
        help="exactly N requests a level, in one window",
    )
    parser.add_argument("-f", metavar="FILE", help="write perf_analyzer's CSV file")
    parser.add_argument("--verbose-csv", action="store_true", help="with -f: its further columns")
    parser.add_argument(
        "--plot",
        metavar="FILE",
        help="draw latency over throughput: .png, .svg (matplotlib, the extra [plot])",
    )
    parser.add_argument("--json", action="store_true", help="print the measurements as JSON")
    parser.add_argument("-v", "--verbose", action="store_true", help="show every window")
    parser.add_argument("--sync", action="store_true", help="callers wait for their answers: always so")
    parser.add_argument(
        "-x", "--version", type=version_text, metavar="N",
        help="the model's version; by default the one that serves",
    )  # fmt: skip
    parser.add_argument(
        "--device", default="auto", metavar="DEVICE", help="auto (default), cpu, npu, npu:N, sim"
    )
    parser.add_argument("--instances", type=whole(1), metavar="N", help="executions at the same time")
    parser.add_argument("--threads", type=whole(1), metavar="N", help="on the CPU: threads of an execution")
    parser.add_argument(
        "--allow-path", action="append", default=[], type=existing_place, metavar="DIR",
        help="a folder outside the model directory that the configuration may name files in",
    )  # fmt: skip
    add_refused_options(parser)


def run(args: argparse.Namespace) -> int:
    """Load, measure level by level, print, write, return the exit code."""
    from ascend_infer.cli.measuring.report_json import report_json
    from ascend_infer.cli.printing import note, print_json, printable
    from ascend_infer.figure import load_figure
    from ascend_infer.perf import sweep
    from ascend_infer.perf.console import (
        level_head,
        measurement_lines,
        pass_line,
        settings_lines,
        summary_lines,
        warnings_of,
    )
    from ascend_infer.perf.csv_report import write_csv
    from ascend_infer.perf.plot import plot
    from ascend_infer.session import Session

    model = _model(args)
    levels, settings = _load(args)
    if args.plot is not None:
        load_figure()  # before minutes of measuring
    for file in (args.f, args.plot):
        _check_writable(file)
    say: Callable[[str], None] = (lambda _: None) if args.json else print
    with Session(
        model, version=args.version, device=args.device, instances=args.instances, threads=args.threads,
        allow_paths=args.allow_path,
    ) as session:  # fmt: skip
        feeds = _feeds(args, session)
        session.infer(feeds[0])  # what is wrong with the requests is said before anything is printed
        found: list[Measurement] = []
        shown: list[float] = []

        def passed(level: float, number: int, throughput: float, latencies: Any) -> None:
            if args.verbose:
                if shown[-1:] != [level]:
                    shown.append(level)
                    say(level_head(levels.kind, level))
                say(pass_line(number, throughput, latencies, args.percentile))

        measurements = sweep(session, feeds, levels, settings, passed=passed)
        where = f"{session.name} on {session.device}"
        for line in settings_lines(levels, settings, printable(where)):
            say(line)
        interrupted = False
        try:
            for one in measurements:
                found.append(one)
                if shown[-1:] != [one.level]:
                    say(level_head(levels.kind, one.level))
                for line in measurement_lines(one, settings):
                    say(line)
                for text in warnings_of(one, settings):
                    note(text)
        except KeyboardInterrupt:
            if not found:
                raise
            interrupted = True
            note("interrupted; what follows is of the levels that were finished")
        facts = {"model": session.name, "version": session.version, "device": session.device}
    if args.f is not None:
        write_csv(args.f, found, levels.kind, args.percentile, args.verbose_csv)
    if args.plot is not None:
        plot(args.plot, found, printable(where), args.percentile)
    if args.json:
        print_json(report_json(facts, settings, found))
    else:
        for line in summary_lines(found, settings):
            print(line)
    if interrupted:
        raise KeyboardInterrupt
    return 1 if any(one.over_limit or not one.stable for one in found) else 0


def _model(args: argparse.Namespace) -> str:
    from ascend_infer.errors import InvalidOptionError

    given = [name for name in (args.model, args.named_model) if name is not None]
    if len(given) != 1:
        raise InvalidOptionError(
            f"got {len(given)} models, expected one: ascend-infer perf MODEL", option="model", got=len(given)
        )
    return str(given[0])


def _load(args: argparse.Namespace) -> tuple[Levels, Settings]:
    """Read what load is asked for; options that nothing would take notice of are refused."""
    from ascend_infer.errors import InvalidOptionError
    from ascend_infer.perf import Levels, Settings

    idle = (
        (args.max_threads is not None and not args.request_rate_range, "--max-threads", "--request-rate-range"),
        (args.request_distribution and not args.request_rate_range, "--request-distribution", "--request-rate-range"),
        (
            args.measurement_interval is not None and args.measurement_mode == "count_windows",
            "--measurement-interval", "--measurement-mode time_windows",
        ),
        (
            args.measurement_request_count is not None and args.measurement_mode == "time_windows",
            "--measurement-request-count", "--measurement-mode count_windows",
        ),
        (args.range and args.input_data != "random", "--range", "--input-data random"),
        (args.verbose_csv and not args.f, "--verbose-csv", "-f FILE"),
        *(
            (bool(args.request_count) and getattr(args, name) is not None, f"--{name.replace('_', '-')}",
             "windows until three agree (no --request-count)")
            for name in (
                "measurement_interval", "measurement_request_count", "stability_percentage", "max_trials"
            )
        ),
        *(
            (value is not None and args.input_data not in ("zero", "random"), option, "made-up inputs")
            for value, option in ((args.string_data, "--string-data"), (args.string_length, "--string-length"))
        ),
        (args.string_length is not None and args.string_data is not None, "--string-length", "random text"),
    )  # fmt: skip
    for ignored, option, needs in idle:
        if ignored:
            raise InvalidOptionError(f"{option} is for {needs}, which is not asked for", option=option)
    if args.percentile is not None and args.percentile > 99:
        raise InvalidOptionError(
            f"--percentile: got {args.percentile}, expected 1 to 99", option="percentile", got=args.percentile
        )
    if args.request_rate_range is not None:
        levels = Levels.parse(args.request_rate_range, "rate")
    else:
        levels = Levels.parse(args.concurrency_range or "1", "concurrency")
    settings = Settings(
        mode=args.measurement_mode,
        interval_ms=args.measurement_interval or 5000,
        window_requests=args.measurement_request_count or 50,
        stability_percentage=args.stability_percentage or 10,
        max_trials=args.max_trials or 10,
        percentile=args.percentile,
        latency_limit_ms=args.latency_threshold,
        warmup_requests=args.warmup_request_count,
        request_count=args.request_count,
        distribution=args.request_distribution or "constant",
        callers=args.max_threads or 16,
        batch=args.b,
        seed=args.random_seed,
    )
    return levels, settings


def _feeds(args: argparse.Namespace, session: Session) -> Sequence[Mapping[str, Any]]:
    from ascend_infer.cli.measuring.named_values import parse_ranges, parse_sizes
    from ascend_infer.perf.input_data import read_input_data
    from ascend_infer.trial_inputs import InputMaker
    from ascend_infer.trial_inputs.of_session import has_batch, limits_of

    batched = has_batch(session)
    shapes = parse_sizes(args.shape, session.inputs, session.name)
    if args.input_data in ("zero", "random"):
        maker = InputMaker(
            session.name,
            session.inputs,
            batched,
            args.b,
            shapes,
            parse_ranges(args.range, session.inputs, session.name),
            limits_of(session),
            args.input_data,
            args.string_data,
            128 if args.string_length is None else args.string_length,
        )
        return [maker.make(args.random_seed)]
    if args.b > 1 and not batched:
        InputMaker(session.name, session.inputs, batched, args.b)  # says why not
    return read_input_data(args.input_data, session.inputs, session.name, batched, args.b, shapes)


def _check_writable(path: str | None) -> None:
    """Refuse a file that cannot be written, before minutes of measuring; leaves it as it was."""
    from ascend_infer.errors import InvalidOptionError

    if path is None:
        return
    folder = os.path.dirname(path) or "."
    wrong = (
        "nothing" if not path
        else f"{path}, a directory" if os.path.isdir(path)
        else f"{path}, whose folder is not there" if not os.path.isdir(folder)
        else f"{path}, which may not be written" if not os.access(path if os.path.exists(path) else folder, os.W_OK)
        else None
    )  # fmt: skip
    if wrong:
        raise InvalidOptionError(f"got {wrong}, expected a file to write", option="f", got=path)
