"""The command: it serves until it is ended, and says what it cannot do."""

from __future__ import annotations

import signal
import subprocess
import sys

import pytest

pytest.importorskip("openenv")

from patchwork_env import cli
from patchwork_env.integrations.openenv import PatchworkEnv

pytestmark = pytest.mark.older


def test_serves_until_ctrl_c() -> None:
    command = [sys.executable, "-m", "patchwork_env.cli", "openenv", "--game", "nmbr9", "--port", "0"]
    settings = ["--set", "players=2", "--set", "seat=0", "--opponent", "random"]
    with subprocess.Popen(
        [*command, *settings], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        address = process.stdout.readline().strip()
        assert address.startswith("http://127.0.0.1:")
        with PatchworkEnv(address).sync() as env:
            told = env.reset(seed=7).observation
            assert (told.game, told.seat, len(told.scores)) == ("nmbr9", 0, 2)
            assert env.state().opponent == "random"
        process.send_signal(signal.SIGINT)
        assert process.communicate(timeout=30) == ("", "")
        assert process.returncode == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--set", "penalti=1"], "there is no option 'penalti'; did you mean 'penalty'?"),
        (["--set", "penalty"], "'penalty' is no setting; settings look like 'penalty=0.2'"),
        (["--set", "penalty=NaN"], "penalty is"),
        (["--port", "70000"], "the port is 70000; allowed are 0 to 65535"),
        (["--sessions", "0"], "sessions is 0"),
        (["--opponent", "gredy"], "there is no agent 'gredy'"),
        (["--game", "nmbr9", "--set", "players=7"], "players is 7; allowed are 1 to 4"),
    ],
)
def test_what_is_wrong_is_told(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    port = [] if "--port" in arguments else ["--port", "0"]
    try:
        code = cli.main(["openenv", *port, *arguments])
    except SystemExit as ended:
        code = int(ended.code or 0)
    said = capsys.readouterr()
    assert (code, said.out) == (2, "")
    assert message in said.err
