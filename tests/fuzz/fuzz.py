"""Coverage-guided fuzzing of one target with atheris, see .ci/campaigns/fuzz.

    python tests/fuzz/fuzz.py TARGET FOLDER... [LIBFUZZER OPTIONS]

Any exception that the target lets out is a finding, and so is an input that takes longer than libFuzzer's -timeout.
"""

from __future__ import annotations

import sys

import atheris
import replay


def main() -> None:
    name = sys.argv.pop(1)
    with atheris.instrument_imports(include=["ascend_infer"]):
        feed = replay.target(name)
    atheris.Setup(sys.argv, feed)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
