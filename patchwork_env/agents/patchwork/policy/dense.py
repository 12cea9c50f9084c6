"""Policies in the form that other libraries expect: masks in, all 2026 actions out. Needs torch.

Tensor operations, which can be exported, compute the features of :mod:`.features` for all actions at once.
The compiled code, for lists of legal actions, needs a fraction of the time.

The *sort* of a cell says whether it is covered, and how many empty neighbors it has. A placement changes the
sort of a cell depending only on whether it covers the cell, and how many of its neighbors. So the changes by
all placements are one product: the sorts of the cells around every anchor, times a table for every shape. It
takes almost a megabyte for each position.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn
from torch.nn import functional

from patchwork_env.agents.networks import NEW
from patchwork_env.agents.patchwork.placements import NUM_KINDS
from patchwork_env.agents.patchwork.policy.features import NEXT, SOON, Features, fits_of
from patchwork_env.agents.patchwork.policy.network import PatchworkNetwork, circles_of
from patchwork_env.agents.ragged import TIE
from patchwork_env.core.polyomino import NUM_ORIENTATIONS
from patchwork_env.patchwork.actions import DISTINCT, FIRST_BUY, ORIENTED, SLOT_SIZE
from patchwork_env.patchwork.components import (
    BONUS_SQUARE,
    LAST_SPACE,
    NUM_CELLS,
    NUM_OFFERED,
    NUM_PATCHES,
    NUM_PLAYERS,
    PATCHES,
    PENALTY_PER_EMPTY_CELL,
    QUILT_SIZE,
)
from patchwork_env.patchwork.observation import BOX, BUTTONS_FEATURE, PLAYER_FEATURES, SLICES
from patchwork_env.patchwork.tables import INCOMES_UP_TO

_NO_PIECE, _SPECIAL_PIECE = 0, NUM_PATCHES + 1
"""Pieces: none (for advancing, and past the end of the circle), patches as ``index + 1``, special patches."""
_PIECES = NUM_PATCHES + 2
_EMPTY_SORTS = 5  # sorts 0-4 are empty cells with 0-4 empty neighbors, and sorts 5-9 covered ones
_SORTS = 2 * _EMPTY_SORTS
_COUNTED_SORTS = _EMPTY_SORTS + 2
"""The number of sorts, the first ones, whose numbers of cells are figures of a quilt."""
_IN_REACH = range(-1, BOX + 1)
"""The rows and columns, relative to its anchor, that a shape can cover or touch."""
_WINDOW = len(_IN_REACH) ** 2
_MAPS = NUM_OFFERED * NUM_ORIENTATIONS + 1
"""The shapes that can be placed, in the order of the actions: those of the slots, and the special patch."""
_SQUARES = (QUILT_SIZE - BONUS_SQUARE + 1) ** 2


class DenseFeatures(nn.Module):
    """Computes the features of positions and of all actions, with ``offers`` or without; has no weights."""

    def __init__(self, offers: bool = False) -> None:
        super().__init__()
        self.offers = offers
        shapes, windows, squares = _shapes(), _windows(), _squares()
        self.shapes = _table(torch.from_numpy(shapes).flatten(2).float())
        self.changes = _table(_changes(shapes))
        self.windows = _table(windows)
        self.squares = _table(squares)
        self.square_overlaps = _table(_with_outside(squares, 0.0, 0)[windows.T].flatten(1))
        self.neighbors = _table(_neighbors())
        distinct = torch.zeros(
            _PIECES, NUM_ORIENTATIONS, **NEW
        )  # 1 for those that differ from all lower ones
        for patch, orientations in enumerate(DISTINCT):
            distinct[patch + 1, list(orientations)] = 1
        self.distinct = _table(distinct)
        sizes_prices_times_incomes = [(patch.size, *patch[1:]) for patch in PATCHES]
        facts = [(0, 0, 0, 0), *sizes_prices_times_incomes, (1, 0, 0, 0)]
        self.facts = _table(torch.tensor(facts, **NEW))
        self.marks_after = _table(torch.from_numpy(INCOMES_UP_TO[LAST_SPACE] - INCOMES_UP_TO).float())
        self.is_advance = _table(torch.eye(NUM_KINDS, **NEW)[0])

    def forward(self, observations: Tensor, legal: Tensor) -> Features:
        """Return the features of positions and of all placements; those of illegal ones are undefined.

        Observations are float32 ``(n, OBSERVATION_SIZE)``, ``legal`` bool ``(n, NUM_ACTIONS)``.
        """
        view = _read(observations)
        sorts, missing = self._sorts(view.quilts), BONUS_SQUARE**2 - view.quilts @ self.squares
        placements = self._placements(sorts[:, 0], missing[:, 0], view.circle)
        positions, moves = self._positions(view, sorts, missing), self._moves(view)
        best = _best_placements(placements, legal[:, FIRST_BUY:])
        kinds = [self._effects(view, moves), best]
        if self.offers:
            kinds.append(self._offers_of_kinds(view, moves, fits_of(positions)))
            patches = view.circle[:, :SOON].unsqueeze(1)
            offers = self._judged(patches, view.spaces.unsqueeze(2), view.buttons.unsqueeze(2))
            positions = torch.cat([positions, offers.flatten(1)], 1)
        possible = torch.stack([part.any(1) for part in by_kind(legal)], 1)
        return Features(positions, torch.cat(kinds, 2).where(possible.unsqueeze(2), 0.0), placements)

    def _sorts(self, quilts: Tensor) -> Tensor:
        """Return the sort of every cell as a one-hot vector, ``(n, NUM_PLAYERS, 81, _SORTS)``."""
        sort = (1 - quilts) @ self.neighbors + _EMPTY_SORTS * quilts
        return (sort.unsqueeze(3) == torch.arange(_SORTS, device=quilts.device)).float()

    def _positions(self, view: _View, sorts: Tensor, missing: Tensor) -> Tensor:
        figures = _figures(sorts.sum(2), missing.amin(2)) / 20
        fits = torch.log1p(self._fits(view.quilts, view.circle[:, :NEXT])) / 5
        projected = view.buttons + self.marks_after[view.spaces] * view.incomes
        return torch.cat([figures, fits, projected.unsqueeze(2) / 40], 2).flatten(1)

    def _fits(self, quilts: Tensor, patches: Tensor) -> Tensor:
        """Count the distinct placements of the next patches on quilts, ``(n, NUM_PLAYERS, NEXT)``."""
        around = _with_outside(quilts, 1.0, 2).index_select(2, self.windows.flatten())
        shapes = self.shapes[patches].flatten(1, 2).transpose(1, 2)
        is_free = around.view(-1, NUM_PLAYERS * NUM_CELLS, _WINDOW) @ shapes == 0
        fits = is_free.float().view(-1, NUM_PLAYERS, NUM_CELLS, NEXT, NUM_ORIENTATIONS).sum(2)
        return (fits * self.distinct[patches].unsqueeze(1)).sum(3)

    def _moves(self, view: _View) -> _Moves:
        """Return the effects of every kind of move that do not depend on the placement."""
        (space, other_space), (buttons, _) = torch.split(view.spaces, 1, 1), torch.split(view.buttons, 1, 1)
        pieces = functional.pad(view.circle[:, :NUM_OFFERED], (1, 0), value=_NO_PIECE)
        pieces = functional.pad(pieces, (0, 1), value=_SPECIAL_PIECE)
        size, price, time, income = self.facts[pieces].unbind(2)
        target = torch.cat([other_space + 1, (space + time.long())[:, 1:]], 1).clamp(max=LAST_SPACE)
        marks = self.marks_after[space] - self.marks_after[target]
        gain = (target - space) * self.is_advance - price + marks * (view.incomes[:, :1] + income)
        return _Moves(size, income, target, gain, buttons + gain)

    def _effects(self, view: _View, moves: _Moves) -> Tensor:
        """Return the features of kinds that do not depend on the placement, ``(n, NUM_KINDS, 10)``."""
        (space, other_space), (income, _) = torch.split(view.spaces, 1, 1), torch.split(view.incomes, 1, 1)
        size, income_gain, target, gain, buttons_after = moves
        empty = NUM_CELLS - view.quilts[:, 0].sum(1, keepdim=True)
        marks, marks_after = self.marks_after[space], self.marks_after[target]
        projected_gain = gain + marks_after * (income + income_gain) - marks * income
        specials, targets = view.specials.unsqueeze(1), target.unsqueeze(2)
        reaches_special = ((specials > 0) & (specials <= targets)).any(2) & (empty > size)
        moves_again = reaches_special | (target <= other_space)
        effects = [
            torch.ones_like(size),
            buttons_after / 30,
            gain / 10,
            income_gain / 3,
            projected_gain / 20,
            size / 8,
            size * target / (4 * LAST_SPACE),
            (target - space) / 6,
            (other_space - target) / 10,
            moves_again.float() + reaches_special.float(),
        ]
        return torch.stack(effects, 2)

    def _offers_of_kinds(self, view: _View, moves: _Moves, fits: Tensor) -> Tensor:
        """Return the features of the offer after every kind of move, ``(n, NUM_KINDS, KIND_OFFERS)``."""
        places, is_offered = _places_offered((view.circle > 0).sum(1, keepdim=True))
        patches = view.circle.gather(1, places).view(-1, NUM_KINDS, NUM_OFFERED) * is_offered
        size, _, time, _ = self.facts[patches].unbind(3)
        parts = [torch.stack([size / 8, time / 6], 3)]
        for player in range(NUM_PLAYERS):
            space, buttons = view.spaces[:, player, None], view.buttons[:, player, None]
            if player == 0:
                space, buttons = moves.target, moves.buttons_after
            fit = fits[:, player].gather(1, places).view(-1, NUM_KINDS, NUM_OFFERED) * is_offered
            parts += [self._judged(patches, space.unsqueeze(2), buttons.unsqueeze(2)), fit.unsqueeze(3)]
        return torch.cat(parts, 3).flatten(2)

    def _judged(self, patches: Tensor, spaces: Tensor, buttons: Tensor) -> Tensor:
        """Return the values of patches for players on spaces, and whether they can pay, ``(…, 2)``."""
        size, price, time, income = self.facts[patches].unbind(-1)
        targets = (spaces + time.long()).clamp(max=LAST_SPACE)
        saved = PENALTY_PER_EMPTY_CELL * size * targets / LAST_SPACE
        value = income * self.marks_after[spaces] + saved - price - (targets - spaces)
        judged = torch.stack([value / 10, (buttons >= price).float()], -1)
        return judged.where((patches > 0).unsqueeze(-1), 0.0)

    def _placements(self, sorts: Tensor, missing: Tensor, circle: Tensor) -> Tensor:
        """Return the changes of the own quilt's figures by every placement.

        ``sorts`` are those of its cells, ``(n, 81, _SORTS)``; ``missing``, ``(n, 9)``, are the numbers of
        empty cells in its 7x7 squares.
        """
        offered = circle[:, :NUM_OFFERED]
        around = _with_outside(sorts, 0.0, 1).index_select(1, self.windows.flatten())
        changes = _of_maps(self.changes, offered).float()
        changes = changes.view(-1, _MAPS * _COUNTED_SORTS, _WINDOW * _SORTS).transpose(1, 2)
        counted = around.view(-1, NUM_CELLS, _WINDOW * _SORTS) @ changes
        counted = counted.view(-1, NUM_CELLS, _MAPS, _COUNTED_SORTS).transpose(1, 2)
        overlaps = _of_maps(self.shapes, offered) @ self.square_overlaps
        left = missing.view(-1, 1, 1, _SQUARES) - overlaps.view(-1, _MAPS, NUM_CELLS, _SQUARES)
        fewer = left.amin(3) - missing.amin(1).view(-1, 1, 1)
        return _figures(counted, fewer).flatten(1, 2) / 4


class _View(NamedTuple):
    quilts: Tensor  # the covered cells, 0 or 1, (n, NUM_PLAYERS, 81)
    circle: Tensor  # pieces, int64 (n, 33)
    specials: Tensor  # the spaces of the special patches that are left, else 0, int64 (n, 5)
    spaces: Tensor  # of the tokens, int64 (n, NUM_PLAYERS)
    buttons: Tensor  # (n, NUM_PLAYERS)
    incomes: Tensor  # (n, NUM_PLAYERS)


class _Moves(NamedTuple):
    size: Tensor  # the number of cells that they cover
    income: Tensor  # the income that they add
    target: Tensor  # the space that the token moves to, int64
    gain: Tensor  # the buttons that they add
    buttons_after: Tensor


def _read(observations: Tensor) -> _View:
    """Decode observations; the scales are those of :mod:`patchwork_env.patchwork.observation`."""
    sizes = [part.stop - part.start for part in SLICES.values()]
    parts = dict(zip(SLICES, torch.split(observations, sizes, 1), strict=True))
    players = parts["players"].reshape(-1, NUM_PLAYERS, PLAYER_FEATURES).unbind(2)
    return _View(
        quilts=parts["quilts"].reshape(-1, NUM_PLAYERS, NUM_CELLS),
        circle=circles_of(observations),
        specials=(parts["specials"] * LAST_SPACE).round().long(),
        spaces=(players[2] * LAST_SPACE).round().long(),
        buttons=(players[BUTTONS_FEATURE] * 32).round(),
        incomes=(players[4] * 38).round(),
    )


def by_kind(of_actions: Tensor) -> tuple[Tensor, ...]:
    """Split ``(…, NUM_ACTIONS)`` by the kind of action: advance, the three slots, special patch."""
    return torch.split(of_actions, [FIRST_BUY, *[SLOT_SIZE] * NUM_OFFERED, NUM_CELLS], -1)


def _figures(counted: Tensor, missing: Tensor) -> Tensor:
    """Return the figures ``(…, PLACEMENT_FEATURES)`` of quilts, or changes of them.

    ``counted`` are the numbers of cells of each sort, ``(…, _COUNTED_SORTS)`` or more, and ``missing``,
    ``(…)``, the numbers of empty cells of the fullest 7x7 square.
    """
    ends = torch.arange(_EMPTY_SORTS, dtype=counted.dtype, device=counted.device).unsqueeze(1)
    joints = counted[..., :_EMPTY_SORTS] @ (ends / 2)
    return torch.cat([counted[..., :_COUNTED_SORTS], joints, missing.unsqueeze(-1)], -1)


def _places_offered(lengths: Tensor) -> tuple[Tensor, Tensor]:
    """Return the indices in the circle of the patches offered after every kind of move.

    They are int64 ``(n, NUM_KINDS * NUM_OFFERED)``. Also returns which of them hold an offer. ``lengths``,
    ``(n, 1)``, are those of the circles.
    """
    kinds = torch.arange(NUM_KINDS, device=lengths.device)
    bought = ((kinds > 0) & (kinds <= NUM_OFFERED)).long()
    slots = torch.arange(NUM_OFFERED, device=lengths.device)
    places = ((kinds * bought).unsqueeze(1) + slots).flatten().unsqueeze(0)
    wrapped = torch.where(places < lengths, places, places - lengths)
    return wrapped, slots < (lengths - bought).unsqueeze(2)


def _best_placements(placements: Tensor, legal: Tensor) -> Tensor:
    """Summarize the legal placements of each kind, ``(n, NUM_KINDS, 3)``; see :mod:`.features`."""
    figures = placements.unbind(2)
    judged = torch.stack([(2 * figures[5] + figures[6]) / 4, figures[7] / 4 + 3], 1)
    judged = judged.where(legal.unsqueeze(1), -torch.inf)
    judged, legal = (functional.pad(of_placements, (FIRST_BUY, 0)) for of_placements in (judged, legal))
    best = torch.stack([part.amax(2) for part in by_kind(judged)], 1)
    numbers = torch.stack([part.sum(1) for part in by_kind(legal)], 1)
    return torch.cat([best, numbers.unsqueeze(2) / 100], 2)


def _of_maps(table: Tensor, offered: Tensor) -> Tensor:
    """Return the rows ``(n, _MAPS, k)`` of a table ``(_PIECES, NUM_ORIENTATIONS, k)`` for shapes to place."""
    special = table[_SPECIAL_PIECE, :1].expand(offered.shape[0], -1, -1)
    return torch.cat([table[offered].flatten(1, 2), special], 1)


def _with_outside(of_cells: Tensor, value: float, dim: int) -> Tensor:
    """Append a cell that stands for everything outside of the quilt."""
    return torch.cat([of_cells, torch.full_like(of_cells.narrow(dim, 0, 1), value)], dim)


# --- tables of pieces, quilts and the shapes around anchors -------------------------------------------------


def _table(tensor: Tensor) -> nn.Buffer:
    """Return a tensor that moves with the module to another device, but is not a weight."""
    return nn.Buffer(tensor, persistent=False)


def _windows() -> Tensor:
    """Return the cells in reach of every anchor, int64 ``(81, _WINDOW)``; 81 outside of the quilt."""
    quilt = np.full((QUILT_SIZE + 2 * BOX,) * 2, NUM_CELLS)
    quilt[BOX:-BOX, BOX:-BOX] = np.arange(NUM_CELLS).reshape(QUILT_SIZE, QUILT_SIZE)
    around = BOX + np.add.outer(np.arange(QUILT_SIZE), _IN_REACH)
    cells = quilt[around[:, None, :, None], around[None, :, None, :]]
    return torch.from_numpy(cells.reshape(NUM_CELLS, -1))


def _neighbors() -> Tensor:
    """Return 1 for cells of a quilt that are neighbors, else 0, ``(81, 81)``."""
    rows, columns = np.divmod(np.arange(NUM_CELLS), QUILT_SIZE)
    distances = abs(np.subtract.outer(rows, rows)) + abs(np.subtract.outer(columns, columns))
    return torch.from_numpy(distances == 1).float()


def _squares() -> Tensor:
    """Return 1 for the cells of a quilt in each 7x7 square, else 0, ``(81, 9)``."""
    offsets = np.subtract.outer(np.arange(QUILT_SIZE), np.arange(QUILT_SIZE - BONUS_SQUARE + 1))
    in_span = (offsets >= 0) & (offsets < BONUS_SQUARE)
    return torch.from_numpy(np.kron(in_span, in_span)).float()


def _shapes() -> npt.NDArray[np.bool_]:
    """Return the cells near its anchor that every shape covers, ``(_PIECES, 8, BOX + 2, BOX + 2)``."""
    covers = np.zeros((_PIECES, NUM_ORIENTATIONS, BOX + 2, BOX + 2), np.bool_)
    for patch, oriented in enumerate(ORIENTED):
        for orientation, cells in enumerate(oriented):
            for row, column in cells:
                covers[patch + 1, orientation, 1 + row, 1 + column] = True
    covers[_SPECIAL_PIECE, :, 1, 1] = True
    return covers


def _changes(covers: npt.NDArray[np.bool_]) -> Tensor:
    """Return the changes in the numbers of cells of each sort by every shape, int8 ``(_PIECES, 8, k)``.

    ``k`` enumerates the counted sort, the cell in reach of the shape, and the sort of that cell before.
    """
    padded = np.pad(covers, ((0, 0), (0, 0), (1, 1), (1, 1))).astype(np.int8)
    rows, columns = padded[:, :, :, 1:-1], padded[:, :, 1:-1]
    fewer = rows[:, :, 2:] + rows[:, :, :-2] + columns[..., 2:] + columns[..., :-2]
    changed = np.zeros((_PIECES, NUM_ORIENTATIONS, _SORTS, *covers.shape[2:], _SORTS), np.int8)
    for before in range(_SORTS):
        after = before - fewer + _EMPTY_SORTS * covers  # only empty cells are covered
        for sort in range(_SORTS):
            changed[:, :, sort, :, :, before] = (after == sort).astype(np.int8) - (before == sort)
    return torch.from_numpy(changed[:, :, :_COUNTED_SORTS]).flatten(2)


# --- the policy ---------------------------------------------------------------------------------------------


_IMPOSSIBLE = -1e9


class DensePolicy(nn.Module):
    """The policy and value of a network, computed from masks, for all 2026 actions.

    ValueError if the network looks ahead, because operations on tensors cannot play moves.
    """

    def __init__(self, network: PatchworkNetwork) -> None:
        super().__init__()
        if network.looks_ahead:
            raise ValueError("network.lookahead is True; networks that look ahead have no dense form")
        self.network = network
        self.features = DenseFeatures(network.config.offers) if network.config.features else None

    def forward(self, observation: Tensor, action_mask: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Evaluate observations, float32 ``(n, OBSERVATION_SIZE)``, of the players to move.

        ``action_mask`` is ``(n, NUM_ACTIONS)`` of any type: not 0 for the legal actions, at least one in
        every row. Returns the most probable placements of the most probable kinds of move, int64 ``(n,)``;
        log-probabilities of all actions, ``(n, NUM_ACTIONS)``, minus infinity for those that are not legal;
        and the expected returns ``(n,)``.
        """
        legal = action_mask != 0
        kind_logits, scores, values = self._scores(observation, legal)
        groups = by_kind(functional.pad(scores, (FIRST_BUY, 0)))
        masks = by_kind(legal)
        possible = torch.stack([mask.any(1) for mask in masks], 1)
        kinds = kind_logits.masked_fill(~possible, _IMPOSSIBLE).log_softmax(1)
        placements = [
            group.masked_fill(~mask, _IMPOSSIBLE).log_softmax(1)
            for group, mask in zip(groups, masks, strict=True)
        ]
        joint = torch.cat([kinds[:, k : k + 1] + placements[k] for k in range(NUM_KINDS)], 1)
        log_probabilities = joint.masked_fill(~legal, -torch.inf)
        return _choose(kinds, placements), log_probabilities, values

    def _scores(self, observations: Tensor, legal: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Return logits of kinds ``(n, NUM_KINDS)`` and placements ``(n, 2025)``, and values ``(n,)``."""
        network = self.network
        features = None if self.features is None else self.features(observations, legal)
        trunk = network.trunk_of(observations, None if features is None else features.positions)
        kinds, scores = network.kind(trunk), trunk.new_zeros(())
        if features is not None:
            kinds = kinds + network.kind_scores(trunk, features.kinds)
            scores = scores + (features.placements @ network.placement(trunk).unsqueeze(2)).squeeze(2)
        if network.config.channels:
            scores = scores + network.placement_maps(observations, trunk).flatten(1)
        return kinds, scores, network.value(trunk).squeeze(1)


def _choose(kinds: Tensor, placements: list[Tensor]) -> Tensor:
    """Return the action as :func:`~patchwork_env.agents.ragged.most_probable` chooses it, int64 ``(n,)``."""
    begin, best = 0, []
    for scores in placements:
        is_best = scores >= scores.amax(1, keepdim=True) - TIE
        best.append(begin + is_best.float().argmax(1))  # the lowest index
        begin += scores.shape[1]
    return torch.stack(best, 1).gather(1, kinds.argmax(1, keepdim=True)).squeeze(1)
