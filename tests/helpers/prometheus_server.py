"""A real Prometheus, as Debian's package brings it, for one test."""

from __future__ import annotations

import json
import re
import subprocess
import threading
import urllib.parse
import urllib.request
from collections.abc import Iterable
from pathlib import Path
from types import TracebackType
from typing import Any


class PrometheusServer:
    """Runs in the given folder and scrapes these targets, job to address and path, five times a second."""

    def __init__(self, program: str, folder: Path, targets: dict[str, tuple[str, str]]) -> None:
        jobs = [
            {"job_name": job, "metrics_path": path, "static_configs": [{"targets": [address]}]}
            for job, (address, path) in targets.items()
        ]
        config = {"global": {"scrape_interval": "200ms", "scrape_timeout": "200ms"}, "scrape_configs": jobs}
        (folder / "prometheus.yml").write_text(json.dumps(config))  # JSON is YAML
        self._process = subprocess.Popen(
            [
                program,
                f"--config.file={folder / 'prometheus.yml'}",
                f"--storage.tsdb.path={folder / 'data'}",
                "--web.listen-address=127.0.0.1:0",
            ],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert self._process.stderr is not None
        self._log: list[str] = []
        self._port = self._wait_until_ready(self._process.stderr)
        # It must be able to go on writing.
        self._reader = threading.Thread(target=self._log.extend, args=(self._process.stderr,))
        self._reader.start()

    def _wait_until_ready(self, log: Iterable[str]) -> int:
        """Return the port, once it listens and answers: two of its threads say so, in either order."""
        port, ready = 0, False
        for line in log:
            self._log.append(line)
            found = re.search(r'msg="Listening on" address=127\.0\.0\.1:(\d+)', line)
            port = int(found[1]) if found else port
            ready = ready or "Server is ready to receive web requests" in line
            if port and ready:
                return port
        raise AssertionError("Prometheus ended:\n" + "".join(self._log))

    def ask(self, path: str, **query: str) -> Any:
        """Return the data of an answer of its HTTP API."""
        url = f"http://127.0.0.1:{self._port}/api/v1/{path}?{urllib.parse.urlencode(query)}"
        with urllib.request.urlopen(url, timeout=30) as answer:
            found = json.load(answer)
        assert found["status"] == "success", found
        return found["data"]

    def query(self, promql: str) -> list[tuple[dict[str, str], Any]]:
        """Evaluate now: pairs of labels and value (of a range, all its values)."""
        found = []
        for item in self.ask("query", query=promql)["result"]:
            values = [float(value) for _, value in item.get("values", [])]
            found.append((item["metric"], values or float(item["value"][1])))
        return found

    def __enter__(self) -> PrometheusServer:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._process.terminate()
        self._process.wait(timeout=60)
        self._reader.join()
        assert self._process.stderr is not None
        self._process.stderr.close()
