"""A server of the page in a process of its own, and pages in headless Chromium."""

from __future__ import annotations

import shutil

import pytest

from tests.browser.serving import Server

FLAGS = (
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync"),
    *("--disable-background-networking", "--disable-component-update"),
    "--host-resolver-rules=MAP *.test 127.0.0.1",  # names that lead to this machine, as an attacker's may
)


@pytest.fixture(scope="session")
def server():
    """A server that lives as long as the tests."""
    with Server() as running:
        yield running


@pytest.fixture(scope="session")
def chromium():
    """A browser."""
    playwright = pytest.importorskip("playwright.sync_api")
    path = shutil.which("chromium")
    if path is None:
        pytest.fail("the page is driven in Chromium, which is not installed: apt-get install chromium")
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=path, args=list(FLAGS))
        yield browser
        browser.close()


@pytest.fixture
def open_page(chromium, server):
    """Opens pages: ``open_page("?seed=7", touch=True)``; none of them may have had an error in the end."""
    errors: list[str] = []
    contexts = []

    def open_at(query, *, at=server, touch=False, **options):
        size = {"width": 360, "height": 740} if touch else {"width": 1280, "height": 900}
        options = {"viewport": size, "has_touch": touch, "reduced_motion": "reduce"} | options
        context = chromium.new_context(**options)
        contexts.append(context)
        page = context.new_page()
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.goto(at.address + query)
        page.wait_for_selector("[data-ready]", state="attached")
        return page

    yield open_at
    for context in contexts:
        context.close()
    assert not errors
