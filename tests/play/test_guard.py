"""Requests that the server accepts or refuses, and the headers of every answer."""

import mimetypes

import pytest

from patchwork_env.play.server import HEADERS
from patchwork_env.service.fields import MOST_BYTES
from patchwork_env.service.guard import JsonResponse, RequestGuard
from tests.play.client import HOST, PORT, Client, one_client

OPEN = {"game": "patchwork", "seed": 1}
client = one_client


def refused(answer, status, words):
    assert (answer.status, list(answer.json)) == (status, ["error"])
    assert answer.headers["content-type"] == "application/json"
    assert words in answer.json["error"]
    assert HEADERS.items() <= {name.title(): value for name, value in answer.headers.items()}.items()


@pytest.mark.parametrize(
    "host", ["evil.example", f"evil.example:{PORT}", "127.0.0.1", "127.0.0.1:1", "", "[::1]:8053"]
)
def test_other_hosts_are_refused(client, host):
    refused(client.ask("/api/open", OPEN, headers={"host": host}), 403, f"this server is {HOST} or localhost")
    refused(client.get("/", host=host), 403, f"not {host!r}")


@pytest.mark.parametrize(
    "origin", [None, "null", "", "http://evil.example", "http://127.0.0.1:1", f"http://{HOST}.evil", HOST]
)
def test_other_origins_are_refused(client, origin):
    for method in ("POST", "OPTIONS"):  # browsers ask with the second before they send foreign messages
        answer = client.ask("/api/open", OPEN, method=method, headers={"origin": origin})
        refused(answer, 403, "must come from the page")
    if origin is not None:
        refused(client.get("/", origin=origin), 403, f"Origin is {origin!r}")


def test_other_names_of_the_same_are_let_in():
    kind = {"content-type": "application/json; charset=utf-8"}
    for port, host in ((PORT, HOST), (PORT, f"localhost:{PORT}"), (80, "localhost"), (80, "127.0.0.1")):
        headers = {"host": host, "origin": f"http://{host}", **kind}
        assert Client(port=port).ask("/api/open", OPEN, headers=headers).status == 200


@pytest.mark.parametrize("kind", [None, "text/plain", "multipart/form-data", "application/jsonx"])
def test_content_types_of_forms_are_refused(client, kind):
    refused(client.ask("/api/open", OPEN, headers={"content-type": kind}), 415, "must be application/json")


@pytest.mark.parametrize("method", ["GET", "PUT", "DELETE", "OPTIONS", "TRACE"])
def test_messages_are_posted(client, method):
    refused(client.ask("/api/open", OPEN, method=method), 405, f"{method} is not allowed here")
    if method != "GET":
        refused(client.ask("/index.html", OPEN, method=method), 405, f"{method} is not allowed here")


def test_long_messages_are_refused(client):
    longest = b'{"game": "patchwork", "seed": 1}'.ljust(MOST_BYTES)
    assert client.ask("/api/open", longest).status == 200
    refused(client.ask("/api/open", longest + b" "), 413, "more than 65,536 bytes")
    refused(client.ask("/api/choose", b"x" * 10**6), 413, "more than 65,536 bytes")


@pytest.mark.parametrize(
    ("length", "status"),
    [("10", 200), ("ten", 200), ("11", 413), ("10" + "0" * 5000, 413), ("0011", 413), (None, 411)],
)
def test_the_length_of_a_message_of_a_program_is_given_and_bounded(length, status):
    client, chunked = Client(), "chunked" if length is None else None
    client.app = RequestGuard(JsonResponse({}), None, allows_programs=True, most_bytes=10)
    headers = dict.fromkeys(("host", "origin", "content-type"))  # as programs may send none of them
    headers |= {"content-length": length, "transfer-encoding": chunked}
    assert client.ask("/", {}, headers=headers).status == status


@pytest.mark.parametrize(
    "path",
    [
        *("/../command.py", "/js/../../command.py", "//etc/passwd", "/..\\command.py", "/C:/x", "/\0"),
        *("/" + "x" * 5000, "/%2e%2e/command.py", "/js/../../../../../../../../etc/passwd", "/\ud800"),
        *("/nothing.js", "/api/opne", "/js"),
    ],
)
def test_there_is_nothing_outside_the_page(client, path):
    answer = client.get(path)
    if path == "/js":  # a folder is not listed, either
        assert answer.status in (307, 404)
    else:
        refused(answer, 404, "there is no")


def test_files_come_with_their_types_and_are_asked_for_again():
    mimetypes.add_type("text/plain", ".js")  # as on some systems
    client = Client()
    page = client.get("/")
    assert page.headers["content-type"].startswith("text/html")
    assert page.body == client.get("/index.html").body
    script = client.get("/js/main.js")
    assert script.headers["content-type"].startswith("text/javascript")
    assert script.headers["cache-control"] == "no-cache"
    again = client.get("/js/main.js", **{"if-none-match": script.headers["etag"]})
    assert (again.status, again.body) == (304, b"")


def test_every_answer_has_the_headers(client):
    for answer in (client.get("/"), client.ask("/api/open", OPEN), client.get("/nothing")):
        given = {name: answer.headers[name.lower()] for name in HEADERS}
        policy = given["Content-Security-Policy"].partition("; style-src")[0]
        assert given | {"Content-Security-Policy": policy} == HEADERS
    assert "default-src 'self'" in HEADERS["Content-Security-Policy"]
    assert "unsafe" not in HEADERS["Content-Security-Policy"]
