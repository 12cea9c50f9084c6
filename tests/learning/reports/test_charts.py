"""Geometry of charts."""

import re

import numpy as np
import pytest

from patchwork_env.learning.evaluation.statistics import Curve
from patchwork_env.learning.reports import charts
from patchwork_env.learning.reports.charts import BOTTOM, HEIGHT, LEFT, RIGHT, TOP, WIDTH, Series, draw, ticks


def coordinates(path):
    return [(float(x), float(y)) for x, y in re.findall(r"[ML]([-\d.]+) ([-\d.]+)", path)]


def paths(chart, kind):
    """The corners of the lines or bands of a chart."""
    return [coordinates(path) for path in re.findall(rf'<path class="{kind} [^"]*" d="([^"]*)"', chart)]


def dots(chart):
    return [(float(x), float(y)) for x, y in re.findall(r'<circle [^>]*cx="([^"]*)" cy="([^"]*)"', chart)]


def tips(chart):
    """The begin, the end and the text of the strips of a chart."""
    found = re.findall(r'<rect class="strip" x="([^"]*)" [^>]*?width="([^"]*)"[^>]*><title>([^<]*)', chart)
    return [(float(x), float(x) + float(width), text) for x, width, text in found]


def marks(chart, anchor):
    """The texts at an axis: ``end`` is the vertical one, ``middle`` the horizontal one."""
    found = re.findall(rf'<text class="tick" x="([^"]*)" y="([^"]*)" text-anchor="{anchor}">([^<]*)', chart)
    return [(float(x), float(y), text) for x, y, text in found]


def series(*heights):
    return Series("one", Curve.of((100 * k, height, None) for k, height in enumerate(heights)), 0)


def test_ticks_are_round_and_numbers_are_short():
    assert ticks(0.02, 0.07) == pytest.approx([0.02, 0.03, 0.04, 0.05, 0.06, 0.07])
    assert ticks(-3.2, 11) == pytest.approx([-5, 0, 5, 10, 15])
    assert ticks(0.0012, 0.0013) == pytest.approx([0.0012, 0.00122, 0.00124, 0.00126, 0.00128, 0.0013])
    ends = {0: (-0.1, 0.1), 0.5: (0.4, 0.6), 10: (9, 11), 11: (9.5, 12.5), -3e7: (-3.4e7, -2.6e7)}
    for value, around in ends.items():  # without any extent, a tenth of it
        assert ticks(value, value)[:: len(ticks(value, value)) - 1] == pytest.approx(around)
    values = (0, 1e-12, -1.5, 9999, 1e4, 1e6 - 1, 1e6, 1e9 - 1, 1e9, 2.5e9)
    assert " ".join(map(charts.number, values)) == "0 0 -1.5 9999 10k 1000k 1M 1000M 1G 2.5G"


def test_ticks_enclose_everything():
    random = np.random.default_rng(0)
    for _ in range(100):
        low, span = random.normal() * 10.0 ** random.integers(-6, 9), 10.0 ** random.uniform(-6, 9)
        span = max(span, abs(low) * 1e-6)
        marks = ticks(low, low + span)
        assert 3 <= len(marks) <= 8
        step = marks[1] - marks[0]
        assert marks[0] - 1e-6 * step <= low < low + span <= marks[-1] + 1e-6 * step


def test_curves_lie_where_the_axes_say():
    chart = draw("title", "steps", [series(0.0, 0.5, 1.0)], is_share=True, y_range=(0, 1))
    bottom, right = HEIGHT - BOTTOM, WIDTH - RIGHT
    middle = ((LEFT + right) / 2, (TOP + bottom) / 2)
    assert paths(chart, "line") == [[(LEFT, bottom), middle, (right, TOP)]]
    assert [dots(chart)] == paths(chart, "line")
    heights = [(LEFT - 6, round(bottom - k * (bottom - TOP) / 5, 1) + 4, f"{20 * k}%") for k in range(6)]
    assert marks(chart, "end") == [*heights, (right, HEIGHT - 4, "steps")]
    assert marks(chart, "middle") == [(LEFT + 99 * k, bottom + 16, f"{50 * k}") for k in range(5)]
    assert (chart.count('class="grid"'), chart.count('class="axis"')) == (6, 5 + 1)
    assert "legend" not in chart  # the title says what a single curve is
    short = draw("title", "steps", [Series("one", Curve.of([(0, 0, None), (9.99, 6, None)]), 0)])
    assert marks(short, "middle") == [(round(LEFT + 79.28 * k, 1), bottom + 16, f"{2 * k}") for k in range(6)]
    assert marks(short, "end")[1] == (LEFT - 6, 143.3, "2")
    point = draw("title", "steps", [series(0.0)], is_share=True)
    assert [marks(point, "end")[k][2] for k in (0, -2)] == ["0%", "100%"]
    assert [text for _, _, text in marks(point, "middle")] == ["0", "0.2", "0.4", "0.6", "0.8", "1"]


def test_bands_go_along_the_upper_bounds_and_back_along_the_lower_ones():
    curve = Curve.of([(0, 0.5, (0.4, 0.6)), (10, 0.5, None), (20, 0.5, (0.0, 1.0))])
    chart = draw("title", "steps", [Series("one", curve, 0)], y_range=(0, 1))
    (corners,) = paths(chart, "band")
    ys = [HEIGHT - BOTTOM - share * (HEIGHT - BOTTOM - TOP) for share in (0.6, 1.0, 0.0, 0.4)]
    assert [y for _, y in corners] == pytest.approx(ys, abs=0.06)
    assert [x for x, _ in corners] == [LEFT, WIDTH - RIGHT, WIDTH - RIGHT, LEFT]
    assert "(0.4 to 0.6)" in tips(chart)[0][2]
    assert not paths(draw("title", "steps", [series(1, 2)]), "band")


def test_a_single_point_shows_its_bounds():
    chart = draw("title", "steps", [Series("a", Curve.of([(5, 1, (0, 4))]), 0)])
    (corners,), ((x, y),) = paths(chart, "band"), dots(chart)
    grid = [LEFT + k / 5 * (WIDTH - RIGHT - LEFT) for k in range(6)]
    assert [place for place, *_ in marks(chart, "middle")] == pytest.approx(grid, abs=0.051)
    (left, top), (right, _), _, (_, bottom) = corners
    assert left < x < right
    assert top < y < bottom


def test_the_pointer_meets_the_figures_of_all_curves_everywhere():
    long = Series("a", Curve.of((k, k / 4, None) for k in range(5)), 0)
    chart = draw("title", "steps", [long, Series("b", Curve.of([(1, 7, (6, 8))]), 1)], y_range=(0, 8))
    strips = tips(chart)
    begins, ends, texts = zip(*strips, strict=True)
    assert (begins[0], ends[-1]) == (LEFT, WIDTH - RIGHT)
    assert ends[:-1] == pytest.approx(begins[1:], abs=0.11)
    assert list(texts) == [f"a: {k / 4:g} at {k} steps\nb: 7 (6 to 8) at 1 steps" for k in range(5)]
    line, _ = paths(chart, "line")
    assert all(begin <= x <= end for (x, _), (begin, end, _) in zip(line, strips, strict=True))


def test_everything_lies_within_the_plot():
    random = np.random.default_rng(1)
    noisy = [(x, y, (y - 1, y + 1)) for x, y in enumerate(random.normal(0, 1e5, 1500).tolist())]
    for points in (noisy, noisy[:30], noisy[:1], [(0, 0.0, None)]):
        chart = draw("title", "steps", [Series("one", Curve.of(points), 0), series(3.0)])
        for corners in paths(chart, "line") + paths(chart, "band"):
            for x, y in corners:
                assert LEFT - charts.HALF_BAR <= x <= WIDTH - RIGHT + charts.HALF_BAR
                assert TOP <= y <= HEIGHT - BOTTOM


def test_titles_and_labels_stay_text():
    evil = "</title><script>&"
    chart = draw(evil, evil, 2 * [Series(evil, Curve.of([(0, 1, None)]), 0)])
    assert "<script" not in chart
    assert chart.count("&lt;/title&gt;&lt;script&gt;&amp;") == 9


def test_long_curves_are_thinned_to_means_and_extremes():
    curve = Curve.of((k, k % 7 + 7, None) for k in range(7 * charts.MOST_POINTS))
    thin = charts.thinned(curve)
    assert thin.places.tolist() == [7.0 * k + 3 for k in range(charts.MOST_POINTS)]
    assert set(zip(*thin[1:], strict=True)) == {(10.0, 7.0, 13.0)}
    short = Curve(*(values[: charts.MOST_POINTS] for values in curve))
    assert charts.thinned(short) is short
    assert len(paths(draw("title", "steps", [Series("one", curve, 0)]), "line")[0]) == charts.MOST_POINTS
    few = [draw("title", "steps", [series(*range(points))]) for points in (60, 61, 80, 81)]
    assert [(len(dots(chart)), len(tips(chart))) for chart in few] == [(60, 60), (0, 61), (0, 80), (0, 41)]
    bounded = curve._replace(low=curve.values - 2, high=curve.values + 1)
    assert charts.thinned(bounded).interval(0) == (5.0, 14.0)
