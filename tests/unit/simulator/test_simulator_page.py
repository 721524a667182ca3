"""docs/simulator.md follows the list of functions, the rules and the tests."""

from __future__ import annotations

import re
import subprocess
import sys
from dataclasses import fields
from pathlib import Path

from ascend_infer.simulator import SimulatorOptions, TimeModel

ROOT = Path(__file__).parents[3]


def test_the_page_is_fresh() -> None:
    command = [sys.executable, ROOT / "docs" / "gen_simulator.py", "--check"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_every_rule_names_a_test_that_is_there_and_every_line_has_four_parts() -> None:
    lines = (ROOT / "docs" / "simulator_rules.txt").read_text(encoding="utf-8").splitlines()
    rules = [line for line in lines if not line.startswith("#")]
    assert len(rules) > 50
    assert all(line.count("|") == 3 for line in rules)


def test_the_options_are_those_of_the_two_classes_and_the_page_says_which_are_times() -> None:
    text = (ROOT / "docs" / "simulator.md").read_text(encoding="utf-8")
    section = text[text.index("## Options") : text.index("## Fault plans")]
    listed = re.findall(r"^\| `(\w+)` \|", section, re.MULTILINE)
    times = [field.name for field in fields(TimeModel)]
    assert listed == [field.name for field in fields(SimulatorOptions) if field.name != "time"] + times
    assert f"`{times[0]}` to `{times[-1]}`" in section
    [example] = re.findall(r"`(SimulatorOptions\(.*\))`", section)
    assert (
        eval(example, {"SimulatorOptions": SimulatorOptions, "TimeModel": TimeModel}).time.compute_fixed_us
        == 800
    )
