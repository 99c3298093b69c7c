"""Sign-in with accounts of a provider: the account, not the browser, decides about the workspace."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.material.browser import add_text, open_part
from tests.material.lab_server import PATIENCE, start_server, stop_server
from tests.material.openid_provider import CLIENT, Provider, run_provider
from vocadapt.lab.workspace.visitors import name_folder

SECRETS = """
[auth]
redirect_uri = "http://127.0.0.1:{port}/oauth2callback"
cookie_secret = "a-secret-of-this-test-only-0123456789"
client_id = "CLIENT"
client_secret = "secret"
server_metadata_url = "ADDRESS/.well-known/openid-configuration"
"""
ANN = {"sub": "../../ann", "email": "ann@example.org"}
BEN = {"sub": "ben", "email": "ben@example.org"}


@pytest.fixture(scope="module")
def provider() -> Iterator[Provider]:
    """A provider on this machine."""
    with run_provider() as running:
        yield running


@pytest.fixture(scope="module")
def shared(tmp_path_factory, provider) -> Iterator[tuple[str, Path]]:
    """A server that requires sign-in: its address, and the folder of the visitors."""
    folder = tmp_path_factory.mktemp("signed")
    (folder / ".streamlit").mkdir()
    secrets = SECRETS.replace("ADDRESS", provider.address).replace("CLIENT", CLIENT)
    (folder / ".streamlit" / "secrets.toml").write_text(secrets)
    options = ("--sharing", '{"workspace_per_visitor": true, "sign_in": true}')
    server, address = start_server(folder / "visitors", folder, *options)
    yield address, folder / "visitors"
    stop_server(server)


@pytest.fixture
def sign_in(browser, shared, provider):
    """Sign in with an account in a new browser; return the page."""
    contexts = []

    def visit(account: dict[str, str]):
        context = browser.new_context(viewport={"width": 1440, "height": 980})
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(PATIENCE)
        page.goto(shared[0])
        page.get_by_text("Sign in to open this lab.").wait_for()
        assert "Workspace" not in page.content() and "Tokenizer lens" not in page.content()
        provider.account = account
        page.get_by_role("button", name="Sign in").click()
        page.get_by_text(f"Signed in as {account['email']}").wait_for()
        return page

    yield visit
    for context in contexts:
        context.close()


@pytest.mark.slow
def test_an_account_has_its_workspace_on_every_device(sign_in, shared, provider):
    address, visitors = shared
    folder = visitors / name_folder("account", provider.address, ANN["sub"])
    ann = sign_in(ANN)
    add_text(folder, 1111)
    open_part(ann, address)
    ann.get_by_text("1\u202f111").first.wait_for()

    elsewhere = sign_in({**ANN, "email": "ann.new@example.org"})
    elsewhere.get_by_text("1\u202f111").first.wait_for()
    ben = sign_in(BEN)
    ben.get_by_text("See it work first").wait_for()
    assert [path.name for path in visitors.glob("visitor-*")] == [folder.name]

    # Signed out, there is only the page to sign in, under every address.
    ann.get_by_role("button", name="Sign out").click()
    ann.get_by_text("Sign in to open this lab.").wait_for()
    ann.goto(f"{address}/lens")
    ann.get_by_text("Sign in to open this lab.").wait_for()
    assert "demo-biomedical" not in ann.content()


@pytest.mark.slow
def test_a_sign_out_ends_the_other_tabs_and_a_copied_cookie(sign_in, shared, browser):
    ann = sign_in(ANN)
    other = ann.context.new_page()
    other.goto(shared[0])
    other.get_by_text(f"Signed in as {ANN['email']}").wait_for()
    copied = ann.context.cookies()
    ann.wait_for_timeout(1100)  # a sign-in counts by the second
    ann.get_by_role("button", name="Sign out").click()
    for tab in (ann, other):  # the other one without a click
        tab.get_by_text("Sign in to open this lab.").wait_for()
    thief = browser.new_context()
    thief.add_cookies(copied)
    page = thief.new_page()
    page.goto(f"{shared[0]}/lens")
    page.get_by_text("You have signed out.").wait_for()
    assert "Workspace" not in page.content()
    thief.close()
    # A new sign-in works.
    ann.wait_for_timeout(1100)
    ann.get_by_role("button", name="Sign in").click()
    ann.get_by_text(f"Signed in as {ANN['email']}").wait_for()


@pytest.mark.slow
def test_a_failed_sign_in_says_why(browser, shared, provider):
    page = browser.new_page()
    page.set_default_timeout(PATIENCE)
    page.goto(shared[0])
    provider.error = "access_denied"
    try:
        page.get_by_role("button", name="Sign in").click()
        page.get_by_text("The provider refused the sign-in, or it was canceled there.").wait_for()
    finally:
        provider.error = ""
    page.close()
