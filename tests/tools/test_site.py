"""The parts of `make site` that need no toolchain: memory, facts, the folder, and missing tools."""

from __future__ import annotations

import json
from typing import Any, NamedTuple

import numpy as np
import pytest

from patchwork_env.nmbr9.state import STATE
from tools.site import toolchain
from tools.site.facts import fields_of
from tools.site.folder import assemble, check_sizes, files_of, sizes_of, table_of
from tools.site.memory import Block
from tools.site.toolchain import MissingToolError, check_versions, find_node


class Inner(NamedTuple):
    numbers: Any
    factor: float


class Memory(NamedTuple):
    first: Any
    inner: Inner
    last: Any


def test_arrays_are_consecutive_and_aligned_to_64_bytes():
    memory = Memory(np.zeros(3, np.int16), Inner(np.zeros((5, 4)), 0.5), np.zeros(1, np.uint64))
    block = Block("block", memory)
    assert block.places == {"first": 0, "inner.numbers": 64, "last": 64 + 192}
    assert block.size == 64 + 192 + 64
    assert "@block = global [320 x i8] zeroinitializer" in block.definition()


def test_the_fields_of_a_record_are_where_numpy_has_them():
    states = np.frombuffer(np.random.default_rng(0).bytes(STATE.itemsize), STATE)
    data = states.tobytes()
    for name, field in fields_of(STATE).items():
        count = 1 if field["count"] is None else field["count"]
        found = np.frombuffer(data, np.dtype(f"<{field['type']}"), count, field["offset"])
        assert found.tolist() == np.ravel(states[0][name]).tolist(), name
    assert fields_of(STATE)["round"]["count"] is None


def test_the_folder_is_the_page_with_modules_and_a_list_of_its_files(tmp_path):
    modules, site = tmp_path / "modules", tmp_path / "site"
    modules.mkdir()
    (modules / "game.wasm").write_bytes(b"\0asm")
    assemble(site, modules)
    index = (site / "index.html").read_text(encoding="utf-8")
    assert '<meta name="backend" content="wasm">' in index
    worker = (site / "service_worker.js").read_text(encoding="utf-8")
    listed = json.loads(worker.split("FILES = ")[1].split(";")[0])
    assert {*listed} == {"./", *files_of(site)} - {"service_worker.js"}
    (modules / "game.wasm").write_bytes(b"\0wsm")
    assemble(site, modules)
    assert (site / "service_worker.js").read_text(encoding="utf-8") != worker, "a version of other contents"
    assert {
        "index.html",
        "manifest.webmanifest",
        "js/wasm_worker.js",
        "rules/fa.html",
        "style/rules.css",
        "wasm/game.wasm",
    } <= {*listed}
    assert "import" not in (site / "js/wasm_worker.js").read_text(encoding="utf-8")
    sizes = sizes_of(site)
    assert [size.part for size in sizes] == ["page", "wasm/game.wasm"]
    assert sizes[1].raw == 4
    assert "wasm/game.wasm" in table_of(sizes)
    check_sizes(sizes)
    with pytest.raises(ValueError, match=r"the page has [\d,]+ bytes as gzip, .* allowed are 10$"):
        check_sizes(sizes, 10)


def test_a_missing_tool_is_an_error_of_one_line(monkeypatch):
    monkeypatch.setattr(toolchain.shutil, "which", lambda name: None)
    with pytest.raises(MissingToolError, match=r"^Node\.js of version 18 or newer is not there: apt-get .+$"):
        find_node()


def test_packages_must_be_those_of_the_lock():
    lock = "llvmlite==0.50.0\nnumba==0.68.1\n"
    check_versions(lock, {"numba": "0.68.1", "llvmlite": "0.50.0"})
    with pytest.raises(MissingToolError, match=r"^numba is 0\.69\.0, but requirements\.lock has 0\.68\.1"):
        check_versions(lock, {"numba": "0.69.0"})
