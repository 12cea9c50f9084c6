"""Checkpoints on the Hugging Face Hub: ``hf:owner/name@revision`` names the one in a repository.

The two files of a checkpoint are downloaded from the top folder of the repository. The description comes
first, and is validated before the weights are downloaded. ``huggingface_hub`` keeps both in its cache and
reads its own settings: ``HF_TOKEN``, ``HF_HOME``, ``HF_ENDPOINT``, and ``HF_HUB_OFFLINE=1`` to use only the
cache.
"""

from __future__ import annotations

import re
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from patchwork_env import __version__
from patchwork_env.agents.checkpoints import CHECKPOINT_FILE, WEIGHTS_FILE, Checkpoint, read_checkpoint
from patchwork_env.core.documents import one_line
from patchwork_env.core.extras import from_extra
from patchwork_env.core.names import short_repr

PREFIX, FORM = "hf:", "hf:owner/name@revision"
"""The beginning and the form of names on the Hub; without a revision, the newest one is meant."""
MOST_BYTES = {CHECKPOINT_FILE: 2**20, WEIGHTS_FILE: 2**28}
"""The files of a checkpoint, and the maximum size in bytes of each."""
_LIBRARY = {"library_name": "patchwork-env", "library_version": __version__}
_WORD = r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,95}"  # not ``..``, which would lead out of the cache's folder
_NAME = re.compile(rf"{PREFIX}(?P<repository>{_WORD}/{_WORD})(@(?P<revision>{_WORD}(/{_WORD}){{0,4}}))?")
_found: dict[str, Checkpoint] = {}
"""The checkpoints that this process has fetched, by name; they stay even if their repositories change."""
_lock = threading.Lock()


def is_on_hub(name: str) -> bool:
    """Whether a name has the prefix of the Hub; the rest may be malformed."""
    return name.startswith(PREFIX)


def fetch(name: str) -> Checkpoint:
    """Return the checkpoint of a name, which is downloaded unless it is cached.

    Within a process, a name always means the same commit. Without a revision, a warning names the commit.

    Raises:
        ValueError: The name is malformed, or the repository has no checkpoint of this library, or one that is
            too large.
        FileNotFoundError: There is no such repository, revision or file, or it is private, or it is not
            cached and ``HF_HUB_OFFLINE`` is set.
        ConnectionError: The Hub cannot be reached.
    """
    match = _NAME.fullmatch(name)
    if match is None:
        raise ValueError(f"{short_repr(name, 200)} is not a name on the Hugging Face Hub; write {FORM}")
    repository, revision = match["repository"], match["revision"]
    with _lock:
        if name not in _found:
            _found[name] = _download(repository, revision)
            if revision is None:
                warnings.warn(f"{name} may change; what it is now stays at {_found[name].name}", stacklevel=2)
        return _found[name]


def _download(repository: str, revision: str | None) -> Checkpoint:
    description = _file(repository, revision, CHECKPOINT_FILE)
    commit = description.parent.name
    try:
        checkpoint = read_checkpoint(description.parent)
    except ValueError as error:
        reason = f"{CHECKPOINT_FILE} {str(error).removeprefix(f'{description} ')}"
        raise ValueError(f"{PREFIX}{repository} is not a checkpoint of this library: {reason}") from None
    _file(repository, commit, WEIGHTS_FILE)  # not those of the revision, which may have moved on
    return replace(checkpoint, name=_name_of(repository, commit))


def _name_of(repository: str, commit: str) -> str:
    return f"{PREFIX}{repository}@{commit}"


def _file(repository: str, revision: str | None, file: str) -> Path:
    hub = _library()
    with _explained(repository, revision, file):
        arguments = {"repo_id": repository, "filename": file, "revision": revision, **_LIBRARY}
        size = hub.hf_hub_download(**arguments, dry_run=True).file_size
        if size is None or size > MOST_BYTES[file]:
            given = f"{file} of {PREFIX}{repository} has {'?' if size is None else f'{size:,}'} bytes"
            raise ValueError(f"{given}; at most {MOST_BYTES[file]:,} are allowed")
        return Path(hub.hf_hub_download(**arguments))


def _library() -> Any:
    with from_extra("hub", "checkpoints on the Hugging Face Hub need"):
        import huggingface_hub
    return huggingface_hub


@contextmanager
def _explained(repository: str, revision: str | None = None, file: str = "") -> Iterator[None]:
    """Convert errors of the Hub's client into those of :func:`fetch`, with a message of one line."""
    from huggingface_hub import constants, errors

    name, where = f"{PREFIX}{repository}", constants.ENDPOINT
    missing = {
        errors.GatedRepoError: f"{name} requires a request for access: see {where}/{repository}",
        errors.RepositoryNotFoundError: f"{where} has no repository {repository!r}, or it is private and "
        "HF_TOKEN gives no access to it",
        errors.RevisionNotFoundError: f"{name} has no revision {revision!r}",
        errors.LocalEntryNotFoundError: f"{name} is not in the cache, and HF_HUB_OFFLINE forbids a download",
        errors.EntryNotFoundError: f"{name} is not a checkpoint of this library: it has no {file}",
    }
    try:
        yield
    except (errors.HTTPError, OSError) as error:
        if isinstance(error, errors.LocalEntryNotFoundError) and not constants.HF_HUB_OFFLINE:
            reason = f"{name} is not in the cache: {one_line(str(error.__cause__ or error))}"
            raise ConnectionError(f"{where} cannot be reached, and {reason}") from None
        for kind, message in missing.items():
            if isinstance(error, kind):
                raise FileNotFoundError(message) from None
        raise ConnectionError(f"{where} fails for {name}: {one_line(str(error))}") from None


# --- publishing -------------------------------------------------------------------------------------------


def publish(folder: Path, repository: str, *, private: bool = False, message: str = "A checkpoint") -> str:
    """Upload the files of a folder to a repository in one commit; return the name of the commit.

    A repository that does not exist is created, ``private`` or not. For errors see :func:`fetch`; ValueError
    also if the Hub refuses the page.
    """
    check_repository(repository)
    hub = _library()
    with _explained(repository):
        api = hub.HfApi(**_LIBRARY)
        api.create_repo(repository, private=private, exist_ok=True)
        additions = [hub.CommitOperationAdd(file.name, file) for file in sorted(folder.iterdir())]
        commit = api.create_commit(repository, additions, commit_message=message)
    return _name_of(repository, commit.oid)


def check_repository(repository: str) -> None:
    """Raise ValueError if the name of a repository does not have the form ``owner/name``."""
    if "@" in repository or _NAME.fullmatch(PREFIX + repository) is None:
        raise ValueError(f"the repository is {short_repr(repository, 200)}; write owner/name")
