"""Random states that the validation accepts, including some that no moves lead to."""

from patchwork_env import games
from patchwork_env.nmbr9.components import MAX_CARDS, MAX_PLAYERS, NUM_DIGITS, ORDERS
from patchwork_env.patchwork import engine
from patchwork_env.patchwork.components import (
    LAST_SPACE,
    NUM_CELLS,
    NUM_PATCHES,
    PATCHES,
    QUILT_SIZE,
    START_BUTTONS,
)
from patchwork_env.patchwork.state import NOBODY, empty_states
from patchwork_env.patchwork.tables import FULL_WORD, INCOMES_UP_TO, SECOND_WORD_ROW, SPECIALS_UP_TO
from tests.attack.sound import pick, play


def odd_games(rules, random, number):
    """Yield games that begin with states at the limits of the validation."""
    make = odd_patchwork if rules.name == games.PATCHWORK else odd_nmbr9
    for _ in range(number):
        yield make(random)


def odd_patchwork(random):
    """A game whose patches, quilts, positions, incomes and buttons fit together, and nothing more."""
    rules, states = games.rules_of(games.PATCHWORK), None
    while states is None:
        states = _patchwork_states(random)
    return rules.game.from_state(states)


def _patchwork_states(random):
    """One record; None if the patches that were drawn do not lie on two quilts."""
    states = empty_states(1)
    record = states[0]
    record["variant"], player = random.integers(2, size=2).tolist()
    mine, other = sorted(random.integers(LAST_SPACE + 1, size=2).tolist())
    if random.random() < 0.2:
        other = LAST_SPACE
    specials = SPECIALS_UP_TO[record["variant"]].astype(int)
    pending = bool(specials[other] > specials[mine] and random.random() < 0.5)
    if pending:
        mine, other = other, mine
    finished = [p for p, position in ((player, mine), (1 - player, other)) if position == LAST_SPACE]
    record["first_finisher"] = random.choice(finished) if finished else NOBODY
    if len(finished) == 2 and record["first_finisher"] == player:
        player = 1 - player
    record["current_player"], record["pending_special"] = player, pending
    record["position"][player], record["position"][1 - player] = mine, other
    left = random.permutation(NUM_PATCHES)[: random.integers(NUM_PATCHES + 1)]
    record["circle"][: len(left)], record["num_patches"] = left, len(left)
    bought = [patch for index, patch in enumerate(PATCHES) if index not in set(left.tolist())]
    cells = sum(patch.size for patch in bought) + int(specials[max(mine, other)]) - pending
    first = random.integers(max(0, cells - NUM_CELLS), min(cells, NUM_CELLS) + 1) if cells <= 162 else 0
    if cells > 162 or (pending and (cells - first if player else first) == NUM_CELLS):
        return None
    for who, number in enumerate((int(first), cells - int(first))):
        bits = _quilt(random, number)
        record["quilt"][who] = bits & int(FULL_WORD), bits >> SECOND_WORD_ROW * QUILT_SIZE
    squares = [who for who in range(2) if engine.has_square(states, 0, who)]
    record["bonus_owner"] = random.choice(squares) if squares else NOBODY
    _share_buttons(record, random, bought)
    return states if min(record["buttons"]) >= 0 else None


def _quilt(random, number):
    """A quilt with so many covered cells: row by row, or anywhere."""
    cells = range(number) if random.random() < 0.3 else random.permutation(NUM_CELLS)[:number].tolist()
    return sum(1 << cell for cell in cells)


def _share_buttons(record, random, bought):
    """Income and buttons as they may be shared at most; -1 if there are too few buttons for the patches."""
    income = sum(patch.income for patch in bought)
    first = pick(random, (0, income, int(random.integers(income + 1))))
    record["income"] = first, income - first
    positions, incomes = record["position"].astype(int), record["income"].astype(int)
    most = START_BUTTONS + positions + INCOMES_UP_TO[positions].astype(int) * incomes
    available = int(most.sum()) - sum(patch.buttons for patch in bought)
    richer = int(random.integers(2))
    record["buttons"][richer] = min(most[richer], available)
    record["buttons"][1 - richer] = min(most[1 - richer], available - record["buttons"][richer])
    if random.random() < 0.3 and available >= 0:
        record["buttons"] = random.integers(record["buttons"] + 1)


def odd_nmbr9(random):
    """A game with an odd deck, such as forty cards of one digit, some moves after its beginning."""
    digits = random.choice(NUM_DIGITS, random.integers(1, 4))
    deck = random.choice(digits, random.integers(1, MAX_CARDS + 1)).tolist()
    rules = games.rules_of(games.NMBR9)
    game = rules.game(deck=deck, players=int(random.integers(1, MAX_PLAYERS + 1)), order=pick(random, ORDERS))
    if random.random() < 0.3:
        _spread(game, int(random.integers(80)))
    else:
        play(rules, game, random, int(random.integers(80)))
    return rules.game.from_state(game.state)


def _spread(game, moves):
    """Lays tiles as far down as they go, until they spread as far as they may."""
    for _ in range(moves):
        if game.is_over:
            return
        game.play(int(game.legal_actions()[-1]))
