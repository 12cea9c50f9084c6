"""Over a slow network the page shows itself at once, and asks for little until one can play."""

from __future__ import annotations

import pytest

pytestmark = pytest.mark.browser

SLOW = {"offline": False, "latency": 0, "downloadThroughput": 20 * 1024, "uploadThroughput": 20 * 1024}
MOST_BYTES = 90_000
"""The most that is sent until one can play, the scripts and the first position included."""
BESIDES = ("api/agents", "api/analyse")
"""What is asked while one can already play."""
PAINTED_BEFORE_THE_END = """
() => performance.getEntriesByName("first-contentful-paint")[0].startTime
  < performance.getEntriesByType("navigation")[0].responseEnd
"""


@pytest.mark.parametrize(
    ("query", "asked"),
    [
        ("?seed=7&lang=en", ["", "icon.svg", "api/open"]),
        ("?game=nmbr9&seed=7&lang=fa", ["", "icon.svg", "languages/fa.json", "api/open"]),
    ],
)
def test_what_is_sent_until_one_can_play(chromium, server, query, asked):
    context = chromium.new_context()
    page = context.new_page()
    network = context.new_cdp_session(page)
    network.send("Network.enable")
    network.send("Network.emulateNetworkConditions", SLOW)
    sent: dict[str, int] = {}
    requests: list[str] = []
    page.on("request", lambda request: requests.append(request.url))
    network.on(
        "Network.loadingFinished", lambda end: sent.update({end["requestId"]: end["encodedDataLength"]})
    )
    page.goto(server.address + query, wait_until="commit")
    page.wait_for_selector(".skeleton")
    page.wait_for_selector("[data-ready]", state="attached")
    assert {url.removeprefix(server.address).partition("?")[0] for url in requests} <= {*asked, *BESIDES}
    assert sum(sent.values()) < MOST_BYTES
    assert page.evaluate(PAINTED_BEFORE_THE_END)
    context.close()
