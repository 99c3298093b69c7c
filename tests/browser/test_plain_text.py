"""In a real browser, text from files is displayed literally by Streamlit's Markdown and never
becomes a link."""

import subprocess
import sys
from pathlib import Path

from tests.material.lab_server import ROOT, free_port, wait_until_up

HOSTILE = [
    "http://x.com/a?b=c",
    "https://evil.example.org",
    "HTTP://X.COM",
    "http:////x.com",
    "www.x.com",
    "WWW.X.COM",
    "(www.x.com)",
    "##www.x.com",
    "_www.x.com_",
    "a@b.co",
    "a+b@c-d.org",
    "@@a@b.co",
    "mailto:a@b.co",
    "xmpp:a@b.co/r",
    "ftp://x.com",
    "javascript:alert(1)",
    "data:text/html,x",
    "//x.com",
    "[x](http://y.com)",
    "![a](http://b.com/c.png)",
    "<http://x.com>",
    "[1]: http://x.com",
    "[^1]",
    "&#104;ttp://x.com",
    "http:\\/\\/x.com",
    "a@b.co@www.x.com",
    ":material/home:",
    "$x$",
    ":red[x]",
    ":small[]",
    ":smile:",
    "~~x~~",
    "`x`",
    "-->",
    "&lt;b&gt;",
]
APP = f"""
import streamlit as st
from vocadapt.ui.text.markup import plain
for place, text in enumerate({HOSTILE!r}):
    with st.container(key=f"text_{{place}}"):
        st.markdown(plain(text))
        st.caption(f"**{{plain(text)}}**, :small[:gray[{{plain(text)}}]]")
        st.button(plain(text), key=f"button_{{place}}")
        st.progress(0.5, text=plain(text))
        st.warning(plain(text))
st.container(key="end").markdown("end")
"""


def test_no_text_becomes_a_link_and_each_is_shown_as_it_is(browser, tmp_path: Path):
    from playwright.sync_api import expect

    (tmp_path / "app.py").write_text(APP, encoding="utf-8")
    port = free_port()
    line = (
        f"-m streamlit run {tmp_path}/app.py --server.port {port} --server.headless true"
        " --server.address 127.0.0.1 --browser.gatherUsageStats false"
    )
    command = [sys.executable, *line.split()]
    server = subprocess.Popen(
        command, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    page = browser.new_page()
    try:
        wait_until_up(f"http://127.0.0.1:{port}", server)
        page.goto(f"http://127.0.0.1:{port}")
        page.locator(".st-key-end p").wait_for(timeout=90_000)
        for place, text in enumerate(HOSTILE):
            box = page.locator(f".st-key-text_{place}")
            parts = box.locator(
                "[data-testid=stMarkdownContainer], [data-testid=stCaptionContainer]"
            )
            expect(parts).to_have_count(5, timeout=30_000)
            assert box.locator("a").count() == 0, text
            assert box.locator("img, math, .katex").count() == 0, text
            shown = [
                text.rstrip("\n")
                for text in parts.evaluate_all("all => all.map(one => one.innerText)")
            ]
            assert shown == [text, f"{text}, {text}", text, text, text]
    finally:
        page.close()
        server.terminate()
        server.wait(30)
