"""The lines that perf_analyzer prints, of what was measured here."""

from __future__ import annotations

from collections.abc import Sequence

from ascend_infer.perf.latencies import Latencies
from ascend_infer.perf.levels import Levels
from ascend_infer.perf.measurement import Measurement
from ascend_infer.perf.server_times import ServerTimes
from ascend_infer.perf.settings import Settings

__all__ = ["level_head", "measurement_lines", "pass_line", "settings_lines", "summary_lines", "warnings_of"]

#: Shares above which a figure is of the callers too, and not of the model alone.
_MUCH_OVERHEAD, _MANY_DELAYED = 0.1, 0.1
_FEW = 20


def settings_lines(levels: Levels, settings: Settings, where: str) -> list[str]:
    """Return the head of a report; ``where`` says what runs the model."""
    metric = "average latency" if settings.percentile is None else f"p{settings.percentile} latency"
    lines = [
        "*** Measurement Settings ***",
        f"  Batch size: {settings.batch}",
        f"  Service Kind: in-process ({where})",
    ]
    if settings.warmup_requests:
        lines.append(f"  Sending {_count(settings.warmup_requests, 'warmup request')}")
    if settings.request_count:
        lines.append(f"  Sending {_count(settings.request_count, 'benchmark request')}")
    else:
        lines += [
            f'  Using "{settings.mode}" mode for stabilization',
            f"  Stabilizing using {metric} and throughput",
            f"  Measurement window: {settings.interval_ms} msec"
            if settings.mode == "time_windows"
            else f"  Minimum number of samples in each window: {settings.window_requests}",
        ]
    if settings.latency_limit_ms:
        lines.append(f"  Latency limit: {settings.latency_limit_ms} msec")
    if not levels.endless and levels.end > levels.start:
        unit = "concurrent requests" if levels.kind == "concurrency" else "requests per second"
        name = "Concurrency" if levels.kind == "concurrency" else "Request Rate"
        lines.append(f"  {name} limit: {levels.end:g} {unit}")
    if levels.kind == "rate":
        law = "uniform" if settings.distribution == "constant" else "poisson"
        lines.append(f"  Using {law} distribution on request generation")
    return [*lines, "  Using synchronous calls for inference", ""]


def level_head(kind: str, level: float) -> str:
    """Return the line above a measurement's block."""
    if kind == "concurrency":
        return f"Request concurrency: {level:g}"
    return f"Request Rate: {level:g} inference requests per seconds"


def pass_line(number: int, throughput: float, latencies: Latencies, percentile: int | None) -> str:
    """Say what one window gave."""
    said = (
        f"Avg latency: {_us(latencies.mean)} usec (std {_us(latencies.deviation)} usec)."
        if percentile is None
        else f"p{percentile} latency: {_us(latencies.percentiles[percentile])} usec"
    )
    return f"  Pass [{number}] throughput: {throughput:.6g} infer/sec. {said}"


def measurement_lines(found: Measurement, settings: Settings) -> list[str]:
    """Return the block of one level, without its head."""
    latencies = found.latencies
    lines = ["  Client: ", f"    Request count: {found.requests}"]
    lines.append(f"    Throughput: {found.throughput:.6g} infer/sec")
    if settings.percentile is None:
        lines.append(
            f"    Avg latency: {_us(latencies.mean)} usec (standard deviation {_us(latencies.deviation)} usec)"
        )
    lines += [
        f"    p{percent} latency: {_us(value)} usec" for percent, value in latencies.percentiles.items()
    ]
    return [*lines, "    ", "  Server: ", *_server_lines(found.server)]


def warnings_of(found: Measurement, settings: Settings) -> list[str]:
    """Return what makes a measurement's figures doubtful, a sentence each."""
    said = []
    if not found.requests:
        said.append(
            f"{level_head(found.kind, found.level)}: no request was answered within {found.duration_s:.3g} s; "
            "--measurement-interval has to be longer than a request takes"
        )
    elif not found.stable:
        option = (
            "--measurement-interval" if settings.mode == "time_windows" else "--measurement-request-count"
        )
        of = "concurrency" if found.kind == "concurrency" else "request rate"
        said.append(
            f"{of} {found.level:g} was not stable within {_count(found.windows, 'measurement window')}; the figures "
            f"are of the last ones. A larger {option} helps against noise"
        )
    if found.requests and found.delayed > _MANY_DELAYED * found.requests:
        said.append(
            f"request rate {found.level:g}: {100 * found.delayed / found.requests:.0f} % of the requests were sent "
            f"after they were due, because all {settings.callers} callers waited for answers; their waits are in the "
            f"latencies. {found.request_rate:.6g} requests/sec were answered; --max-threads allows more in flight"
        )
    # A request is counted when it is answered: with few of them, those at a window's edges decide the share.
    if found.overhead > _MUCH_OVERHEAD and found.requests > _FEW * found.level:
        said.append(
            f"concurrency {found.level:g}: the callers spent {100 * found.overhead:.0f} % of their time outside of "
            "requests, so fewer were in flight than asked for and a program that does less between requests gets "
            "more throughput"
        )
    return said


def summary_lines(found: Sequence[Measurement], settings: Settings) -> list[str]:
    """Return the table at the end."""
    percentile = settings.percentile
    name = "Average" if percentile is None else f"p{percentile}"
    lines = [f"Inferences/Second vs. Client {name} Batch Latency"]
    for one in found:
        level = "Concurrency" if one.kind == "concurrency" else "Request Rate"
        latency = _us(one.latencies.stabilizing(percentile))
        lines.append(
            f"{level}: {one.level:g}, throughput: {one.throughput:.6g} infer/sec, latency {latency} usec"
        )
    return lines


def _server_lines(server: ServerTimes) -> list[str]:
    if not server.requests:
        return ["    Request count: 0"]
    parts = " + ".join(
        f"{name} {_us(value)} usec"
        for name, value in (
            ("overhead", server.overhead_ns),
            ("queue", server.mean("queue")),
            ("compute input", server.mean("input")),
            ("compute infer", server.mean("infer")),
            ("compute output", server.mean("output")),
        )
    )
    return [
        f"    Inference count: {server.inferences}",
        f"    Execution count: {server.executions}",
        f"    Successful request count: {server.requests}",
        f"    Avg request latency: {_us(server.mean('total'))} usec ({parts})",
        "",
    ]


def _us(nanoseconds: float) -> int:
    return int(nanoseconds // 1000)


def _count(number: int, word: str) -> str:
    return f"{number} {word}{'' if number == 1 else 's'}"
