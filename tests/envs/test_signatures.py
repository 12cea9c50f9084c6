"""Signatures of environments: every option with its default, also for type checkers."""

from __future__ import annotations

import inspect
from pathlib import Path

import pytest

from patchwork_env import nmbr9_v0, patchwork_v0
from patchwork_env.envs.pettingzoo import GameAECEnv
from patchwork_env.envs.self_play import SelfPlayBatch
from patchwork_env.envs.single import GameEnv
from patchwork_env.envs.vector import GameVectorEnv

BASES = {"AECEnv": GameAECEnv, "ParallelEnv": GameAECEnv, "VectorEnv": GameVectorEnv, "Batch": SelfPlayBatch}
MAKERS = [
    pytest.param(module, name, id=f"{module.__name__.rpartition('.')[2]}.{name}")
    for module in (patchwork_v0, nmbr9_v0)
    for name in module.__all__
]
WRONG = {
    "patchwork_v0.raw_env(observaton='flat')": 'Unexpected keyword argument "observaton"',
    "patchwork_v0.env(players=2)": 'Unexpected keyword argument "players"',
    "patchwork_v0.PatchworkEnv('greedy', seat='left')": 'Argument "seat"',
    "patchwork_v0.PatchworkVectorEnv(8, render_mode='human')": 'Argument "render_mode"',
    "patchwork_v0.SelfPlayBatch(8, illegal_action='raise')": 'Unexpected keyword argument "illegal_action"',
    "nmbr9_v0.parallel_env(players='two')": 'Argument "players"',
    "nmbr9_v0.Nmbr9Env(deck=7)": 'Argument "deck"',
}
RIGHT = (
    "patchwork_v0.env('ansi', observation='dict', first_player='random')",
    "patchwork_v0.PatchworkEnv(seat=1, special_patches='2014', render_mode='rgb_array')",
    "nmbr9_v0.Nmbr9VectorEnv(8, ['random', 'greedy'], opponent_shares=[1, 2], autoreset_mode='NextStep')",
    "nmbr9_v0.SelfPlayBatch(8, seed=7, masks=False, deck=[1, 2])",
)


@pytest.mark.parametrize(("module", "name"), MAKERS)
def test_signatures_list_every_option_with_its_default(module, name):
    base = next((base for end, base in BASES.items() if name.endswith(end)), None)
    base = base or (GameAECEnv if name.endswith("env") else GameEnv)
    known = inspect.signature(base).parameters.values()
    expected = {each.name: each.default for each in known if each.name not in ("rules", "options")}
    expected |= module.RULES.options
    if name == "env":
        expected["illegal_action"] = "terminate"
    if "opponent" in expected:
        expected["opponent"] = "random" if module is patchwork_v0 else None
    parameters = inspect.signature(getattr(module, name)).parameters.values()
    assert {each.name: each.default for each in parameters} == expected
    assert all(each.annotation is not each.empty for each in parameters)


@pytest.mark.slow
def test_type_checkers_refuse_wrong_options(tmp_path):
    lines = ["from patchwork_env import nmbr9_v0, patchwork_v0", *RIGHT, *WRONG]
    mypy = pytest.importorskip("mypy.api")
    config = Path(__file__).parents[2] / "pyproject.toml"
    program = tmp_path / "program.py"
    program.write_text("\n".join(lines), encoding="utf-8")
    out, err, _ = mypy.run(["--config-file", str(config), "--no-error-summary", str(program)])
    errors = [line for line in out.splitlines() if ": error: " in line]
    assert len(errors) == len(WRONG), out + err
    for number, (line, problem) in enumerate(WRONG.items(), len(lines) - len(WRONG) + 1):
        assert any(f":{number}: error: {problem}" in each for each in errors), f"{line}\n{out}"
