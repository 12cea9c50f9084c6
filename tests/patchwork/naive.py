"""A second, deliberately naive implementation of Patchwork, with which the compiled engine is compared.

It is written from the rules alone and shares nothing with `patchwork_env`: quilts are sets of (row, column)
cells, patches are drawings that are turned and flipped as text, and every list is searched from its start.
Only the numbering of actions is the same, since actions are compared.
"""

SIZE = 9
LAST_SPACE = 53
START_BUTTONS = 5
WINDOW = 3
INCOME_SPACES = (5, 11, 17, 23, 29, 35, 41, 47, 53)
SPECIAL_SPACES = {"2014": (20, 26, 32, 44, 50), "revised": (26, 32, 38, 44, 50)}
BONUS_SIDE = 7
BONUS_POINTS = 7
PENALTY_PER_EMPTY_CELL = 2

SPECIAL_PIECE = 33
"""The number of special patches in a layout; the patches are 0 to 32."""

FIRST_SPECIAL_ACTION = 1945

# drawing (rows from top to bottom), price in buttons, price in time, income
PATCHES = (
    ("##", 2, 1, 0),
    ("## / #.", 1, 3, 0),
    ("###", 2, 2, 0),
    ("## / #.", 3, 1, 0),
    ("### / .#.", 2, 2, 0),
    ("##. / .##", 3, 2, 1),
    ("####", 3, 3, 1),
    ("### / #..", 4, 2, 1),
    ("### / #..", 4, 6, 2),
    ("## / ##", 6, 5, 2),
    ("##. / .##", 7, 6, 3),
    ("### / #.#", 1, 2, 0),
    ("### / ##.", 2, 2, 0),
    ("###. / ..##", 2, 3, 1),
    ("#### / .#..", 3, 4, 1),
    (".#. / ### / .#.", 5, 4, 2),
    ("### / .#. / .#.", 5, 5, 2),
    ("#####", 7, 1, 1),
    ("#### / #...", 10, 3, 2),
    ("##. / .## / ..#", 10, 4, 3),
    (".#.. / #### / .#..", 0, 3, 1),
    ("##. / .#. / .#. / .##", 1, 2, 0),
    ("#### / #..#", 1, 5, 1),
    (".#.. / #### / ..#.", 2, 1, 0),
    ("##. / .## / ##.", 3, 6, 2),
    ("###. / .###", 4, 2, 0),
    ("### / .#. / .#. / .#.", 7, 2, 2),
    ("#### / .##.", 7, 4, 2),
    ("##. / ### / ..#", 8, 6, 3),
    ("#### / ##..", 10, 5, 3),
    (".#. / .#. / ### / .#. / .#.", 1, 4, 1),
    ("### / .#. / ###", 2, 3, 0),
    (".##. / #### / .##.", 5, 3, 1),
)

Cell = tuple[int, int]
Drawing = list[str]


def flipped(drawing):
    """The drawing after a left-right flip."""
    return [row[::-1] for row in drawing]


def turned(drawing):
    """The drawing after one clockwise quarter turn."""
    return ["".join(column) for column in zip(*drawing[::-1], strict=True)]


def oriented(drawing, orientation):
    """`orientation % 4` clockwise quarter turns, after a flip for orientations from 4 on."""
    if orientation >= 4:
        drawing = flipped(drawing)
    for _ in range(orientation % 4):
        drawing = turned(drawing)
    return drawing


def distinct_orientations(drawing):
    """The distinct drawings by orientation index, the lowest one of equal drawings."""
    distinct: dict[int, Drawing] = {}
    for orientation in range(8):
        candidate = oriented(drawing, orientation)
        if candidate not in distinct.values():
            distinct[orientation] = candidate
    return distinct


def placements(drawing):
    """The covered cells of every placement on an empty quilt, by ``orientation * 81 + row * 9 + column``."""
    found: dict[int, frozenset[Cell]] = {}
    for orientation, picture in distinct_orientations(drawing).items():
        for row in range(SIZE - len(picture) + 1):
            for column in range(SIZE - len(picture[0]) + 1):
                found[orientation * 81 + row * 9 + column] = frozenset(
                    (row + r, column + c)
                    for r, line in enumerate(picture)
                    for c, mark in enumerate(line)
                    if mark == "#"
                )
    return found


# The only optimization: the placements of a patch on an empty quilt are listed once.
PLACEMENTS = [placements(drawing.split(" / ")) for drawing, _, _, _ in PATCHES]

ALL_CELLS = frozenset((row, column) for row in range(SIZE) for column in range(SIZE))

BONUS_SQUARES = [
    {(top + r, left + c) for r in range(BONUS_SIDE) for c in range(BONUS_SIDE)}
    for top in range(SIZE - BONUS_SIDE + 1)
    for left in range(SIZE - BONUS_SIDE + 1)
]


class NaiveGame:
    """One game. `circle` lists the patches clockwise from the neutral token."""

    def __init__(self, circle, first_player=0, special_patches="revised"):
        self.circle = list(circle)
        self.positions = [0, 0]
        self.buttons = [START_BUTTONS, START_BUTTONS]
        self.incomes = [0, 0]
        self.quilts: list[set[Cell]] = [set(), set()]
        self.layouts: list[dict[Cell, int]] = [{}, {}]
        self.special_spaces = list(SPECIAL_SPACES[special_patches])
        self.pending_special = False
        self.bonus_owner: int | None = None
        self.first_finisher: int | None = None
        self.last_mover = first_player

    @property
    def current_player(self):
        """The player further back, on a shared space the last to arrive; a special patch is placed first."""
        if self.pending_special or self.positions[0] == self.positions[1]:
            return self.last_mover
        return 0 if self.positions[0] < self.positions[1] else 1

    @property
    def is_over(self):
        return self.positions == [LAST_SPACE, LAST_SPACE] and not self.pending_special

    def scores(self):
        return self._score(0), self._score(1)

    def winner(self):
        if not self.is_over:
            return None
        first, second = self.scores()
        if first == second:
            return self.first_finisher
        return 0 if first > second else 1

    def legal_moves(self):
        """The newly covered cells of the current player's quilt by legal action, in ascending order."""
        if self.is_over:
            return {}
        player = self.current_player
        if self.pending_special:
            return {
                FIRST_SPECIAL_ACTION + row * 9 + column: frozenset({(row, column)})
                for row, column in sorted(ALL_CELLS - self.quilts[player])
            }
        moves: dict[int, frozenset[Cell]] = {0: frozenset()}
        for slot, patch in enumerate(self.circle[:WINDOW]):
            if PATCHES[patch][1] > self.buttons[player]:
                continue
            for place, cells in PLACEMENTS[patch].items():
                if self.quilts[player].isdisjoint(cells):
                    moves[1 + slot * 648 + place] = cells
        return moves

    def legal_actions(self):
        return list(self.legal_moves())

    def patch_of(self, action):
        """The patch that a buying action takes; None for the other actions."""
        if 1 <= action < FIRST_SPECIAL_ACTION:
            return self.circle[(action - 1) // 648]
        return None

    def play(self, action):
        moves = self.legal_moves()
        if action not in moves:
            raise ValueError(f"{action} is not legal here")
        player = self.current_player
        if self.pending_special:
            self._cover(player, moves[action], SPECIAL_PIECE)
            self.pending_special = False
        elif action == 0:
            self._advance(player)
        else:
            self._buy(player, (action - 1) // 648, moves[action])

    def _advance(self, player):
        start = self.positions[player]
        goal = min(self.positions[1 - player] + 1, LAST_SPACE)
        self.buttons[player] += goal - start
        self._move_token(player, goal)

    def _buy(self, player, slot, cells):
        patch = self.circle[slot]
        _, price, time, income = PATCHES[patch]
        # The token moves to the gap, so the patches before the bought one come last now.
        self.circle = self.circle[slot + 1 :] + self.circle[:slot]
        self.buttons[player] -= price
        self.incomes[player] += income
        self._cover(player, cells, patch)
        self._move_token(player, min(self.positions[player] + time, LAST_SPACE))

    def _cover(self, player, cells, piece):
        self.quilts[player].update(cells)
        for cell in cells:
            self.layouts[player][cell] = piece
        if self.bonus_owner is None and self.has_square(player):
            self.bonus_owner = player

    def has_square(self, player):
        return any(square <= self.quilts[player] for square in BONUS_SQUARES)

    def _move_token(self, player, goal):
        start = self.positions[player]
        self.positions[player] = goal
        self.last_mover = player
        if goal == LAST_SPACE and self.first_finisher is None:
            self.first_finisher = player
        for space in INCOME_SPACES:
            if start < space <= goal:
                self.buttons[player] += self.incomes[player]
        for space in list(self.special_spaces):
            if start < space <= goal:
                self.special_spaces.remove(space)
                if self.quilts[player] != ALL_CELLS:
                    assert not self.pending_special, "no move takes two special patches"
                    self.pending_special = True

    def _score(self, player):
        bonus = BONUS_POINTS if self.bonus_owner == player else 0
        empty = len(ALL_CELLS) - len(self.quilts[player])
        return self.buttons[player] + bonus - PENALTY_PER_EMPTY_CELL * empty
