"""The HTTP app. It turns a request into a call of a method, and the result or error into a response. Applies faults."""

import asyncio
import contextlib
import functools
import inspect
import json
import logging
import socket
import struct
from collections.abc import AsyncIterator
from typing import Any, cast

from starlette.applications import Starlette
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from emulator.emulator import Emulator
from emulator.lifecycle.clock import WallClock
from emulator.protocol import answers, partial_responses
from emulator.protocol.calls import Call, Reply
from emulator.protocol.errors import ApiError
from emulator.scenarios import faults
from emulator.scenarios.faults import NO_FAULT, Fault
from emulator.web import access, routes, unserved
from emulator.web.access import Credential

MAX_BODY_BYTES = 512 * 2**20
BREAK = "emulator.break"
"""Scope key: a coroutine function that breaks the connection of a request."""
log = logging.getLogger("emulator")


class RequestHandler:
    """Answers every request."""

    def __init__(self, emulator: Emulator) -> None:
        self._emulator = emulator

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request (ASGI)."""
        request = Request(scope, receive)
        match = routes.resolve(request.method, scope["path"])
        method = match[0].method if match else ""
        fault = (None if method.startswith("_emulator") else self._emulator.faults.find(method)) or NO_FAULT
        if fault.kind == "reset":
            await scope[BREAK]()
            return
        if fault.kind == "slow":
            await asyncio.sleep(fault.seconds)
        with contextlib.suppress(ClientDisconnect):
            response = await self._answer(request, match, fault)
            if fault.kind == "lost":
                await scope[BREAK]()
                return
            if fault.kind == "truncated":
                response = Response(bytes(response.body)[: len(response.body) // 2], media_type="application/json")
            await response(scope, receive, send)

    async def _answer(self, request: Request, match: routes.Match | None, fault: Fault) -> Response:
        try:
            if fault.kind == "html":
                return Response(faults.PAGE, status_code=503, media_type="text/html")
            if fault.kind in faults.STATUSES:
                headers = {} if fault.retry_after is None else {"Retry-After": str(fault.retry_after)}
                return _json(fault.error().body(), status=int(fault.kind), headers=headers)
            answer = await self._call(request, match, fault)
            if isinstance(answer, Reply):
                return Response(answer.body, answer.status, dict(answer.headers), media_type=answer.content_type)
            return _json(answer)
        except ApiError as problem:
            return _json(problem.body(), status=problem.http)
        except Exception:  # a bug here must not look like a broken connection
            log.exception("a method failed")
            return _json(ApiError(500, "Internal error encountered.").body(), status=500)

    async def _call(self, request: Request, match: routes.Match | None, fault: Fault) -> Any:
        path = request.scope["path"]
        if match is None:
            raise unserved.error(request.method, path)
        route, params = match
        call = Call(
            method=route.method,
            params=params,
            query=dict(request.query_params),
            pairs=tuple(request.query_params.multi_items()),
            headers=request.headers,
            body=await _body(request),
            address=f"{request.url.scheme}://{request.url.netloc}{request.scope.get(access.PREFIX_KEY, '')}",
            is_answered=fault.kind in faults.KINDS_WITH_WHOLE_ANSWERS,
            lag_seconds=fault.seconds if fault.kind == "stale" else 0.0,
        )
        fields = routes.selected_fields(route, call)
        self._emulator.calls[route.method] += 1
        # Await it outside the transaction, or writes of other requests in the meantime would be part of it.
        with self._emulator.store.transaction():
            answer = route.handler(self._emulator, call)
        answer = await answer if inspect.isawaitable(answer) else answer
        answer = answers.in_version(answer, call.version) if call.version else answer
        return partial_responses.select(answer, fields)


async def _body(request: Request) -> bytes:
    size = request.headers.get("content-length", "0")
    if size.isdecimal() and int(size) > MAX_BODY_BYTES:
        raise ApiError(413, "The request is too large.")
    chunks, total = [], 0
    async for chunk in request.stream():
        total += len(chunk)
        if total > MAX_BODY_BYTES:
            raise ApiError(413, "The request is too large.")
        chunks.append(chunk)
    return b"".join(chunks)


def _json(body: Any, *, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    content = json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode()
    return Response(content, status, headers, media_type="application/json")


def reset(transport: asyncio.BaseTransport) -> None:
    """Break a connection. The other end receives a TCP reset."""
    # Lingering for 0 seconds sends a reset instead of an orderly end (socket(7)).
    transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    cast(asyncio.WriteTransport, transport).abort()


async def _break(send: Send) -> None:
    """Break the connection of a response that Uvicorn sends."""
    transport = getattr(getattr(send, "__self__", None), "transport", None)
    if transport is None:
        raise RuntimeError("this server gives no access to its connection")
    reset(transport)
    for _ in range(3):  # let the server notice, or it would try to answer
        await asyncio.sleep(0)


async def run_timers(emulator: Emulator) -> None:
    """Fire timers when they are due by the wall clock."""
    changed = asyncio.Event()
    emulator.timers.changed = changed.set
    while True:
        due = emulator.timers.next_due()
        pause = None if due is None else max(0.0, due - emulator.clock.now())
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(changed.wait(), pause)
        changed.clear()
        try:
            emulator.advance(emulator.clock.now())
        except Exception:  # a bug with one job must not stop the timers of others
            log.exception("a timer failed")


def create_app(emulator: Emulator, credential: Credential | None) -> ASGIApp:
    """Return the ASGI application of an emulator. Its lifespan starts and closes the emulator.

    `credential` must be in every request. None means that all connections are known to be our user's.
    """

    @contextlib.asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        emulator.start()
        ticking = asyncio.create_task(run_timers(emulator)) if isinstance(emulator.clock, WallClock) else None
        try:
            yield
        finally:
            if ticking is not None:
                ticking.cancel()
            await emulator.close()

    app = Starlette(routes=[Route("/{path:path}", RequestHandler(emulator))], lifespan=lifespan)

    async def checked_app(scope: Scope, receive: Receive, send: Send) -> None:
        scope.setdefault(BREAK, functools.partial(_break, send))
        try:
            if scope["type"] == "http":
                access.check_request(scope, credential)
        except ApiError as problem:
            await _json(problem.body(), status=problem.http)(scope, receive, send)
        else:
            await app(scope, receive, send)

    return checked_app
