"""A model inside a web application: no model server, no second hop.

    pip install starlette uvicorn
    MODEL=model_repository/efficientnet_lite0 PRESET=efficientnet_lite uvicorn --app-dir examples web_app:app
    curl --data-binary @photo.jpg localhost:8000/classify

Starlette here; FastAPI is built on it, and its routes look the same. The session is opened when the server starts and
closed when it stops. Its errors become the statuses that clients and load balancers understand.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

import ascend_infer as ai
from ascend_infer.errors import (
    ClosedError,
    DeadlineExceededError,
    ImageError,
    InvalidInputError,
    QueueFullError,
    RequestCancelledError,
)

#: Bytes of a photo; what is larger is refused before it is read.
LARGEST = 16 << 20

#: Which status an error becomes; the first that fits.
STATUSES: tuple[tuple[type[ai.AscendInferError], int], ...] = (
    (ImageError, 400),
    (InvalidInputError, 400),
    (QueueFullError, 503),
    (ClosedError, 503),
    (RequestCancelledError, 503),
    (DeadlineExceededError, 504),
    (ai.AscendInferError, 500),
)


async def classify(request: Request) -> Response:
    """POST a photo; answers the best five labels."""
    session, preset, patience = (
        request.app.state.session,
        request.app.state.preset,
        request.app.state.patience,
    )
    body = bytearray()
    async for part in request.stream():
        body += part
        if len(body) > LARGEST:
            return JSONResponse({"error": f"the photo has more than {LARGEST} bytes"}, 413)
    taken = session.inputs[0]
    try:
        images = await asyncio.to_thread(ai.image.prepare, bytes(body), preset, size=taken.shape[-2:])
        result = await session.ainfer({taken.name: images}, timeout=patience)
    except ai.AscendInferError as error:
        return refusal(error)
    labels = [
        {"label": label.label or label.index, "score": round(label.score, 6)}
        for label in result.top_k(k=5)[0]
    ]
    milliseconds = round(result.timing.total_ns / 1e6, 3)
    return JSONResponse(
        {
            "labels": labels,
            "model": result.model,
            "version": result.version,
            "device": result.device,
            "ms": milliseconds,
        }
    )


def refusal(error: ai.AscendInferError) -> Response:
    """Return the answer that an error becomes; a full queue says when to come back."""
    status = next(status for kind, status in STATUSES if isinstance(error, kind))
    headers = {"Retry-After": "1"} if status == 503 else None
    return JSONResponse({"error": str(error), "kind": type(error).__name__}, status, headers)


async def health(request: Request) -> Response:
    """GET: 200 once the model is loaded."""
    session = request.app.state.session
    return JSONResponse({"model": session.name, "version": session.version, "device": session.device})


def create_app(
    model: str | os.PathLike[str], preset: str = "imagenet", *, patience: float = 2.0
) -> Starlette:
    """Return the application; the model is loaded when it starts.

    Parameters
    ----------
    model : path-like
    preset : str
        How the model's pictures are prepared.
    patience : float
        Seconds that a request may take.
    """

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        # Loading may take seconds: not on the event loop.
        session = await asyncio.to_thread(ai.Session, model)
        app.state.session, app.state.preset, app.state.patience = session, preset, patience
        try:
            yield
        finally:
            await asyncio.to_thread(session.close)

    routes = [Route("/classify", classify, methods=["POST"]), Route("/health", health)]
    return Starlette(routes=routes, lifespan=lifespan)


app = create_app(
    os.environ.get("MODEL", "model_repository/efficientnet_lite0"), os.environ.get("PRESET", "imagenet")
)
