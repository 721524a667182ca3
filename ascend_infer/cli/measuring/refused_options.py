"""perf_analyzer's options that mean nothing inside one process, each with what to use instead.

The options are those of perf_analyzer's docs/cli.md (2025-12).
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any, NoReturn

__all__ = ["REFUSED", "add_refused_options"]

_SERVER = (
    "there is no server: the model runs in this process; leave it out, or use perf_analyzer for a server"
)
_TENSORS = "arrays are passed by reference in this process; leave it out"
_SEQUENCES = "models with sequences do not run here; perf_analyzer drives them on a server"
_TRACE = "there is no server to trace; result.timing has a request's times"
_GENAI = "it is for endpoints of language models; use genai-perf"

#: Options that belong together, and the sentence.
REFUSED: tuple[tuple[tuple[str, ...], str], ...] = (
    (("-u", "-i", "-H", "--grpc-compression-algorithm", "--grpc-method", "--proto"), _SERVER),
    (
        (
            "--ssl-grpc-use-ssl", "--ssl-grpc-root-certifications-file", "--ssl-grpc-private-key-file",
            "--ssl-grpc-certificate-chain-file", "--ssl-https-verify-peer", "--ssl-https-verify-host",
            "--ssl-https-ca-certificates-file", "--ssl-https-client-certificate-file",
            "--ssl-https-client-certificate-type", "--ssl-https-private-key-file", "--ssl-https-private-key-type",
        ),
        _SERVER,
    ),
    (("--service-kind", "--triton-server-directory", "--model-signature-name"), _SERVER),
    (("--model-repository",), "give the model's own directory: ascend-infer perf REPOSITORY/NAME"),
    (("--bls-composing-models",), "Python models do not run here; measure their parts one by one"),
    (("-a", "--async"), "callers wait for their answers; use --request-rate-range for requests that do not"),
    (("--streaming",), "decoupled models do not run here"),
    (("--shared-memory", "--output-shared-memory-size"), _TENSORS),
    (("--input-tensor-format", "--output-tensor-format"), _TENSORS),
    (
        ("--collect-metrics", "--metrics-url", "--metrics-interval"),
        "the server block has the model's own times; leave it out",
    ),
    (("--profile-export-file",), "use -f FILE for the levels' figures, or --json for all of them"),
    (("--binary-search",), "use a smaller STEP in the range, and -l to end it"),
    (("--request-intervals", "--fixed-schedule"), "use --request-rate-range with --request-distribution poisson"),
    (
        ("--num-of-sequences", "--sequence-length", "--sequence-length-variation", "--sequence-id-range",
         "--serial-sequences"),
        _SEQUENCES,
    ),
    (("--periodic-concurrency-range", "--request-period", "--session-concurrency"), _GENAI),
    (("--request-parameter",), "requests have no parameters here; leave it out"),
    (("--trace-level", "--trace-rate", "--trace-count", "--log-frequency"), _TRACE),
    (("--data-directory",), "use --input-data FOLDER"),
    (("-z",), "use --input-data zero"),
    (("-t",), "use --concurrency-range N"),
    (("-c", "-d"), "use --concurrency-range 1:N with -l MILLISECONDS"),
)  # fmt: skip


class _Refuse(argparse.Action):
    def __init__(self, option_strings: Sequence[str], dest: str, sentence: str, **options: Any) -> None:
        super().__init__(option_strings, dest, nargs="?", help=argparse.SUPPRESS, **options)
        self.sentence = sentence

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: Any,
        option_string: str | None = None,
    ) -> NoReturn:
        parser.error(f"{option_string} of perf_analyzer is not taken: {self.sentence}")


def add_refused_options(parser: argparse.ArgumentParser) -> None:
    """Make a parser say what to use instead of each of these options."""
    for options, sentence in REFUSED:
        for option in options:
            parser.add_argument(
                option, action=_Refuse, sentence=sentence, dest=f"refused_{option.strip('-')}"
            )
