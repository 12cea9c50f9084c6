"""A second, naive implementation of the published strategies: quilts are sets of cells, lists are searched.

It is written from the definitions and shares nothing with `patchwork_env`; the shapes are the drawings of the
published program, by the patch that has this shape, and are turned and flipped as text.
"""

from tests.patchwork.naive import ALL_CELLS, PATCHES, Cell, flipped, oriented, turned

# the drawings of the published program
DRAWINGS = (
    *(
        "##",
        ".# / ##",
        "###",
        ".# / ##",
        ".#. / ###",
        ".## / ##.",
        "####",
        "..# / ###",
        "..# / ###",
        "## / ##",
    ),
    *(".## / ##.", "#.# / ###", ".## / ###", ".### / ##..", "..#. / ####", ".#. / ### / .#."),
    *("#.. / ### / #..", "#####", "...# / ####", "..# / .## / ##.", ".#.. / #### / .#.."),
    *("#... / #### / ...#", "#..# / ####", "..#. / #### / .#..", ".#. / ### / #.#", ".### / ###."),
    *("#... / #### / #...", ".##. / ####", ".## / ### / #..", "..## / ####", "..#.. / ##### / ..#.."),
    *("#.# / ### / #.#", ".##. / #### / .##."),
    "#",
)


def drawings_in_order(drawing):
    """The distinct orientations: quarter turns, flips left to right and upside down, along both diagonals."""
    quarters = [drawing, turned(drawing), turned(turned(drawing)), turned(turned(turned(drawing)))]
    upside_down = drawing[::-1]
    along_diagonal = ["".join(column) for column in zip(*drawing, strict=True)]
    other_diagonal = [row[::-1] for row in along_diagonal[::-1]]
    all_of_them = [*quarters, flipped(drawing), upside_down, along_diagonal, other_diagonal]
    return [picture for k, picture in enumerate(all_of_them) if picture not in all_of_them[:k]]


def placements_of(shape):
    """All placements ``(orientation, cells)`` on an empty quilt, in reading order of their cells."""
    found = []
    for number, picture in enumerate(drawings_in_order(DRAWINGS[shape].split(" / "))):
        marks = [(r, c) for r, line in enumerate(picture) for c, mark in enumerate(line) if mark == "#"]
        corners = [(top, left) for top in range(10 - len(picture)) for left in range(10 - len(picture[0]))]
        found += [(number, tuple((top + r, left + c) for r, c in marks)) for top, left in corners]
    return sorted(found, key=lambda placement: placement[1])


PLACEMENTS = [placements_of(shape) for shape in range(len(DRAWINGS))]


def same_shape_as_the_patch(shape):
    """Whether the drawing is an orientation of the patch of this number."""
    patch = PATCHES[shape][0].split(" / ")
    return DRAWINGS[shape].split(" / ") in [oriented(patch, k) for k in range(8)]


def left(placement):
    return min(column for _, column in placement[1])


def top(placement):
    return min(row for row, _ in placement[1])


def fitting(covered, shape):
    return [placement for placement in PLACEMENTS[shape] if covered.isdisjoint(placement[1])]


def coverable(covered, shapes):
    """The cells that one of the shapes could cover."""
    return {cell for shape in set(shapes) for _, cells in fitting(covered, shape) for cell in cells}


def certain(fits):
    """The cells that every placement covers."""
    return set.intersection(*(set(cells) for _, cells in fits))


def extent(occupied):
    """The last column of the run of occupied columns that begins at column 1."""
    columns = {column for _, column in occupied}
    return max([0, *(c for c in range(1, 9) if columns.issuperset(range(1, c + 1)))])


def bottom_left(fits):
    return [min(fits, key=lambda placement: (left(placement), top(placement)))]


def left_bottom(fits):
    return [min(fits, key=lambda placement: (top(placement), left(placement)))]


def per_rotation(best, fits):
    groups = [[placement for placement in fits if placement[0] == number] for number in range(8)]
    return [placement for group in groups if group for placement in best(group)]


def pareto(covered, tiles, fits, rotations):
    occupied = covered | certain(fits)
    alive = coverable(covered, tiles[:1]) | coverable(occupied, tiles[1:])
    found = []
    for column in range(extent(occupied | (ALL_CELLS - alive)) + 2):
        here = [placement for placement in fits if left(placement) == column]
        found += per_rotation(lambda fits: fits[:1], here) if rotations else here[:1]
    return found


def candidates(policy, covered, tiles, fits):
    """What a policy proposes, in its order."""
    base, rotations = policy.removesuffix("(rot)"), policy.endswith("(rot)")
    if base == "ParetoBottomLeft":
        return pareto(covered, tiles, fits, rotations)
    choices = {
        "None": [lambda fits: fits[:1]],
        "BottomLeft": [bottom_left],
        "BL/LB": [bottom_left, left_bottom],
        "All": [lambda fits: fits],
    }[base]
    return [
        placement for best in choices for placement in (per_rotation(best, fits) if rotations else best(fits))
    ]


def extension(covered, tiles, placement):
    after = covered | set(placement[1])
    return extent(ALL_CELLS - (coverable(after, tiles[1:]) - after))


def regrets(covered, tiles, fits, among):
    """For each cell that stays empty, how many tiles could cover it before and cannot after, in sum."""
    occupied = covered | certain(fits)
    before = [coverable(occupied if k else covered, [tile]) for k, tile in enumerate(tiles)]
    sums = []
    for _, cells in among:
        after = [coverable(covered | set(cells), [tile]) if k else set() for k, tile in enumerate(tiles)]
        sums.append(sum(len((b - set(cells)) - a) for b, a in zip(before, after, strict=True)))
    return sums


def plan(policy, evaluation, tiles):
    """The cells that every tile covers, None for a tile that does not fit; not for random evaluations."""
    covered: set[Cell] = set()
    steps: list[frozenset[Cell] | None] = []
    for k in range(len(tiles)):
        fits = fitting(covered, tiles[k])
        if not fits:
            steps.append(None)
            continue
        among = candidates(policy, covered, tiles[k:], fits)
        if evaluation == "First":
            values = [0] * len(among)
        elif evaluation == "MinXExtension":
            values = [extension(covered, tiles[k:], placement) for placement in among]
        else:
            sign = {"PlacementRegret": 1, "ReversePlacementRegret": -1}[evaluation]
            values = [sign * value for value in regrets(covered, tiles[k:], fits, among)]
        cells = among[values.index(min(values))][1]
        covered.update(cells)
        steps.append(frozenset(cells))
    return steps
