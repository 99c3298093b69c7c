"""A sign-out ends the sessions of an account that began before it; a failed sign-in says why."""

import asyncio
import time

import pytest
import streamlit as st

from vocadapt.ui.state import accounts

ANN, BEN = ("https://a.example", "ann"), ("https://a.example", "ben")
COOKIE = b"_streamlit_user=eyJ; HttpOnly"


@pytest.fixture
def began(monkeypatch, tmp_path):
    """Sign in as Ann, with a cookie that was made at a time."""
    from itsdangerous import URLSafeTimedSerializer

    monkeypatch.setenv(accounts.SIGN_OUTS, str(tmp_path / "outs"))
    monkeypatch.setattr(accounts, "_sign_out_times", {})
    monkeypatch.setattr(accounts, "find_account", lambda: ANN)
    monkeypatch.setattr("streamlit.web.server.server_util.get_cookie_secret", lambda: "secret")

    def sign_in(when: float) -> None:
        with monkeypatch.context() as clock:
            clock.setattr(time, "time", lambda: when)
            cookie = URLSafeTimedSerializer("secret", salt="_streamlit_user").dumps("{}")
        monkeypatch.setattr(
            type(st.context), "cookies", property(lambda self: {"_streamlit_user": cookie})
        )

    return sign_in


def test_a_sign_out_ends_what_began_before_and_nothing_else(began, monkeypatch):
    began(1_000.5)
    assert accounts.read_sign_in_time() == 1_000 and not accounts.has_signed_out()
    accounts.record_sign_out(BEN, 2_000)
    assert not accounts.has_signed_out()
    accounts.record_sign_out(ANN, 1_500)
    assert accounts.has_signed_out()
    monkeypatch.setattr(accounts, "_sign_out_times", {})  # another server
    assert accounts.has_signed_out()
    began(1_501)
    assert not accounts.has_signed_out()
    accounts.record_sign_out(ANN, 1_400)  # an earlier one changes nothing
    began(1_450)
    assert accounts.has_signed_out()


def test_a_cookie_that_cannot_be_read_has_ended_if_anybody_signed_out(began, monkeypatch):
    monkeypatch.setattr(type(st.context), "cookies", property(lambda self: {}))
    assert accounts.read_sign_in_time() == 0 and not accounts.has_signed_out()
    accounts.record_sign_out(ANN, 1)
    assert accounts.has_signed_out()


def answer(path: str, query: str, status: int, *cookies: bytes) -> tuple[int, str, bytes]:
    """Return what a browser gets for an answer of Streamlit: status, location and body."""

    async def app(scope, receive, send):
        headers = [(b"location", b"/"), *((b"set-cookie", one) for one in cookies)]
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": b"bare"})

    sent = []

    async def send(message):
        sent.append(message)

    scope = {"type": "http", "path": path, "query_string": query.encode()}
    asyncio.run(accounts.FailureWatcher(app)(scope, None, send))
    start, body = sent
    return start["status"], dict(start["headers"])[b"location"].decode(), body["body"]


@pytest.mark.parametrize(
    ("path", "query", "status", "cookies", "location"),
    [
        ("/oauth2callback", "error=access_denied&state=x", 302, (), "/?sign_in=access_denied"),
        ("/oauth2callback", "error=<script>", 302, (), "/?sign_in=unconfirmed"),
        (
            "/oauth2callback",
            "code=1&state=x",
            302,
            (b'_streamlit_user=""; Max-Age=0',),
            "/?sign_in=unconfirmed",
        ),
        ("/auth/login", "provider=x", 400, (), "/?sign_in=unreachable"),
        ("/oauth2callback", "code=1&state=x", 302, (COOKIE,), "/"),
        ("/oauth2callback", "", 302, (), "/"),  # back from a sign-out at the provider
        ("/auth/login", "provider=x", 302, (), "/"),
        ("/lens", "error=access_denied", 302, (), "/"),
    ],
)
def test_a_failed_sign_in_leads_to_its_reason(path, query, status, cookies, location):
    given = answer(path, query, status, *cookies)
    assert given[1] == location
    if "sign_in" in location:
        assert given[0] == 302 and given[2] == b"" and location.split("=")[1] in accounts.REASONS
