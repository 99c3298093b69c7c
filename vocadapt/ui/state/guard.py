"""Protection of the lab's server against other web pages: origin check of websockets, no
framing; and against requests of Streamlit itself to other hosts.
"""

import os
from collections.abc import Callable
from typing import Any

Scope = dict[str, Any]
Application = Callable[..., Any]  # ASGI

EMBED_IN = "VOCADAPT_EMBED_IN"  # environment variable: origin that may show the lab in a frame
HEADERS = (
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"same-origin"),
)
REFUSED = 1008  # WebSocket: policy violation


class Guard:
    """ASGI middleware that rejects websockets from another origin and forbids framing by other
    sites.

    Streamlit itself accepts any origin with a loopback address, whatever its port.
    """

    def __init__(self, app: Application) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Application, send: Application) -> None:
        """Forward a request, or reject it."""
        if scope["type"] == "websocket" and not is_same_origin(dict(scope["headers"])):
            await send({"type": "websocket.close", "code": REFUSED})
            return

        sender = send
        if scope["type"] == "http":
            sender = add_headers(send, [*HEADERS, *list_frame_headers()])
        await self.app(scope, receive, sender)


def add_headers(send: Application, added: list[tuple[bytes, bytes]]) -> Application:
    """Return a function that sends the messages of a response with more headers."""

    async def send_with_headers(message: Scope) -> None:
        if message["type"] == "http.response.start":
            message = {**message, "headers": [*message.get("headers", ()), *added]}
        await send(message)

    return send_with_headers


def list_frame_headers() -> list[tuple[bytes, bytes]]:
    """List the headers that let only this server, and the origin of EMBED_IN, frame the pages."""
    origin = os.environ.get(EMBED_IN)
    if origin:  # the older header x-frame-options cannot name an origin
        return [(b"content-security-policy", f"frame-ancestors 'self' {origin}".encode())]
    return [
        (b"content-security-policy", b"frame-ancestors 'self'"),
        (b"x-frame-options", b"SAMEORIGIN"),
    ]


def is_same_origin(headers: dict[bytes, bytes]) -> bool:
    """Return whether the origin of a request is this server.

    A request without an origin passes: it does not come from a page in a browser.
    """
    origin = headers.get(b"origin")
    if origin is None:
        return True
    host = headers.get(b"host", b"")
    return origin.lower() in (scheme + host.lower() for scheme in (b"http://", b"https://"))


def disable_address_requests() -> None:
    """Keep Streamlit from asking other hosts for the addresses of this machine.

    It asks checkip.amazonaws.com whenever a websocket has an origin that it does not know, to
    accept an origin of that address. A page that this server itself sent is accepted without.
    """
    from streamlit import net_util

    net_util.get_external_ip = lambda: None
    net_util.get_internal_ip = lambda: None


def install(*classes: Callable[[Application], Any]) -> None:
    """Add Guard, then these middleware classes, to every server that Streamlit starts in this
    process.
    """
    from starlette.middleware import Middleware
    from streamlit.web.server.starlette import starlette_app

    disable_address_requests()
    own = starlette_app.create_streamlit_middleware
    if getattr(own, "guarded", False):
        return

    def guarded() -> list[Any]:
        return [*map(Middleware, (Guard, *classes)), *own()]

    guarded.guarded = True  # type: ignore[attr-defined]
    starlette_app.create_streamlit_middleware = guarded
