"""Who visits the lab: sign-in with an account, and the workspace of each visitor.

A visitor is known by the account (OpenID Connect, by Streamlit's `st.login`) if the lab requires
one, otherwise by a random cookie, otherwise, in a browser without cookies, by the browser tab.
"""

import os
import re
import secrets
import sys
import threading
import time
from http.cookies import CookieError, SimpleCookie
from pathlib import Path

import streamlit as st

from vocadapt.errors import InputError
from vocadapt.lab.workspace.limits import find_visitors
from vocadapt.lab.workspace.visitors import (
    name_folder,
    record_visit,
    remove_unused_folders,
)
from vocadapt.ui.state import accounts
from vocadapt.ui.state.guard import Application, Scope, add_headers
from vocadapt.ui.text.markup import plain

SIGN_IN = "VOCADAPT_SIGN_IN"  # environment variable: "1" if visitors must sign in
COOKIE = "vocadapt_visitor"
COOKIE_VALUE = re.compile(r"[A-Za-z0-9_-]{43}")  # 32 random bytes in base64
COOKIE_DAYS = 180
TAB = "visitor_tab"  # session key: random identity of a tab without a cookie
LOOK_EVERY = 3600.0  # seconds between two removals of unused folders
SECTION = "auth"  # of Streamlit's secrets.toml


class CookieSetter:
    """ASGI middleware that gives every browser a random cookie when it requests a page."""

    def __init__(self, app: Application) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Application, send: Application) -> None:
        """Forward a request; add the cookie to the response if it is a page."""
        headers = dict(scope.get("headers", ()))
        is_page = scope["type"] == "http" and b"text/html" in headers.get(b"accept", b"")
        if not is_page or find_visitors() is None:
            await self.app(scope, receive, send)
            return
        # The cookie is sent again at each visit, so that it expires only when it is not used.
        value = read_cookie(headers.get(b"cookie", b"")) or secrets.token_urlsafe(32)
        forwarded = headers.get(b"x-forwarded-proto", b"")
        # Scripts cannot read it, and other sites do not send it.
        line = f"{COOKIE}={value}; Path=/; Max-Age={COOKIE_DAYS * 86_400}; HttpOnly; SameSite=Lax"
        if b"https" in (forwarded, scope["scheme"].encode()):
            line += "; Secure"
        await self.app(scope, receive, add_headers(send, [(b"set-cookie", line.encode())]))


def read_cookie(header: bytes) -> str:
    """Return the visitor's cookie in a header; "" if there is no valid one."""
    try:
        found = SimpleCookie(header.decode("latin-1")).get(COOKIE)
    except CookieError:
        return ""
    return check_cookie(found.value if found else "")


def read_session_cookie() -> str:
    """Return the visitor's cookie of this session; "" if there is no valid one."""
    return check_cookie(st.context.cookies.get(COOKIE, ""))


def check_cookie(value: str) -> str:
    """Return a value if it can be the visitor's cookie, "" otherwise."""
    return value if COOKIE_VALUE.fullmatch(value) else ""


def is_sign_in_required() -> bool:
    """Return whether visitors must sign in."""
    return os.environ.get(SIGN_IN) == "1"


def is_signed_in() -> bool:
    """Return whether the visitor has signed in with an account, and not signed out since."""
    return bool(accounts.find_account()[1]) and not accounts.has_signed_out()


def find_folder() -> Path | None:
    """Return the folder of the visitor of this session, which may not exist yet; None if all
    visitors share one.

    Raises InputError if the visitor must sign in first.
    """
    root = find_visitors()
    if root is None:
        return None
    if is_sign_in_required():
        if not is_signed_in():
            raise InputError("You are not signed in.", "Reload the page, and sign in.")
        # An account is known by its provider and its number there: names and addresses change.
        return root / name_folder("account", *accounts.find_account())
    if cookie := read_session_cookie():
        return root / name_folder("cookie", cookie)
    tab = st.session_state.setdefault(TAB, secrets.token_urlsafe(32))
    return root / name_folder("tab", tab)


def has_tab_only() -> bool:
    """Return whether the visitor's workspace cannot be found again: the browser keeps no cookie."""
    if find_visitors() is None or is_sign_in_required():
        return False
    return not read_session_cookie()


def record_this_visit() -> None:
    """Record that the visitor's folder is in use."""
    folder = find_folder()
    if folder is not None:
        record_visit(folder)


def draw_sign_in() -> None:
    """Draw the page of a visitor who must sign in."""
    st.title("vocadapt")
    if st.user.get("is_logged_in") and not st.user.get("sub"):
        st.warning(
            "Your account has no identifier (the claim sub), so it cannot have a workspace.",
            icon=":material/badge:",
        )
        st.button("Sign out", on_click=st.logout, icon=":material/logout:")
        return
    failure = st.query_params.get(accounts.FAILURE)
    if failure:
        reason = accounts.REASONS.get(failure, accounts.REASONS[accounts.UNCONFIRMED])
        st.error(f"You are not signed in. {reason}", icon=":material/error:")
        st.markdown(
            "Try again; if it fails again, ask the operator of the lab, whose log says more."
        )
    elif accounts.has_signed_out():
        st.info("You have signed out.", icon=":material/logout:")
    st.markdown("Sign in to open this lab.")
    for provider in list_providers():
        label = f"Sign in with {plain(provider)}" if provider else "Sign in"
        st.button(
            label,
            type="primary",
            icon=":material/login:",
            key=f"sign_in_{provider}",
            on_click=st.login,
            args=(provider or None,),
        )


def draw_account() -> None:
    """Draw the visitor's account and the button to sign out, in the sidebar."""
    name = st.user.get("email") or st.user.get("name") or st.user.get("sub")
    st.markdown(f":small[:gray[Signed in as {plain(str(name))}]]")
    st.button(
        "Sign out",
        on_click=accounts.sign_out,
        icon=":material/logout:",
        key="sign_out",
        help="Ends all sessions of your account, in other tabs and browsers, too.",
    )


def list_providers() -> list[str]:
    """Return the names of the providers in secrets.toml; [""] for a single one without a name."""
    from streamlit.auth_util import get_secrets_auth_section

    section = get_secrets_auth_section()
    named = [name for name, value in section.items() if hasattr(value, "keys")]
    named = [name for name in named if "client_id" in section[name]]
    return named or [""]


def check_sign_in() -> None:
    """Raise InputError if visitors cannot sign in: no settings, or no library for it."""
    from streamlit.auth_util import get_secrets_auth_section, is_authlib_installed

    if not get_secrets_auth_section():
        raise InputError(
            f"Sign-in is not set up: there is no section [{SECTION}] in .streamlit/secrets.toml.",
            "Write one in the current or the home folder; docs/deploy.md has an example.",
        )
    if not is_authlib_installed():
        raise InputError(
            "Sign-in needs the package Authlib.",
            "Install it with pip install 'vocadapt[sign-in]'.",
        )


def start_removing(visitors: Path, days: float) -> threading.Thread:
    """Start the thread that removes the folders of visitors that were not used for so many days."""

    def work() -> None:
        while True:
            try:
                remove_unused_folders(visitors, days)
            except OSError as error:
                sys.stderr.write(f"Warning: {visitors} cannot be cleaned up: {error.strerror}.\n")
            time.sleep(LOOK_EVERY)

    thread = threading.Thread(target=work, name="visitors", daemon=True)
    thread.start()
    return thread
