"""The examples that serve many requests at once: asyncio, a web application."""

from __future__ import annotations

import asyncio
import importlib.util
from pathlib import Path
from typing import Any

import pytest
from example_run import EXAMPLES, colour_model, loaded, run, write_photos

import ascend_infer as ai
from ascend_infer.testing import LeakCheck

if importlib.util.find_spec("onnxruntime") is None:
    pytest.skip("onnxruntime is not installed", allow_module_level=True)


@pytest.fixture
def colours(tmp_path: Path) -> Path:
    return colour_model(tmp_path / "model_repository")


@pytest.fixture
def photos(tmp_path: Path) -> list[Path]:
    return write_photos(tmp_path)


def test_async_inference(tmp_path: Path, colours: Path, photos: list[Path]) -> None:
    done = run(tmp_path, EXAMPLES / "async_infer.py", colours, *photos, "--preset", "unit")
    assert (done.returncode, done.stderr) == (0, "")
    assert sorted(line.partition(",")[0] for line in done.stdout.splitlines()) == [
        "dark.png: dark",
        "green.png: green",
        "red.png: red",
    ]
    photos[1].write_bytes(b"no picture")
    done = run(tmp_path, EXAMPLES / "async_infer.py", colours, *photos * 20, "--preset", "unit")
    assert done.returncode == 1
    assert len(done.stdout.splitlines()) == 40
    assert sum(line.startswith("green.png: ") for line in done.stderr.splitlines()) == 20


def test_async_requests_share_a_session(
    colours: Path, photos: list[Path], assert_no_leaks: type[LeakCheck]
) -> None:
    example = loaded(EXAMPLES / "async_infer.py")

    async def storm() -> list[str]:
        with ai.Session(colours, device="cpu") as session:
            classifier = example.Classifier(session, "unit", in_flight=4)
            found = await asyncio.gather(*(classifier.classify(photo) for photo in photos * 30))
            with pytest.raises(ai.errors.DeadlineExceededError):
                await classifier.classify(photos[0], timeout=0)
            return [labels[0].label for labels in found]

    assert asyncio.run(storm()) == ["red", "green", "dark"] * 30


def test_a_web_application(colours: Path, photos: list[Path], assert_no_leaks: type[LeakCheck]) -> None:
    pytest.importorskip("starlette")
    httpx = pytest.importorskip("httpx")
    example = loaded(EXAMPLES / "web_app.py")
    example.LARGEST = 100_000

    async def clients(patience: float) -> list[Any]:
        app = example.create_app(colours, "unit", patience=patience)
        transport = httpx.ASGITransport(app=app)
        async with (
            app.router.lifespan_context(app),
            httpx.AsyncClient(transport=transport, base_url="http://app") as client,
        ):
            health = await client.get("/health")
            bodies = [photo.read_bytes() for photo in photos * 8]
            answers = await asyncio.gather(*(client.post("/classify", content=body) for body in bodies))
            bad = await client.post("/classify", content=b"no picture")
            large = await client.post("/classify", content=b"x" * 200_000)
            return [health, answers, bad, large]

    health, answers, bad, large = asyncio.run(clients(30.0))
    assert (health.status_code, health.json()["model"], health.json()["version"]) == (200, "colours", 2)
    assert [answer.json()["labels"][0]["label"] for answer in answers] == ["red", "green", "dark"] * 8
    assert all(answer.status_code == 200 for answer in answers)
    assert (bad.status_code, bad.json()["kind"]) == (400, "ImageError")
    assert large.status_code == 413
    _, late, _, _ = asyncio.run(clients(0.0))
    assert {(answer.status_code, answer.json()["kind"]) for answer in late} == {
        (504, "DeadlineExceededError")
    }
    refused = example.refusal(ai.errors.QueueFullError("full", depth=3))
    assert (refused.status_code, refused.headers["retry-after"]) == (503, "1")
