"""A real Prometheus over the example application: it scrapes, and answers what dashboards ask."""

from __future__ import annotations

import importlib.util
import itertools
import json
import shutil
import subprocess
import sys
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import onnx_models as made
import pytest
from metric_pages import full_page
from prometheus_server import PrometheusServer

import ascend_infer as ai
from ascend_infer import metrics

ROOT = Path(__file__).parents[2]

if importlib.util.find_spec("onnxruntime") is None:
    pytest.skip("onnxruntime is not installed", allow_module_level=True)


def program(name: str) -> str:
    found = shutil.which(name)
    if found is None:
        pytest.skip(f"no program {name} (Debian: apt-get install prometheus)")
    return found


@pytest.fixture
def example() -> Any:
    path = ROOT / "examples" / "metrics_endpoint.py"
    spec = importlib.util.spec_from_file_location("metrics_endpoint", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def session(tmp_path: Path) -> Iterator[ai.Session]:
    model = made.write(made.identity(dims=(4,)), tmp_path / "net.onnx")
    with ai.Session(model, device="cpu") as opened:
        yield opened


class Traffic:
    """What happens between two scrapes: one batch of four requests, queued 2 ms each.

    Attributes
    ----------
    scrapes : int
        How many there were; ``wait`` returns after one more.
    """

    def __init__(self, app: Any, counters: Any) -> None:
        self.app = app
        self.counters = counters
        self.scrapes = 0
        self._scraped = threading.Condition()

    def __call__(self, environment: Any, start_response: Any) -> Any:
        if environment["PATH_INFO"] == "/plain":
            start_response("200 OK", [("Content-Type", metrics.CONTENT_TYPE)])
            return [metrics.text().encode()]
        if environment["PATH_INFO"] == "/metrics":
            self.counters.record_batch(4, 0, 10_000, 1_000_000, 10_000)
            for _ in range(4):
                self.counters.record_request(1, 3_020_000, 2_000_000, 10_000, 1_000_000, 10_000)
            with self._scraped:
                self.scrapes += 1
                self._scraped.notify_all()
        return self.app(environment, start_response)

    def wait(self, scrapes: int) -> None:
        with self._scraped:
            until = self.scrapes + scrapes
            assert self._scraped.wait_for(lambda: self.scrapes >= until, timeout=60), "no scrape came"


@pytest.fixture
def traffic(example: Any, session: ai.Session) -> Iterator[tuple[Traffic, int]]:
    with metrics.register("fed_by_test", 7) as entry:
        traffic = Traffic(example.application(session), entry.counters)
        with example.serve(traffic, 0) as server:
            thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
            thread.start()
            try:
                yield traffic, server.server_port
            finally:
                server.shutdown()
                thread.join()


def test_prometheus_scrapes_and_answers(traffic: tuple[Traffic, int], tmp_path: Path) -> None:
    fed, port = traffic
    address = f"127.0.0.1:{port}"
    targets = {"app": (address, "/metrics"), "plain": (address, "/plain")}
    (tmp_path / "prometheus").mkdir()
    with PrometheusServer(program("prometheus"), tmp_path / "prometheus", targets) as server:
        of = '{job="app",model="fed_by_test"}'

        def answered(promql: str) -> Any:
            # What was scraped is in the store a little later than we are asked for it.
            for _ in range(50):
                found = server.query(promql)
                if found:
                    return found
                fed.wait(1)
            raise AssertionError(f"nothing for {promql}")

        fed.wait(10)
        [(_, rate)] = answered(f"sum by (model) (rate(nv_inference_request_success{of}[30s]))")
        assert rate > 0
        [(_, values)] = answered(f"nv_inference_request_success{of}[1m]")
        # On a busy machine a scrape may come too late to count: the next one then tells of its requests too.
        grown = [after - before for before, after in itertools.pairwise(values)]
        assert all(more > 0 and more % 4 == 0 for more in grown), grown
        [(labels, mean_batch)] = answered(f"nv_inference_count{of} / nv_inference_exec_count{of}")
        assert mean_batch == 4
        assert (labels["model"], labels["version"]) == ("fed_by_test", "7")
        queue, success = (
            f"rate(nv_inference_{name}{of}[30s])" for name in ("queue_duration_us", "request_success")
        )
        [(_, queue_us)] = answered(f"{queue} / {success}")
        assert queue_us == pytest.approx(2000)
        [(_, p99)] = answered(
            f"histogram_quantile(0.99, rate(ascend_request_duration_seconds_bucket{of}[30s]))"
        )
        assert 2**21 / 1e9 <= p99 <= 2**22 / 1e9
        assert sorted(value for _, value in answered("max_over_time(up[1m])")) == [1, 1]

        def names(job: str) -> set[str]:
            series = server.ask("series", **{"match[]": f'{{job="{job}"}}'})
            return {item["__name__"] for item in series} - {"app_answers_total", "app_answers_created"}

        answered('nv_inference_count{job="plain",model="fed_by_test"}')
        assert names("app") == names("plain")
        metadata = server.ask("targets/metadata", match_target='{job="plain"}', metric="nv_inference_count")
        assert [item["type"] for item in metadata] == ["counter"]


def test_the_example_answers_and_shows_its_own_counters(traffic: tuple[Traffic, int]) -> None:
    _, port = traffic

    def ask(path: str, body: bytes | None = None) -> tuple[int, bytes]:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", body, timeout=30) as answer:
                return answer.status, answer.read()
        except urllib.error.HTTPError as error:
            with error:
                return error.code, error.read()

    status, body = ask("/infer", b'{"x": [1, 2, 3, 4]}')
    assert (status, json.loads(body)) == (200, {"y": [1, 2, 3, 4]})
    status, body = ask("/infer", b'{"z": [1, 2, 3, 4]}')
    assert status == 400
    assert "'z'" in json.loads(body)["error"]
    assert ask("/infer", b"{")[0] == 400
    assert ask("/nothing")[0] == 404
    page = ask("/metrics")[1].decode()
    assert 'app_answers_total{status="400"} 2.0' in page
    assert 'nv_inference_count{model="fed_by_test",version="7"}' in page


def lints(text: str) -> set[str]:
    ran = subprocess.run(
        [program("promtool"), "check", "metrics"], input=text, capture_output=True, text=True, check=False
    )
    assert ran.returncode in (0, 3), ran.stdout + ran.stderr  # 1: it cannot be read at all
    return {line for line in (ran.stdout + ran.stderr).splitlines() if line}


def test_promtool_says_of_our_text_what_it_says_of_tritons(tmp_path: Path) -> None:
    accepted = set((ROOT / "tests" / "integration" / "triton_lints.txt").read_text().splitlines())
    made, entries = full_page(tmp_path / "proc")
    found = lints(made.text())
    assert found <= accepted, sorted(found - accepted)
    families = {family.name for family in made.families() if family.name.startswith("nv_")}
    assert {line.partition(" ")[0] for line in accepted} <= families
    for entry in entries:
        entry.close()


def test_the_example_runs_as_a_program(tmp_path: Path) -> None:
    model = made.write(made.identity(dims=(4,)), tmp_path / "net.onnx")
    process = subprocess.Popen(
        [sys.executable, "-c", PROGRAM, str(ROOT / "examples" / "metrics_endpoint.py"), str(model), "0"],
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    try:
        assert process.stdout.readline().startswith("<Session net on cpu")
        url = process.stdout.readline().strip()
        with urllib.request.urlopen(url, timeout=30) as answer:
            assert b"nv_inference_count" in answer.read()
    finally:
        process.send_signal(2)
        assert process.stdout.read() == "closed\n"
        process.stdout.close()
        assert process.wait(timeout=60) == 0


#: A shell that starts the tests in the background ignores SIGINT for all below it.
PROGRAM = """
import runpy, signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)
sys.argv = sys.argv[1:]
runpy.run_path(sys.argv[0], run_name="__main__")
"""
