"""A person at the page: moves by mouse, by touch or by keyboard alone."""

from patchwork_env.patchwork.actions import placement
from patchwork_env.service.positions import read_game

ARROWS = {(-1, 0): "ArrowUp", (1, 0): "ArrowDown", (0, -1): "ArrowLeft", (0, 1): "ArrowRight"}


def role(page, name, **data):
    """The element with a data-role, and with other data attributes."""
    return page.locator(
        f'[data-role="{name}"]' + "".join(f'[data-{key}="{value}"]' for key, value in data.items())
    )


def game_of(page):
    """The game as the page tells it."""
    return read_game(page.evaluate("window.game.notation()"))


def reload(page):
    """Loads the page again."""
    page.reload()
    page.wait_for_selector("[data-ready]", state="attached")


def drag(page, *places):
    """Presses at the first place, and moves over the others; the caller releases."""
    page.mouse.move(*places[0])
    page.mouse.down()
    for place in places[1:]:
        page.mouse.move(*place)


def wait_for_turn(page, player):
    """Waits until it is a player's turn; False if the game is over."""
    page.wait_for_selector(f'[data-role="status"]:is([data-over="true"], [data-current-player="{player}"])')
    return bool(role(page, "status").get_attribute("data-over") == "false")


def wait_for_move(page, num_moves):
    """Waits until the page shows more moves than so many."""
    page.wait_for_function("before => window.game.page.session.ply > before", arg=num_moves)


def play_with_pointer(page, game, action, *, touch):
    """Plays an action by clicks or taps."""

    def press(element):
        element.tap() if touch else element.click()

    move = game.decode(action)
    if move.kind == "advance":
        press(role(page, "advance"))
        return
    if move.kind == "buy":
        slot, orientation, row, column = placement(action)
        press(role(page, "offer", slot=slot))
        turn_to(page, orientation, lambda: press(role(page, "turn")), lambda: press(role(page, "flip")))
    else:
        ((row, column),) = move.cells
    cell = role(page, "cell", player=game.current_player, row=row, column=column)
    press(cell)
    if touch:  # the first tap only shows the piece
        assert game_of(page).num_moves == game.num_moves
        press(cell)


def play_with_keys(page, game, action):
    """Plays an action by keys alone."""
    move = game.decode(action)
    if move.kind == "advance":
        return page.keyboard.press("a")
    if move.kind == "buy":
        slot, orientation, row, column = placement(action)
        page.keyboard.press(str(slot + 1))
        turn_to(page, orientation, lambda: page.keyboard.press("r"), lambda: page.keyboard.press("f"))
    else:
        ((row, column),) = move.cells
        page.keyboard.press("ArrowDown")
    walk_to(page, row, column)
    return page.keyboard.press("Enter")


def turn_to(page, orientation, turn, flip=None):
    """Turns and flips what is in hand until it lies as wished."""
    hand = role(page, "hand")
    for attempt in range(9):
        if hand.get_attribute("data-orientation") == str(orientation):
            return
        flip() if flip and attempt == 4 else turn()
    raise AssertionError(f"the piece in hand never came to orientation {orientation}")


def walk_to(page, row, column):
    """Moves the ghost to a cell with the arrow keys."""
    for _ in range(80):
        at = page.evaluate(
            "[document.activeElement.dataset.row, document.activeElement.dataset.column].map(Number)"
        )
        down, right = row - at[0], column - at[1]
        if not down and not right:
            return
        step = (max(-1, min(1, down)), 0) if down else (0, max(-1, min(1, right)))
        page.keyboard.press(ARROWS[step])
    raise AssertionError(f"the ghost never came to row {row}, column {column}")
