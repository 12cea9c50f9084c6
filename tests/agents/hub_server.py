"""A fake Hugging Face Hub: an in-memory HTTP server with the requests of its client library.

Repositories hold commits, and a commit files by name. Files are downloaded from
``/owner/name/resolve/revision/file``; uploads go through ``create``, ``validate-yaml``, ``preupload`` and
``commit``.
"""

from __future__ import annotations

import base64
import hashlib
import json
import threading
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import unquote

from patchwork_env.agents import hub


@dataclass
class Repository:
    private: bool = False
    gated: bool = False
    commits: dict[str, dict[str, bytes]] = field(default_factory=dict)
    branches: dict[str, str] = field(default_factory=dict)

    def commit(self, files, branch="main"):
        """Add a commit with these files and those of the previous one; return its hash."""
        files = {**self.files(branch), **files}
        digits = hashlib.sha1(b"".join(k.encode() + v for k, v in files.items()) + bytes([len(self.commits)]))
        self.commits[digits.hexdigest()] = files
        self.branches[branch] = digits.hexdigest()
        return digits.hexdigest()

    def files(self, revision):
        return self.commits.get(self.branches.get(revision, revision), {})


@dataclass
class Hub:
    """The repositories, the requests so far, and the address of the server."""

    address: str
    repositories: dict[str, Repository] = field(default_factory=dict)
    requests: list[str] = field(default_factory=list)
    messages: list[str] = field(default_factory=list)

    def add(self, name, files, **kind):
        """Add a repository with one commit; return the hash of the commit."""
        self.repositories[name] = Repository(**kind)
        return self.repositories[name].commit(files)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    hub: Hub

    def log_message(self, *arguments):
        pass

    def answer(self, status, contents=None, **headers):
        body = contents if isinstance(contents, bytes) else json.dumps(contents or {}).encode()
        self.send_response(status)
        for name, value in ({"Content-Length": str(len(body))} | headers).items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def refuse(self, status, code):
        self.answer(status, {"error": code}, X_Error_Code=code, X_Error_Message=code)

    def do_HEAD(self):
        if "/resolve/" not in self.path:  # requests of the library that concern no file
            return self.refuse(404, "EntryNotFound")
        self.hub.requests.append(f"{self.command} {self.path}")
        owner, name, _, revision, file = self.path.split("?")[0].removeprefix("/").split("/", 4)
        repository = self.hub.repositories.get(f"{owner}/{name}")
        if repository is None or repository.private:
            return self.refuse(401, "RepoNotFound")
        if repository.gated:
            return self.refuse(403, "GatedRepo")
        commit = repository.branches.get(unquote(revision), unquote(revision))
        if commit not in repository.commits:
            return self.refuse(404, "RevisionNotFound")
        contents = repository.commits[commit].get(file)
        if contents is None:
            return self.refuse(404, "EntryNotFound")
        etag = f'"{hashlib.sha1(contents).hexdigest()}"'
        return self.answer(200, contents, ETag=etag, X_Repo_Commit=commit)

    do_GET = do_HEAD  # noqa: N815

    def do_POST(self):
        self.hub.requests.append(f"{self.command} {self.path}")
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if self.headers.get("Authorization") != "Bearer hf_writer":
            return self.refuse(401, "Unauthorized")
        if self.path == "/api/repos/create":
            asked = json.loads(body)
            name = f"{asked['organization']}/{asked['name']}"
            if name in self.hub.repositories:
                return self.answer(409, {"error": "it exists", "url": f"{self.hub.address}/{name}"})
            self.hub.repositories[name] = Repository(private=asked.get("visibility") == "private")
            return self.answer(200, {"url": f"{self.hub.address}/{name}"})
        if self.path == "/api/validate-yaml":
            return self.answer(200, {"errors": [], "warnings": []})
        _, _, _, owner, name, what, branch = self.path.split("/")
        if what == "preupload":
            paths = [file["path"] for file in json.loads(body)["files"]]
            modes = [{"path": path, "uploadMode": "regular", "shouldIgnore": False} for path in paths]
            return self.answer(200, {"files": modes})
        header, *files = [json.loads(line)["value"] for line in body.splitlines()]
        self.hub.messages.append(header["summary"])
        contents = {file["path"]: base64.b64decode(file["content"]) for file in files}
        commit = self.hub.repositories[f"{owner}/{name}"].commit(contents, branch)
        url = f"{self.hub.address}/{owner}/{name}/commit/{commit}"
        return self.answer(200, {"commitUrl": url, "commitOid": commit})


def use(hub_, folder, monkeypatch):
    """Make this process and its children use the fake Hub, with an empty cache in a folder."""
    from huggingface_hub import constants

    settings = {"HF_ENDPOINT": hub_.address, "HF_HOME": str(folder), "HF_TOKEN": "hf_writer"}
    for name, value in settings.items():
        monkeypatch.setenv(name, value)
    template = hub_.address + "/{repo_id}/resolve/{revision}/{filename}"
    monkeypatch.setattr(constants, "ENDPOINT", hub_.address)
    monkeypatch.setattr(constants, "HUGGINGFACE_CO_URL_TEMPLATE", template)
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(folder / "hub"))
    monkeypatch.setattr(constants, "HF_HUB_DISABLE_PROGRESS_BARS", True)
    monkeypatch.setattr(hub, "_found", {})


@contextmanager
def serving():
    """Serve a Hub within the block."""

    class Handler(_Handler):
        pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads = True
        Handler.hub = Hub(f"http://127.0.0.1:{server.server_port}")
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield Handler.hub
        finally:
            server.shutdown()
            thread.join()
