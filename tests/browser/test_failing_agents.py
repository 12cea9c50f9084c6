"""Agents that fail while somebody plays: the page says so, and everything else goes on."""

from __future__ import annotations

from typing import Any

import pytest

from tests.browser.playing import game_of, role, wait_for_move
from tests.browser.serving import Server

pytestmark = pytest.mark.browser
ODD = "tests.play.odd_agents"


def against(agent: str) -> str:
    """The address of a game in which an agent begins."""
    return f"?game=patchwork&opponent={agent}&seat=1&seed=7"


def test_an_agent_that_fails_is_named_and_another_can_play(open_page: Any) -> None:
    with Server("--opponent", f"{ODD}:raises") as server:
        page = open_page(against(f"{ODD}:raises"), at=server)
        notice = page.wait_for_selector(".notice.error").inner_text()
        assert f"{ODD}:raises" in notice
        assert "ZeroDivisionError" in notice
        assert game_of(page).num_moves == 0
        wait_for_move(open_page(against("greedy"), at=server), 0)


def test_nobody_else_waits_for_an_agent_that_hangs(open_page: Any) -> None:
    with Server("--opponent", f"{ODD}:hangs") as server:
        waiting = open_page(against(f"{ODD}:hangs"), at=server)
        waiting.wait_for_selector('[data-role="status"][data-thinking="true"]')
        other = open_page(against("greedy"), at=server)
        wait_for_move(other, 0)
        assert game_of(waiting).num_moves == 0
        assert role(waiting, "status").get_attribute("data-thinking") == "true"


def test_code_that_the_command_line_did_not_name_is_not_run(open_page: Any) -> None:
    page = open_page(against(f"{ODD}:raises"))
    assert "would run code" in page.wait_for_selector(".notice.error").inner_text()
