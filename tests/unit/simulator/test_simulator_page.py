"""docs/simulator.md follows the list of functions, the rules and the tests."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

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
