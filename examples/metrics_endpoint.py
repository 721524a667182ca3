"""A small web application that answers with a model and shows Prometheus what it does.

    pip install 'ascend-infer[cpu,metrics]'
    python examples/metrics_endpoint.py MODEL_DIRECTORY 8002

    curl -s localhost:8002/infer -d '{"x": [[1, 2, 3, 4]]}'       # inputs by name
    curl -s localhost:8002/metrics                                # what Prometheus scrapes

Grafana shows it with examples/grafana_dashboard.json. Prometheus' side:

    scrape_configs:
      - job_name: app
        static_configs: [ { targets: [ "localhost:8002" ] } ]
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable
from socketserver import ThreadingMixIn
from typing import Any
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer, make_server

from prometheus_client import CollectorRegistry, Counter, make_wsgi_app

import ascend_infer as ai
from ascend_infer import metrics

Environment = dict[str, Any]
Application = Callable[[Environment, Callable[..., Any]], Iterable[bytes]]


def application(session: ai.Session) -> Application:
    """Build the application around a loaded model; a WSGI server runs it, on as many threads as it likes."""
    registry = CollectorRegistry()
    registry.register(metrics.Collector())
    answers = Counter("app_answers", "Answers by status", ["status"], registry=registry)  # one of its own
    show_metrics = make_wsgi_app(registry)

    def infer(environment: Environment) -> tuple[str, object]:
        try:
            body = json.loads(environment["wsgi.input"].read(int(environment.get("CONTENT_LENGTH") or 0)))
            result = session.infer(body)
        except (json.JSONDecodeError, ai.errors.InvalidInputError) as error:
            return "400 Bad Request", {"error": str(error)}
        return "200 OK", {name: array.tolist() for name, array in result.items()}

    def app(environment: Environment, start_response: Callable[..., Any]) -> Iterable[bytes]:
        path = environment["PATH_INFO"]
        if path == "/metrics":
            return show_metrics(environment, start_response)
        status, answer = infer(environment) if path == "/infer" else ("404 Not Found", {"error": path})
        answers.labels(status[:3]).inc()
        start_response(status, [("Content-Type", "application/json")])
        return [json.dumps(answer).encode()]

    return app


class Server(ThreadingMixIn, WSGIServer):
    """A thread a connection; the session takes calls from all of them."""

    daemon_threads = True


class Quiet(WSGIRequestHandler):
    def log_message(self, *arguments: object) -> None:
        pass


def serve(app: Application, port: int) -> Server:
    """Open the port (0: a free one); the caller runs ``serve_forever()``."""
    server = make_server("127.0.0.1", port, app, server_class=Server, handler_class=Quiet)
    assert isinstance(server, Server)
    return server


def main() -> None:
    if len(sys.argv) not in (2, 3):
        raise SystemExit(__doc__)
    with ai.Session(sys.argv[1]) as session, serve(application(session), int((*sys.argv, 8002)[2])) as server:
        print(f"{session!r}\nhttp://127.0.0.1:{server.server_port}/metrics", flush=True)
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            print("closed")


if __name__ == "__main__":
    main()
