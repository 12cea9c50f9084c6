"""Pages of others, open in the same browser, get nothing from the server and change nothing on it."""

import pytest

from tests.browser.serving import address_of, folder_server

pytestmark = pytest.mark.browser

POSTED = """
async (address) => {
  const body = JSON.stringify({ game: "patchwork", seed: 1 });
  const post = (more) => fetch(address, { method: "POST", body, ...more }).then(({ status }) => status);
  const answers = [post({ mode: "no-cors" }), post({ headers: { "content-type": "application/json" } })];
  return Promise.all(answers.map((answer) => answer.catch((error) => error.name)));
}
"""
SUBMITTED = """
(action) => {
  const form = document.createElement("form");
  Object.assign(form, { action, method: "post", enctype: "text/plain" });
  document.body.append(form);
  form.submit();
}
"""


@pytest.fixture
def page(chromium):
    """A page of nobody yet."""
    context = chromium.new_context()
    yield context.new_page()
    context.close()


@pytest.fixture
def elsewhere(tmp_path):
    """The address of another server's page on this machine; Chromium itself stops those from afar."""
    (tmp_path / "index.html").write_text("<title>Elsewhere</title>", encoding="utf-8")
    with folder_server(tmp_path) as other:
        yield address_of(other)


def test_a_page_of_another_origin_is_refused(page, server, elsewhere):
    page.goto(elsewhere)
    assert page.evaluate(POSTED, server.address + "api/open") == ["TypeError", "TypeError"]
    with page.expect_navigation() as navigation:
        page.evaluate(SUBMITTED, server.address + "api/open")
    assert navigation.value.status == 403


def test_a_name_that_leads_to_this_machine_is_refused(page, server):
    address = server.address.replace("127.0.0.1", "rebound.test")
    assert page.goto(address).status == 403
    assert page.evaluate(POSTED, address + "api/open") == [403, 403]


def test_the_page_itself_is_answered(page, server):
    page.goto(server.address)
    assert page.evaluate(POSTED, server.address + "api/open")[1] == 200
