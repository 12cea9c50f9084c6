"""Whole games of Patchwork at the page, by mouse, touch and keyboard, and everything else at its table."""

import numpy as np
import pytest

from patchwork_env.patchwork import Game
from tests.browser import playing
from tests.browser.serving import Server
from tests.browser.views import query_of

pytestmark = pytest.mark.browser

AGAINST_GREEDY = "?game=patchwork&opponent=greedy&seat=0&seed=7"
TWO_PEOPLE = "?game=patchwork&seat=both&seed=7"


def overflow(page):
    """By how much the page is wider than its window."""
    return int(page.evaluate("document.documentElement.scrollWidth - window.innerWidth"))


@pytest.mark.parametrize("by", ["mouse", "touch", "keys"])
def test_a_whole_game(open_page, by):
    page = open_page(AGAINST_GREEDY, touch=by == "touch")
    draw = np.random.default_rng(5)
    while playing.wait_for_turn(page, 0):
        game = playing.game_of(page)
        assert game.current_player == 0
        action = int(draw.choice(game.legal_actions()[-60:]))
        if by == "keys":
            playing.play_with_keys(page, game, action)
        else:
            playing.play_with_pointer(page, game, action, touch=by == "touch")
        playing.wait_for_move(page, game.num_moves)
        assert playing.game_of(page).root() == game.root()
    game = playing.game_of(page)
    assert game.is_over
    shown = [int(playing.role(page, "score", player=player).get_attribute("data-value")) for player in (0, 1)]
    assert shown == list(game.scores())
    assert playing.role(page, "moves").locator("[data-ply]").count() == game.num_moves + 1
    assert overflow(page) <= 0


def test_a_patch_is_dragged_to_where_it_fits(open_page):
    page = open_page(TWO_PEOPLE)
    offer = playing.role(page, "offer", slot=0).bounding_box()
    x, y = offer["x"], offer["y"]
    playing.drag(page, (x + 40, y + 30), (x + 60, 20))
    page.mouse.up()  # beside the quilt
    assert playing.role(page, "hand").get_attribute("data-patch") == "25"
    page.keyboard.press("Escape")
    assert playing.role(page, "hand").get_attribute("data-patch") is None
    cell = playing.role(page, "cell", player=0, row=4, column=4).bounding_box()
    playing.drag(page, (x + 40, y + 30), (x + 60, y + 50), (cell["x"], cell["y"]))
    page.keyboard.press("r")
    page.mouse.up()
    playing.wait_for_move(page, 0)
    assert playing.game_of(page).quilt(0)[3:6, 3:6].any()


def test_a_click_at_the_edge_keeps_the_patch_on_the_quilt(open_page):
    page = open_page(TWO_PEOPLE)
    playing.role(page, "offer", slot=0).click()
    playing.role(page, "cell", player=0, row=8, column=8).click()
    playing.wait_for_move(page, 0)
    quilt = playing.game_of(page).quilt(0)
    assert quilt[8].any()
    assert quilt[:, 8].any()


def test_what_cannot_be_bought_says_why(open_page):
    page = open_page(TWO_PEOPLE)
    game = Game(seed=7)
    for slot, patch in enumerate(game.offered):
        offer = playing.role(page, "offer", slot=slot)
        affordable = any(game.decode(int(action)).patch == patch for action in game.legal_actions())
        assert offer.get_attribute("aria-disabled") == (None if affordable else "true")
        assert ("short" in offer.get_attribute("title")) is not affordable
        if not affordable:
            offer.click(force=True)
            offer.click(force=True)
            assert page.locator(".notice").count() == 1


def test_undo_and_redo_also_after_a_reload(open_page):
    page = open_page(AGAINST_GREEDY)
    playing.role(page, "advance").click()
    playing.wait_for_move(page, 1)
    playing.wait_for_turn(page, 0)
    before = page.evaluate("window.game.notation()")
    playing.reload(page)
    assert page.evaluate("window.game.notation()") == before
    playing.role(page, "undo").click()
    assert "Your turn" in playing.role(page, "status").inner_text()
    playing.reload(page)
    assert playing.game_of(page).num_moves == 0
    playing.role(page, "redo").click()
    assert page.evaluate("window.game.notation()") == before
    playing.role(page, "moves").locator("[data-ply='1'] , [data-ply='0']").first.click()
    assert playing.game_of(page).num_moves == 0


def test_moves_wait_for_a_server_that_died(open_page):
    with Server() as mortal:
        page = open_page(TWO_PEOPLE, at=mortal)
        mortal.kill()
        playing.role(page, "advance").click()
        page.wait_for_selector(".notice.error")
        page.evaluate("() => { window.game.page.play('25/0@a1'); }")  # instead of the move that waits
        page.keyboard.press("h")
        page.wait_for_selector(".notice.wait", state="detached")
        assert page.locator(".notice.error").count() == 1
        mortal.start()
        playing.wait_for_move(page, 0)
        assert page.evaluate("window.game.notation()").endswith("\n25/0@a1\n")
        page.wait_for_selector(".notice.error", state="detached")


def test_two_agents_are_watched_and_paused(open_page):
    page = open_page("?game=patchwork&opponent=random&second=greedy&seat=none&seed=7")
    playing.role(page, "pause").click()
    paused = playing.game_of(page).num_moves
    playing.role(page, "speed").select_option("fast")
    playing.role(page, "pause").click()
    playing.wait_for_move(page, paused + 3)
    assert playing.role(page, "offer", slot=0).get_attribute("aria-disabled") == "true"
    playing.role(page, "pause").click()
    page.evaluate("window.game.page.open({ game: 'patchwork', opponent: 'random', seat: '1' })")
    playing.wait_for_move(page, 0)  # the pause was of the other game


def test_what_is_saved(open_page):
    page = open_page(TWO_PEOPLE)
    playing.role(page, "share").click()
    for button, start in (("saveSvg", b"<svg"), ("savePng", b"\x89PNG"), ("saveText", b"patchwork/1")):
        with page.expect_download() as download:
            playing.role(page, button).click()
        assert download.value.path().read_bytes().startswith(start), button
    box = page.locator("dialog").bounding_box()
    playing.drag(page, (box["x"] + 40, box["y"] + 40), (5, 5))
    page.mouse.up()
    page.mouse.click(box["x"] + 5, box["y"] + 40)
    assert page.locator("dialog[open]").count()
    page.mouse.click(5, 5)
    page.wait_for_selector("dialog", state="detached")


def test_a_new_game_is_played_as_chosen(open_page):
    page = open_page(TWO_PEOPLE)
    page.keyboard.press("n")
    page.select_option("select[name=opponent]", "other")
    playing.role(page, "start").click()  # in vain, without the name of an agent
    page.select_option("select[name=opponent]", "greedy")
    page.select_option("select[name=seat]", "1")
    page.select_option("select[name=variant]", "2014")
    page.locator("summary").click()
    page.fill("input[name=seed]", "11")
    playing.role(page, "start").click()
    page.wait_for_selector("dialog", state="detached")
    playing.wait_for_move(page, 0)
    assert playing.game_of(page).root() == Game(seed=11, special_patches="2014")


def test_the_language_sets_direction_and_digits(open_page):
    page = open_page(query_of("patchwork", "en", 5))
    playing.role(page, "language").select_option("fa")
    page.wait_for_selector("html[dir=rtl][lang=fa]")
    score = playing.role(page, "score", player=0)
    digits = score.get_attribute("data-value").lstrip("-")
    assert digits.translate(str.maketrans("0123456789", "۰۱۲۳۴۵۶۷۸۹")) in score.inner_text()
    assert overflow(page) <= 0


def test_a_hint_shows_a_legal_move(open_page):
    page = open_page(TWO_PEOPLE)
    playing.role(page, "hint").click()
    page.wait_for_selector(".ghost.hint, .advance.suggested", timeout=120_000)
    assert playing.game_of(page).num_moves == 0


def test_the_address_is_written_when_the_position_rests(open_page):
    """Safari refuses to write it more often than 100 times within 30 seconds."""
    page = open_page(query_of("patchwork", "en", 5))
    page.evaluate(
        """async () => {
          await new Promise((resolve) => setTimeout(resolve, 600));
          const write = history.replaceState.bind(history);
          window.written = 0;
          history.replaceState = (...what) => { window.written += 1; write(...what); };
          for (const ply of [0, 1, 2, 3, 4]) window.game.page.session.goto(ply);
        }"""
    )
    page.wait_for_function("() => window.written")
    assert page.evaluate("window.written") == 1
    page.evaluate("window.game.page.session.goto(5)")
    page.evaluate("window.game.play('+')")
    playing.reload(page)  # before the address has the move
    assert page.evaluate("window.game.page.session.ply") == 6


def test_the_wheel_turns_by_the_distance_that_it_goes(open_page):
    page = open_page(TWO_PEOPLE)
    playing.role(page, "offer", slot=0).click()
    wheel = """([x, y, ctrlKey]) => document.querySelector('[data-role="cell"]').dispatchEvent(
      new WheelEvent("wheel", { deltaX: x, deltaY: y, ctrlKey, bubbles: true, cancelable: true }))"""
    for moves, orientation in (
        ([(0, 120)], "1"),  # a notch of a mouse
        ([(0, 5)] * 15, "1"),  # fingers on a trackpad
        ([(0, 5)], "2"),
        ([(-90, 4)] * 3, "2"),  # sideways
        ([(0, 90, True)], "2"),  # zooming
        ([(0, -100)], "1"),
    ):
        for move in moves:
            page.evaluate(wheel, [*move, False][:3])
        assert playing.role(page, "hand").get_attribute("data-orientation") == orientation


def test_the_language_chosen_last_stays(open_page):
    page, held = open_page(TWO_PEOPLE + "&lang=en"), []
    page.route("**/languages/fa.json", lambda route: held.append(route))
    playing.role(page, "language").select_option("fa")
    playing.role(page, "language").select_option("pl")
    page.wait_for_selector('html[lang="pl"]')
    with page.expect_response("**/languages/fa.json"):
        held[0].continue_()
    page.wait_for_timeout(100)
    assert page.get_attribute("html", "lang") == "pl"


def test_keys_of_one_character_can_be_switched_off(open_page):
    page = open_page(TWO_PEOPLE)
    page.keyboard.press("?")
    playing.role(page, "character-keys").uncheck()
    page.keyboard.press("Escape")
    playing.reload(page)
    for key in ("n", "1", "?"):
        page.keyboard.press(key)
    assert not page.locator("dialog").count()
    assert page.evaluate("window.game.page.view.table?.hand.isEmpty ?? true")
    playing.role(page, "keys").click()
    playing.role(page, "character-keys").check()
    page.keyboard.press("Escape")
    russian_n = "new KeyboardEvent('keydown', { key: 'т', code: 'KeyN', bubbles: true })"
    page.evaluate(f"() => {{ document.body.dispatchEvent({russian_n}); }}")
    page.wait_for_selector("dialog[open]")


@pytest.mark.parametrize("game", ["patchwork", "nmbr9"])
def test_moves_that_others_made_are_not_those_of_the_present_players(open_page, game):
    query = query_of(game, "en", 15).replace("seat=both", "opponent=greedy&seat=0")
    page = open_page(query)
    titles = "[...document.querySelectorAll('[data-role=moves] .move-drawing')].map((move) => move.title)"
    playing.wait_for_turn(page, 0)
    playing.wait_for_move(page, 14)
    opened = page.evaluate(titles)[:15]
    assert {title.split()[0] for title in opened} == {"Blue", "Red"}
    moves = page.evaluate("window.game.notation()").split("\n")[1].split()[:15]
    assert [title.split("\n")[1] for title in opened] == moves
    assert page.locator('[data-role="moves"] [aria-current] :is(.cloth, .tile-face)').count()
    before = len(page.evaluate(titles))
    page.evaluate("window.game.play(window.game.page.session.position.legal[0])")
    playing.wait_for_move(page, before)
    assert page.evaluate(titles)[before].startswith("You")
    playing.reload(page)
    after = page.evaluate(titles)
    assert after[:15] == opened
    assert after[before].startswith("You")
