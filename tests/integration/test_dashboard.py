"""The Grafana dashboard: valid JSON, and every query asks for what the text has, in PromQL that Prometheus reads."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from metric_pages import full_page

DASHBOARD = Path(__file__).parents[2] / "examples" / "grafana_dashboard.json"


PAGE = Path(__file__).parents[2] / "docs" / "triton.md"


@pytest.fixture
def dashboard() -> dict[str, Any]:
    found = json.loads(DASHBOARD.read_text(encoding="utf-8"))
    assert isinstance(found, dict)
    return found


def queries(dashboard: dict[str, Any]) -> list[str]:
    found = [target["expr"] for panel in dashboard["panels"] for target in panel.get("targets", [])]
    assert len(found) > 20
    return found


def test_every_metric_it_asks_for_is_in_the_text(dashboard: dict[str, Any], tmp_path: Path) -> None:
    made, entries = full_page(tmp_path / "proc")
    families = made.families()
    labels = {family.name + s.suffix: {n for n, _ in s.labels} for family in families for s in family.samples}
    variables = [item["definition"] for item in dashboard["templating"]["list"] if item["type"] == "query"]
    asked = set()
    for query in [*queries(dashboard), *variables]:
        names = set(re.findall(r"\b(?:nv|ascend)_\w+", query))
        assert names, query
        assert names <= set(labels), query
        asked |= names
        for group in re.findall(r"\bby \(([^)]*)\)", query):
            wanted = {label.strip() for label in group.split(",")}
            assert all(wanted <= labels[name] for name in names), query
    assert {name for name in asked if name.startswith("nv_inference")} >= {
        "nv_inference_request_success",
        "nv_inference_request_failure",
        "nv_inference_queue_duration_us",
    }
    for entry in entries:
        entry.close()


def test_legends_name_labels_that_the_query_keeps(dashboard: dict[str, Any], tmp_path: Path) -> None:
    made, entries = full_page(tmp_path / "proc")
    labels = {f.name + s.suffix: {n for n, _ in s.labels} for f in made.families() for s in f.samples}
    for panel in dashboard["panels"]:
        for target in panel.get("targets", []):
            shown = set(re.findall(r"{{(\w+)}}", target["legendFormat"]))
            groups = re.findall(r"\bby \(([^)]*)\)", target["expr"])
            first = re.findall(r"\b(?:nv|ascend)_\w+", target["expr"])[0]
            kept = {label.strip() for label in groups[0].split(",")} if groups else labels[first]
            assert shown <= kept, target
    for entry in entries:
        entry.close()


def test_panels_have_numbers_and_places_of_their_own(dashboard: dict[str, Any]) -> None:
    panels = dashboard["panels"]
    assert len({panel["id"] for panel in panels}) == len(panels)
    taken: set[tuple[int, int]] = set()
    for panel in panels:
        place = panel["gridPos"]
        cells = {(place["x"] + x, place["y"] + y) for x in range(place["w"]) for y in range(place["h"])}
        assert not cells & taken, panel["title"]
        assert place["x"] + place["w"] <= 24
        taken |= cells


def check_with_promtool(queries: list[str], folder: Path) -> None:
    promtool = shutil.which("promtool")
    if promtool is None:
        pytest.skip("no program promtool (Debian: apt-get install prometheus)")
    rules = [{"record": f"query:{number}", "expr": query} for number, query in enumerate(queries)]
    path = folder / "rules.yml"
    path.write_text(json.dumps({"groups": [{"name": "queries", "rules": rules}]}))
    ran = subprocess.run([promtool, "check", "rules", str(path)], capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert f"SUCCESS: {len(rules)} rules found" in ran.stdout


def test_promtool_reads_every_query(dashboard: dict[str, Any], tmp_path: Path) -> None:
    filled = [
        query.replace("$__rate_interval", "1m").replace("$job", ".*").replace("$model", ".*")
        for query in queries(dashboard)
    ]
    check_with_promtool(filled, tmp_path)


def meant() -> dict[str, str]:
    """The page's table of names that no Triton has, and what to ask for in their place."""
    table = PAGE.read_text(encoding="utf-8").split("| printed | what is meant |")[1].split("\n\n")[0]
    found = {}
    for line in table.strip().splitlines()[1:]:
        printed, query = line.strip("| ").split(" | ")
        for name in re.findall(r"`(\w+)`", printed):
            found[name] = query.strip("`")
    return found


def test_names_that_no_triton_has_are_told_from_those_that_are_there(tmp_path: Path) -> None:
    made, entries = full_page(tmp_path / "proc")
    names = {family.name + sample.suffix for family in made.families() for sample in family.samples}
    table = meant()
    assert {"nv_inference_requests_total", "inf_request_duration_us"} <= set(table)
    for printed, query in table.items():
        assert printed not in names
        assert set(re.findall(r"\b(?:nv|ascend)_\w+", query)) <= names, query
    for entry in entries:
        entry.close()
    check_with_promtool(list(table.values()), tmp_path)
