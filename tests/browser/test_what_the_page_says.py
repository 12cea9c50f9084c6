"""What the page says about what cannot be had, in each of its languages, and at the end of a game."""

import json
import re
from urllib.parse import quote

import pytest

from patchwork_env.patchwork import Game
from tests.browser.playing import game_of, reload, role, wait_for_move, wait_for_turn
from tests.browser.serving import Server
from tests.browser.views import LANGUAGES, notation_after
from tests.play.test_languages import texts_of

pytestmark = pytest.mark.browser

ODD = "tests.play.odd_agents"
SEATS = "0, 1, random, both, none"


def said(language, key, **values):
    """A text of the page with values, without the marks of direction."""
    return re.sub(r"\{(\w+)\}", lambda found: values[found[1]], texts_of(language)[key][""])


def told(page, selector):
    """What an element says, without the marks of direction."""
    return re.sub("[\u2068\u2069]", "", page.wait_for_selector(selector).inner_text())


@pytest.mark.parametrize("language", LANGUAGES)
def test_what_an_address_asks_for_in_vain_is_said_and_a_game_is_there(open_page, language):
    page = open_page(f"?lang={language}&game=chess&seat=7&seed=abc&opponent=nobody&variant=2015")
    notice = told(page, ".notice.error")
    for name, value, allowed in (
        ("game", "chess", "patchwork, nmbr9"),
        ("seat", "7", SEATS),
        ("seed", "abc", "0 … 9007199254740991"),
        ("variant", "2015", "revised, 2014"),
    ):
        assert said(language, "errors.choice", name=name, value=value, allowed=allowed) in notice
    assert said(language, "errors.agent", agent="nobody") in notice
    assert game_of(page).num_moves == 0
    assert page.evaluate("window.game.page.session.seats.map(({ kind }) => kind)") == ["person", "agent"]


@pytest.mark.parametrize("fragment", ["nonsense", "patchwork%2F1", "%00"])
def test_an_address_without_a_sound_game_leads_to_one(open_page, fragment):
    page = open_page(f"?game=patchwork&seed=7&lang=ru#{fragment}")
    assert said("ru", "errors.text") in told(page, ".notice.error")
    assert game_of(page) == Game(seed=7)


def test_a_new_game_waits_for_the_server_with_all_its_levels(open_page):
    with Server() as mortal:
        page = open_page("?game=patchwork&seat=both&seed=7&lang=fa", at=mortal)
        page.wait_for_load_state("networkidle")
        mortal.kill()
        role(page, "new-game").click()
        page.select_option("select[name=opponent]", "partner:level=5")
        role(page, "start").click()
        assert told(page, "dialog .field-error:not(:empty)") == said("fa", "errors.lost")
        role(page, "language").evaluate(
            "choice => { choice.value = 'pl'; choice.dispatchEvent(new Event('change')); }"
        )
        assert told(page, ".notice.error") == said("fa", "errors.lost") + "\n×"
        mortal.start()
        role(page, "start").click()
        page.wait_for_selector("dialog", state="detached")
        assert page.evaluate("window.game.page.choices.opponent") == "partner:level=5"


def test_a_full_or_closed_storage_is_said_and_the_game_goes_on(open_page):
    page = open_page("?game=patchwork&opponent=random&seat=0&seed=7&lang=hi")
    page.evaluate(
        "() => { Storage.prototype.setItem = () => { throw new DOMException('', 'QuotaExceededError'); }; }"
    )
    role(page, "advance").click()
    wait_for_move(page, 1)
    assert said("hi", "errors.storage") in told(page, ".notice.error")
    assert page.locator(".notice").count() == 1
    role(page, "games").click()
    assert role(page, "open-game").count() == 1


def test_damaged_games_are_left_out(open_page):
    page = open_page("?game=patchwork&seat=both&seed=7")
    role(page, "advance").click()
    wait_for_move(page, 0)
    (kept,) = page.evaluate("Object.entries(localStorage).filter(([name]) => name.includes('games'))")
    game = json.loads(kept[1])
    damaged = ["{", "null", "[]", json.dumps({**game, "lines": [3]}), json.dumps({**game, "version": 2})]
    for number, text in enumerate(damaged):
        page.evaluate("([n, text]) => localStorage.setItem(`patchwork-env.games.${n}`, text)", [number, text])
    unreadable = {**game, "id": "9", "lines": ["patchwork/1 nonsense"], "foreign": 0}
    page.evaluate("text => localStorage.setItem('patchwork-env.games.9', text)", json.dumps(unreadable))
    reload(page)
    role(page, "games").click()
    assert role(page, "open-game").count() == 2
    assert "· -156 : -157" in page.locator(f'[data-id="{game["id"]}"]').inner_text()
    page.locator('[data-id="9"] [data-role="open-game"]').click()
    page.wait_for_selector("dialog .field-error:not(:empty)")
    assert game_of(page).num_moves == 1


def test_a_game_alone_has_help_when_it_is_over_and_another_one_from_the_other_seat(open_page):
    header, words = notation_after("patchwork", None).strip().split("\n")
    *before, last = words.split()
    start = Game.from_notation(f"{header}\n{' '.join(before)}\n")
    seat = start.current_player
    page = open_page(f"?game=patchwork&opponent=random&seat={seat}#{quote(start.notation().strip())}")
    assert not role(page, "evaluation").is_visible()
    page.evaluate("word => window.game.play(word)", last)
    page.wait_for_selector('[data-role="status"][data-over="true"]')
    role(page, "evaluation").wait_for(state="visible")
    game = game_of(page)
    rows = [row.inner_text().split("\t")[1:] for row in role(page, "ending").locator("tbody tr").all()]
    assert rows[0] == [str(buttons) for buttons in game.buttons]
    assert rows[2] == [f"{n} × -2 = {-2 * n}" for n in (int((~game.quilt(p)).sum()) for p in (0, 1))]
    assert rows[3] == [str(score) for score in game.scores()]
    role(page, "rematch").click()
    page.wait_for_selector('[data-role="status"][data-over="false"]')
    wait_for_turn(page, 1 - seat)
    kinds = page.evaluate("window.game.page.session.seats.map(({ kind }) => kind)")
    assert kinds[seat] == "agent"
    assert not role(page, "evaluation").is_visible()
    page.go_back()
    page.wait_for_selector('[data-role="status"][data-over="true"]')
    assert game_of(page) == game


def test_a_game_of_the_other_kind_is_for_those_who_can_play_it_and_played_again_as_set_up(open_page):
    page = open_page("?game=patchwork&opponent=champion:fast&seed=7")
    page.evaluate("text => window.game.page.openText(text)", notation_after("nmbr9", None))
    assert page.evaluate("window.game.page.session.seats.map(({ kind }) => kind)") == ["person", "person"]
    role(page, "rematch").click()
    page.wait_for_selector('[data-role="status"][data-over="false"]')
    assert game_of(page).num_players == 2


def test_moves_are_browsed_by_keys(open_page):
    page = open_page(f"?game=nmbr9&seat=both&lang=en#{quote(notation_after('nmbr9', None).strip())}")
    last = page.evaluate("window.game.page.session.ply")
    for key, ply in (("ArrowLeft", last - 1), ("[", last - 2), ("]", last - 1), ("Home", 0), ("End", last)):
        page.keyboard.press(key)
        assert page.evaluate("window.game.page.session.ply") == ply, key


def against(agent):
    """The address of a game in which an agent begins."""
    return f"?game=patchwork&opponent={agent}&seat=1&seed=7"


def test_an_agent_that_fails_is_named_and_another_can_play(open_page):
    with Server("--opponent", f"{ODD}:raises") as server:
        page = open_page(against(f"{ODD}:raises"), at=server)
        notice = page.wait_for_selector(".notice.error").inner_text()
        assert f"{ODD}:raises" in notice
        assert "ZeroDivisionError" in notice
        assert game_of(page).num_moves == 0
        wait_for_move(open_page(against("greedy"), at=server), 0)


def test_nobody_else_waits_for_an_agent_that_hangs(open_page):
    with Server("--opponent", f"{ODD}:hangs") as server:
        waiting = open_page(against(f"{ODD}:hangs"), at=server)
        waiting.wait_for_selector('[data-role="status"][data-thinking="true"]')
        other = open_page(against("greedy"), at=server)
        wait_for_move(other, 0)
        assert game_of(waiting).num_moves == 0
        assert role(waiting, "status").get_attribute("data-thinking") == "true"
