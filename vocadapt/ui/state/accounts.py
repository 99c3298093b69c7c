"""Sign-ins with an account: a sign-out ends all sessions of the account that began before it, and a
failed sign-in leads to a page that says why.

Streamlit's own sign-out removes the cookie of one browser only. A cookie contains the signed time
of its creation. So the time of each account's last sign-out is recorded, and older cookies are not
accepted. The times are in memory, and in files, so that they remain when the server restarts.
"""

import hashlib
import os
import re
import time
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

import streamlit as st

from vocadapt.errors import InputError
from vocadapt.system.files import read_whole, write_atomically
from vocadapt.ui.state.guard import Application, Scope

SIGN_OUTS = "VOCADAPT_SIGN_OUTS"  # environment variable: the folder of the times; "" for none
FAILURE = "sign_in"  # query parameter of the page that a failed sign-in is redirected to
CALLBACK, LOGIN = "/oauth2callback", "/auth/login"
UNREACHABLE, UNCONFIRMED = "unreachable", "unconfirmed"
# Codes of OpenID Connect and OAuth 2.0, and two of our own -> what a visitor reads.
REASONS = {
    "access_denied": "The provider refused the sign-in, or it was canceled there.",
    "server_error": "The provider reports an internal error.",
    "temporarily_unavailable": "The provider is busy or down.",
    "unauthorized_client": "The provider does not know this lab: its client_id may be wrong.",
    UNREACHABLE: "The provider cannot be reached.",
    UNCONFIRMED: (
        "The provider's answer could not be confirmed: it may have come too late, or belong to"
        " another tab."
    ),
}
_sign_out_times: dict[str, int] = {}  # name of an account's file -> seconds since 1970


def find_account() -> tuple[str, str]:
    """Return the account of this session: its provider and its identifier there, ("", "") if none."""
    if not st.user.get("is_logged_in"):
        return "", ""
    return str(st.user.get("iss") or ""), str(st.user.get("sub") or "")


def has_signed_out() -> bool:
    """Return whether the account of this session has signed out, in any browser, since the session
    began.
    """
    account = find_account()
    return bool(account[1]) and read_sign_in_time() <= read_sign_out_time(account)


def sign_out() -> None:
    """Sign out: end all sessions of the account, and draw their open tabs again."""
    account = find_account()
    if account[1]:
        record_sign_out(account, int(time.time()))
        _rerun_other_sessions()
    st.logout()


def read_sign_in_time() -> float:
    """Return the time of the sign-in of this session, by the clock of the server; 0 if unknown."""
    from itsdangerous import BadSignature, URLSafeTimedSerializer
    from streamlit.web.server.server_util import get_cookie_secret
    from streamlit.web.server.starlette.starlette_server_config import USER_COOKIE_NAME

    serializer = URLSafeTimedSerializer(get_cookie_secret(), salt=USER_COOKIE_NAME)
    cookie = st.context.cookies.get(USER_COOKIE_NAME, "")
    try:
        _, made = serializer.loads(cookie, return_timestamp=True)
    except BadSignature:
        return 0.0
    return float(made.timestamp())


def record_sign_out(account: tuple[str, str], when: int) -> None:
    """Record that an account signed out: its sessions that began up to that time have ended."""
    name = _name_file(account)
    _sign_out_times[name] = max(when, read_sign_out_time(account))
    folder = os.environ.get(SIGN_OUTS)
    if folder:
        with suppress(OSError):  # a read-only or full disk: it is known until the server stops
            Path(folder).mkdir(parents=True, exist_ok=True)
            write_atomically(Path(folder) / name, str(_sign_out_times[name]))


def read_sign_out_time(account: tuple[str, str]) -> int:
    """Return the time of the last sign-out of an account; -1 if it never signed out."""
    name = _name_file(account)
    folder = os.environ.get(SIGN_OUTS)
    if name not in _sign_out_times:
        _sign_out_times[name] = -1
        if folder:
            with suppress(InputError, OSError, ValueError):  # no file: it never signed out
                _sign_out_times[name] = int(read_whole(Path(folder) / name, 100))
    return _sign_out_times[name]


def _name_file(account: tuple[str, str]) -> str:
    return hashlib.sha256("\0".join(account).encode("utf-8", "surrogatepass")).hexdigest()[:32]


def _rerun_other_sessions() -> None:
    """Draw the open tabs of all sessions again: those that have ended show the page to sign in."""
    from streamlit import runtime
    from streamlit.runtime.scriptrunner import get_script_run_ctx

    here = get_script_run_ctx()
    if here is None or not runtime.exists():
        return
    running: Any = runtime.get_instance()
    loop = running._get_async_objs().eventloop
    for info in running._session_mgr.list_active_sessions():
        if info.session.id != here.session_id:
            loop.call_soon_threadsafe(info.session.request_rerun, None)


class FailureWatcher:
    """ASGI middleware that redirects a failed sign-in to the page to sign in, with the reason.

    Streamlit itself redirects without a message, or answers with a line of plain text.
    """

    def __init__(self, app: Application) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Application, send: Application) -> None:
        """Forward a request; replace the answer to a sign-in that failed."""
        path = scope.get("path", "")
        query = parse_qs(scope.get("query_string", b"").decode("latin-1"))
        # After a sign-out at the provider, it calls back without one of these.
        is_answer = path == CALLBACK and query.keys() & {"code", "error"}
        if scope["type"] != "http" or not (is_answer or path == LOGIN):
            await self.app(scope, receive, send)
            return
        error = query.get("error", [""])[0]
        reason = UNREACHABLE if path == LOGIN else UNCONFIRMED
        if path == CALLBACK and error in REASONS:
            reason = error
        is_replaced = False

        async def send_with_reason(message: Scope) -> None:
            nonlocal is_replaced
            if message["type"] == "http.response.start":
                is_replaced = has_failed(path, message)
                if is_replaced:
                    kept = [pair for pair in message["headers"] if pair[0] == b"set-cookie"]
                    headers = [(b"location", f"/?{FAILURE}={reason}".encode()), *kept]
                    message = {**message, "status": 302, "headers": headers}
            elif is_replaced:
                message = {**message, "body": b""}
            await send(message)

        await self.app(scope, receive, send_with_reason)


def has_failed(path: str, start: Scope) -> bool:
    """Return whether an answer means that a sign-in failed: an error, or no cookie of the account."""
    if path == LOGIN:
        return bool(start["status"] >= 400)
    cookies = (value for name, value in start["headers"] if name.lower() == b"set-cookie")
    return not any(re.match(rb'_streamlit_user="?[^";]', cookie) for cookie in cookies)
